//! One file over one connection, and those that join it: from `ready` to its end or to the
//! loss of a connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use weir_net::websocket::{Event, Reader, Received, Stream, Writer};
use weir_view::UploadRequest;

use super::acks::{Acks, Flow};
use super::intake::{Intake, IntakeError};
use super::junction::{Arrival, Arrivals, Piece};
use super::order::{Order, Overlap};
use crate::refusal::Refusal;

/// Bytes that a page may have sent and not yet acknowledged. They wait in the page and in
/// the sockets, and of several connections some here: room for two messages of 32 MiB, beyond
/// which larger ones gain nothing.
pub(crate) const WINDOW_BYTES: u64 = 64 << 20;

/// When the sender pauses for so long, what there is is parsed, however little.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);

/// How a transfer ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// `end` came, and all bytes that will.
    AllReceived,
    /// `cancel` came.
    Cancelled,
    /// The connection is lost; the file can be taken up again.
    Lost,
    /// A connection that had joined is lost; the file can be begun again on this one.
    PartLost,
    /// `begin` came for the same file, with this name and size: the page starts over.
    BegunAgain(String, Option<u64>),
    /// The file cannot go on, but the connection can.
    Failed(Refusal),
    /// The page breaks the protocol: neither can go on.
    Breach(Refusal),
    /// The pipeline takes no more, or the data is damaged.
    Intake(IntakeError),
}

impl From<IntakeError> for Outcome {
    fn from(error: IntakeError) -> Self {
        Self::Intake(error)
    }
}

impl From<Overlap> for Outcome {
    fn from(_: Overlap) -> Self {
        Self::Breach(Refusal::BadRequest("two blocks of the file overlap".to_owned()))
    }
}

/// Receives a file that was begun.
#[derive(Debug)]
pub(crate) struct Transfer<'a> {
    pub(crate) file: &'a str,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) stall: Duration,
    pub(crate) intake: &'a mut Intake,
    pub(crate) reader: &'a mut Reader<Stream>,
    pub(crate) writer: &'a Writer<Stream>,
    pub(crate) arrivals: Arrivals<'a>,
}

impl Transfer<'_> {
    /// Receives and acknowledges until the file ends one way or another.
    pub(crate) async fn run(self) -> Outcome {
        let Self { file, bytes_total, stall, intake, reader, writer, arrivals } = self;
        let flow = Arc::new(Flow::new(intake.received()));
        let acks = Acks::start(file, intake.marks(), writer, &flow, stall);
        let own_offset = intake.received();
        let order = Order::default();
        let limits = Limits { file, bytes_total, stall };
        let receiving = Receiving {
            limits,
            intake,
            reader,
            writer,
            arrivals,
            flow,
            order,
            own_offset,
            is_ended: false,
        };
        let outcome = receiving.run().await;
        acks.stop().await;
        outcome
    }
}

/// What the file may be.
#[derive(Debug, Clone, Copy)]
struct Limits<'a> {
    file: &'a str,
    bytes_total: Option<u64>,
    stall: Duration,
}

#[derive(Debug)]
struct Receiving<'a> {
    limits: Limits<'a>,
    intake: &'a mut Intake,
    reader: &'a mut Reader<Stream>,
    writer: &'a Writer<Stream>,
    arrivals: Arrivals<'a>,
    flow: Arc<Flow>,
    /// What came before its turn.
    order: Order,
    /// Where the next bytes of this connection lie in the file; never before what was taken.
    own_offset: u64,
    /// `end` came; bytes may still be on their way on other connections.
    is_ended: bool,
}

/// What comes next.
#[derive(Debug)]
enum Came {
    /// So many bytes, in the space of the intake.
    InPlace(usize),
    /// Bytes whose turn may be later, or that have to be looked at.
    Bytes(Vec<u8>),
    /// A message.
    Said(String),
    /// Something on a joined connection.
    Arrived(Arrival),
    /// Nothing that counts.
    Nothing,
    /// The connection has ended.
    Gone,
    /// Nothing, for as long as was to be waited.
    Late,
}

impl Receiving<'_> {
    async fn run(mut self) -> Outcome {
        match self.receive().await {
            Err(outcome) => outcome,
            Ok(()) => Outcome::AllReceived,
        }
    }

    /// Takes what comes, until all has.
    async fn receive(&mut self) -> Result<(), Outcome> {
        let mut waiting_since = Instant::now();
        // Whether the page, which has been silent, was asked if it is still there.
        let mut is_asked = false;
        while !self.is_complete() {
            let may_pause = self.pauses();
            let deadline = match may_pause {
                true => Instant::now() + PAUSE,
                false => waiting_since.max(self.flow.acked_at()) + self.limits.stall,
            };
            let came = self.next(deadline).await;
            if brings_bytes(&came) {
                waiting_since = Instant::now();
            }
            if !matches!(came, Came::Late) {
                is_asked = false;
            }
            match came {
                Came::Late if may_pause => self.intake.hand_on().await?,
                Came::Late if self.is_owed() => waiting_since = Instant::now(),
                // What was acknowledged meanwhile gave the page more time.
                Came::Late if self.flow.acked_at() + self.limits.stall > Instant::now() => {}
                // A file that grows may rest for as long as somebody is there to say so.
                Came::Late if self.limits.bytes_total.is_none() && !is_asked => {
                    let asked = tokio::time::timeout(self.limits.stall, self.writer.send_ping(b""));
                    if !matches!(asked.await, Ok(Ok(()))) {
                        return Err(Outcome::Lost);
                    }
                    (is_asked, waiting_since) = (true, Instant::now());
                }
                Came::Late if is_asked => return Err(Outcome::Lost),
                Came::Late => {
                    return Err(Outcome::Failed(Refusal::Stalled(self.limits.stall.as_secs())));
                }
                came => self.take(came).await?,
            }
            if self.pauses() && self.intake.may_flush_early() {
                self.intake.hand_on().await?;
            }
        }
        Ok(())
    }

    /// Waits for what comes next; the future may be dropped without losing anything.
    async fn next(&mut self, deadline: Instant) -> Came {
        let is_due = self.own_offset == self.intake.received();
        let reads = is_due || !self.order.is_own_full();
        let space = if is_due { self.intake.space() } else { None };
        tokio::select! {
            came = read(self.reader, space), if reads => came,
            arrival = self.arrivals.next() => Came::Arrived(arrival),
            () = sleep_until(deadline) => Came::Late,
        }
    }

    async fn take(&mut self, came: Came) -> Result<(), Outcome> {
        match came {
            Came::InPlace(length) => {
                self.check_own(length)?;
                self.intake.advance(length).await?;
                self.take_waiting().await
            }
            Came::Bytes(bytes) => self.take_own(bytes).await,
            Came::Said(text) => self.follow(&text),
            Came::Arrived(Arrival::Piece(piece)) => self.take_piece(piece).await,
            Came::Arrived(Arrival::Lost) => Err(Outcome::PartLost),
            Came::Arrived(Arrival::Left) | Came::Nothing | Came::Late => Ok(()),
            Came::Gone => Err(Outcome::Lost),
        }
    }

    async fn take_own(&mut self, bytes: Vec<u8>) -> Result<(), Outcome> {
        let offset = self.own_offset;
        self.check_own(bytes.len())?;
        if offset == self.intake.received() {
            self.intake.write(&bytes).await?;
            return self.take_waiting().await;
        }
        Ok(self.order.keep_own(offset, bytes)?)
    }

    async fn take_piece(&mut self, piece: Piece) -> Result<(), Outcome> {
        self.check(piece.offset, piece.bytes.len())?;
        self.order.keep_joined(piece)?;
        self.take_waiting().await
    }

    /// Takes what was waiting for what has just come.
    async fn take_waiting(&mut self) -> Result<(), Outcome> {
        while let Some(part) = self.order.take(self.intake.received())? {
            self.intake.write(part.bytes()).await?;
        }
        Ok(())
    }

    /// Counts bytes of this connection, if they may come.
    fn check_own(&mut self, length: usize) -> Result<(), Outcome> {
        if self.is_ended {
            return Err(breach("bytes came after the `end` of the file".to_owned()));
        }
        self.check(self.own_offset, length)?;
        self.own_offset += length as u64;
        Ok(())
    }

    fn check(&self, offset: u64, length: usize) -> Result<(), Outcome> {
        let end = offset.saturating_add(length as u64);
        if let Some(expected) = self.limits.bytes_total.filter(|expected| end > *expected) {
            return Err(Outcome::Failed(Refusal::WrongLength { received: end, expected }));
        }
        if end.saturating_sub(self.flow.acked()) > WINDOW_BYTES {
            return Err(Outcome::Breach(Refusal::WindowExceeded));
        }
        Ok(())
    }

    /// Does what a message in the middle of a file asks for.
    fn follow(&mut self, text: &str) -> Result<(), Outcome> {
        let asked = serde_json::from_str::<UploadRequest>(text)
            .map_err(|error| breach(format!("the message cannot be read: {error}")))?;
        let this = self.limits.file;
        match asked {
            UploadRequest::End { file } if file == this => self.is_ended = true,
            UploadRequest::Cancel { file } if file == this => return Err(Outcome::Cancelled),
            UploadRequest::Begin { file, name, bytes_total, .. } if file == this => {
                return Err(Outcome::BegunAgain(name, bytes_total));
            }
            UploadRequest::Block { file, offset } if file == this => {
                if offset < self.own_offset {
                    return Err(breach("the blocks of a connection have to rise".to_owned()));
                }
                self.own_offset = offset;
            }
            _ => {
                let why = format!("the file `{this}` has to end before there is another");
                return Err(breach(why));
            }
        }
        Ok(())
    }

    /// True where `end` came and nothing else will: all bytes are here, or no other connection
    /// is left to bring those that are missing.
    fn is_complete(&self) -> bool {
        let is_all = || Some(self.intake.received()) == self.limits.bytes_total;
        self.is_ended && (is_all() || (self.arrivals.is_alone() && self.order.is_empty()))
    }

    /// True where there is something to hand on, and nothing more at the moment.
    fn pauses(&self) -> bool {
        self.intake.is_dirty() && !self.reader.has_buffered()
    }

    /// True where the page waits for us and not we for it: something that it could be told is
    /// not parsed yet, or it was not told yet.
    fn is_owed(&self) -> bool {
        self.intake.is_parsing() || self.intake.marks().offset() > self.flow.acked()
    }
}

/// Reads the next bytes into the space where there is one, or a message.
async fn read(reader: &mut Reader<Stream>, space: Option<&mut [u8]>) -> Came {
    let Some(space) = space else {
        return match reader.next().await {
            Ok(Some(Event::Binary { bytes: [], .. } | Event::Pong(_))) => Came::Nothing,
            Ok(Some(Event::Binary { bytes, .. })) => Came::Bytes(bytes.to_vec()),
            Ok(Some(Event::Text(text))) => Came::Said(text.to_owned()),
            Ok(None) | Err(_) => Came::Gone,
        };
    };
    match reader.next_into(space).await {
        Ok(Some(Received::Binary { length: 0, .. } | Received::Pong(_))) => Came::Nothing,
        Ok(Some(Received::Binary { length, .. })) => Came::InPlace(length),
        Ok(Some(Received::Text(text))) => Came::Said(text.to_owned()),
        Ok(None) | Err(_) => Came::Gone,
    }
}

/// Only bytes keep an upload alive: empty messages and pongs would do so for ever.
fn brings_bytes(came: &Came) -> bool {
    matches!(came, Came::InPlace(_) | Came::Bytes(_) | Came::Arrived(Arrival::Piece(_)))
}

fn breach(why: String) -> Outcome {
    Outcome::Breach(Refusal::BadRequest(why))
}
