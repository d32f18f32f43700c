//! One file over one connection: from `ready` to its end or to the loss of the connection.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_net::websocket::{Event, Reader, Stream, Writer};
use weir_view::{UploadReply, UploadRequest};

use super::intake::{Intake, IntakeError};
use super::marks::Marks;
use crate::refusal::Refusal;

/// Bytes that a page may have sent and not yet acknowledged. They wait in the page and in
/// the sockets, not here: room for two messages of 32 MiB, beyond which larger ones gain
/// nothing.
pub(crate) const WINDOW_BYTES: u64 = 64 << 20;

/// Acknowledgements of this time are merged into one.
const ACK_INTERVAL: Duration = Duration::from_millis(10);

/// When the sender pauses for so long, what there is is parsed, however little.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);

/// How a transfer ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// `end` came after the last byte.
    AllReceived,
    /// `cancel` came.
    Cancelled,
    /// The connection is lost; the file can be taken up again.
    Lost,
    /// The file cannot go on, but the connection can.
    Failed(Refusal),
    /// The page breaks the protocol: neither can go on.
    Breach(Refusal),
    /// The pipeline takes no more, or the data is damaged.
    Intake(IntakeError),
}

/// What the side that reads and the side that acknowledges know of each other.
#[derive(Debug)]
struct Flow {
    /// The last offset that the page was told.
    acked: AtomicU64,
    acked_at: Mutex<Instant>,
}

impl Flow {
    fn new(offset: u64) -> Self {
        Self { acked: AtomicU64::new(offset), acked_at: Mutex::new(Instant::now()) }
    }

    fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    fn acked_at(&self) -> Instant {
        *self.acked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Noted before it is sent: the page may answer faster than sending returns.
    fn note(&self, offset: u64) {
        self.acked.store(offset, Ordering::Release);
        *self.acked_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Receives a file that was begun.
#[derive(Debug)]
pub(crate) struct Transfer<'a> {
    pub(crate) file: &'a str,
    pub(crate) bytes_total: u64,
    pub(crate) stall: Duration,
    pub(crate) intake: &'a mut Intake,
    pub(crate) reader: &'a mut Reader<Stream>,
    pub(crate) writer: &'a Writer<Stream>,
}

/// What to do after an event.
enum Next {
    Read,
    End(Outcome),
}

impl Transfer<'_> {
    /// Receives and acknowledges until the file ends one way or another.
    pub(crate) async fn run(mut self) -> Outcome {
        let flow = Arc::new(Flow::new(self.intake.received()));
        let acks = Acks::start(self.file, self.intake.marks(), self.writer, &flow, self.stall);
        let outcome = self.receive(&flow).await;
        acks.stop().await;
        outcome
    }

    async fn receive(&mut self, flow: &Flow) -> Outcome {
        let mut waiting_since = Instant::now();
        loop {
            let may_pause = self.intake.is_dirty() && !self.reader.has_buffered();
            let deadline = match may_pause {
                true => Instant::now() + PAUSE,
                false => waiting_since.max(flow.acked_at()) + self.stall,
            };
            let next = match tokio::time::timeout_at(deadline, self.reader.next()).await {
                Ok(Ok(Some(event))) => {
                    if brings_bytes(event) {
                        waiting_since = Instant::now();
                    }
                    take(self.intake, self.file, self.bytes_total, flow, event).await
                }
                Ok(Ok(None) | Err(_)) => Next::End(Outcome::Lost),
                Err(_) if may_pause => hand_on(self.intake).await,
                Err(_) if is_owed(self.intake, flow) => {
                    waiting_since = Instant::now();
                    Next::Read
                }
                // What was acknowledged meanwhile gave the page more time.
                Err(_) if flow.acked_at() + self.stall > Instant::now() => Next::Read,
                Err(_) => Next::End(Outcome::Failed(Refusal::Stalled(self.stall.as_secs()))),
            };
            if let Next::End(outcome) = next {
                return outcome;
            }
            let pauses = self.intake.is_dirty() && !self.reader.has_buffered();
            if pauses
                && self.intake.parsers_are_idle()
                && let Next::End(outcome) = hand_on(self.intake).await
            {
                return outcome;
            }
        }
    }
}

/// Only bytes keep an upload alive: empty messages and pongs would do so for ever.
fn brings_bytes(event: Event<'_>) -> bool {
    matches!(event, Event::Binary { bytes: [_, ..], .. })
}

/// True where the page waits for us and not we for it: something that it could be told is
/// not parsed yet, or it was not told yet.
fn is_owed(intake: &Intake, flow: &Flow) -> bool {
    intake.is_parsing() || intake.marks().offset() > flow.acked()
}

async fn hand_on(intake: &mut Intake) -> Next {
    match intake.hand_on().await {
        Ok(()) => Next::Read,
        Err(error) => Next::End(Outcome::Intake(error)),
    }
}

async fn take(
    intake: &mut Intake,
    file: &str,
    bytes_total: u64,
    flow: &Flow,
    event: Event<'_>,
) -> Next {
    match event {
        Event::Binary { bytes, .. } => {
            let received = intake.received() + bytes.len() as u64;
            if received - flow.acked() > WINDOW_BYTES {
                return Next::End(Outcome::Breach(Refusal::WindowExceeded));
            }
            if received > bytes_total {
                let refusal = Refusal::WrongLength { received, expected: bytes_total };
                return Next::End(Outcome::Failed(refusal));
            }
            match intake.write(bytes).await {
                Ok(()) => Next::Read,
                Err(error) => Next::End(Outcome::Intake(error)),
            }
        }
        Event::Text(text) => Next::End(request(text, file)),
        Event::Pong(_) => Next::Read,
    }
}

/// What a message in the middle of a file asks for.
fn request(text: &str, file: &str) -> Outcome {
    let breach = |why: String| Outcome::Breach(Refusal::BadRequest(why));
    match serde_json::from_str::<UploadRequest>(text) {
        Ok(UploadRequest::End { file: ended }) if ended == file => Outcome::AllReceived,
        Ok(UploadRequest::Cancel { file: cancelled }) if cancelled == file => Outcome::Cancelled,
        Ok(_) => breach(format!("the file `{file}` has to end before there is another")),
        Err(error) => breach(format!("the message cannot be read: {error}")),
    }
}

/// The task that tells the page what is parsed. It is one of its own, because the reading
/// side may be busy for as long as the page sends.
struct Acks(JoinHandle<()>);

impl Acks {
    fn start(
        file: &str,
        marks: &Arc<Marks>,
        writer: &Writer<Stream>,
        flow: &Arc<Flow>,
        patience: Duration,
    ) -> Self {
        let (file, marks) = (file.to_owned(), marks.clone());
        let (writer, flow) = (writer.clone(), flow.clone());
        Self(tokio::spawn(async move {
            loop {
                let offset = marks.wait_past(flow.acked()).await;
                flow.note(offset);
                let reply = UploadReply::Ack { file: file.clone(), offset };
                let text = serde_json::to_string(&reply).unwrap_or_default();
                // The reading side hears of a broken connection too, and ends it.
                match tokio::time::timeout(patience, writer.send_text(&text)).await {
                    Ok(Ok(())) => tokio::time::sleep(ACK_INTERVAL).await,
                    _ => return,
                }
            }
        }))
    }

    /// Waits until the task is gone, so that no acknowledgement follows the file's end.
    async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Acks {
    fn drop(&mut self) {
        self.0.abort();
    }
}
