//! Transfers one file, from `ready` to its end or the loss of a connection, over the connection
//! that owns it and those that joined.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use weir_net::websocket::{SocketReader, SocketWriter, UpgradedStream};
use weir_observe::capture::{Capturable, OpenCapture};
use weir_view::UploadRequest;

use super::acks::{AckTask, LastAck};
use super::input::{Input, contains_bytes, read};
use crate::file::{
    AheadAccount, Chunk, FileBegin, FileReceiver, MergeEvent, MergeOutput, Overlap, ReceiveError,
    ReorderBuffer,
};
use crate::refusal::Refusal;

/// The maximum number of unacknowledged bytes. They are buffered in the page and in the sockets;
/// with several connections, some also in the server. There is room for two messages of 32 MiB;
/// larger messages are not faster.
pub(crate) const WINDOW_BYTES: u64 = 64 << 20;

/// After a pause of this length, the lines received so far are parsed, however few.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);

/// How a transfer ended.
#[derive(Debug)]
pub(crate) enum TransferOutcome {
    /// The page sent `end`, and all bytes of the file were received.
    AllReceived,
    /// The page sent `cancel`.
    Cancelled,
    /// The connection was lost; another one can resume the file.
    Lost,
    /// A joined connection was lost. The file can be begun again on this connection.
    JoinedLost,
    /// The page sent `begin` for the same file again.
    BegunAgain(Box<FileBegin>),
    /// The file has failed, but the connection can send another one.
    Failed(Refusal),
    /// The page violated the protocol, so the connection has to be closed.
    Violation(Refusal),
    /// The pipeline accepts no more data, or the data is damaged.
    Receive(ReceiveError),
}

impl From<ReceiveError> for TransferOutcome {
    fn from(error: ReceiveError) -> Self {
        Self::Receive(error)
    }
}

impl From<Overlap> for TransferOutcome {
    fn from(_: Overlap) -> Self {
        Self::Violation(Refusal::BadRequest("two blocks of the file overlap".to_owned()))
    }
}

/// A file that was begun, with the connections it arrives on.
#[derive(Debug)]
pub(crate) struct Transfer<'a> {
    pub(crate) file: &'a str,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) stall: Duration,
    pub(crate) receiver: &'a mut FileReceiver,
    pub(crate) reader: &'a mut SocketReader<UpgradedStream>,
    pub(crate) writer: &'a SocketWriter<UpgradedStream>,
    pub(crate) joined: MergeOutput<'a>,
    pub(crate) ahead: AheadAccount,
    /// The record of the transfer for a capture, if one waits.
    pub(crate) capture: Arc<Capturable>,
}

impl<'a> Transfer<'a> {
    /// Receives and acknowledges until the transfer ends.
    pub(crate) async fn run(self) -> TransferOutcome {
        let received = self.receiver.bytes_received();
        let last_ack = Arc::new(LastAck::new(received));
        let acks = AckTask::start(
            self.file,
            self.receiver.ack_offsets(),
            self.writer,
            &last_ack,
            self.stall,
            &self.capture,
        );
        let mut state = TransferState {
            transfer: self,
            last_ack,
            reorder: ReorderBuffer::default(),
            held: None,
            own_offset: received,
            has_end: false,
            message: None,
        };
        let outcome = match state.receive().await {
            Err(outcome) => outcome,
            Ok(()) => TransferOutcome::AllReceived,
        };
        acks.stop().await;
        outcome
    }
}

#[derive(Debug)]
struct TransferState<'a> {
    transfer: Transfer<'a>,
    last_ack: Arc<LastAck>,
    /// Bytes that arrived before the bytes in front of them.
    reorder: ReorderBuffer,
    /// Early bytes of this connection that wait for room. Until there is room, nothing more is read
    /// from the connection.
    held: Option<(u64, Vec<u8>)>,
    /// The offset in the file of the next bytes on this connection. It is never less than the
    /// number of bytes received.
    own_offset: u64,
    /// Whether `end` has arrived. Bytes may still arrive on joined connections.
    has_end: bool,
    /// The start of the current message and its bytes so far, if a capture waits.
    message: Option<(std::time::Instant, usize)>,
}

impl TransferState<'_> {
    /// Receives until all bytes of the file have arrived.
    async fn receive(&mut self) -> Result<(), TransferOutcome> {
        let mut waiting_since = Instant::now();
        // Whether a ping was sent to a silent page and nothing has arrived since.
        let mut is_pinged = false;
        while !self.is_complete() {
            let may_flush = self.may_flush();
            let deadline = if may_flush {
                Instant::now() + PAUSE
            } else {
                waiting_since.max(self.last_ack.sent_at()) + self.transfer.stall
            };
            let begun = self.transfer.capture.begin();
            let input = self.next(deadline).await;
            let capture = begun.map(|(capture, begun)| self.note_input(capture, begun, &input));
            if contains_bytes(&input) {
                waiting_since = Instant::now();
            }
            if !matches!(input, Input::Timeout) {
                is_pinged = false;
            }
            match input {
                Input::Timeout if may_flush => self.transfer.receiver.flush().await?,
                Input::Timeout if self.owes_ack() => waiting_since = Instant::now(),
                // An acknowledgement during the wait gives the page more time.
                Input::Timeout
                    if self.last_ack.sent_at() + self.transfer.stall > Instant::now() => {}
                // A growing file may pause for as long as the page answers pings.
                Input::Timeout if self.transfer.bytes_total.is_none() && !is_pinged => {
                    let ping = self.transfer.writer.send_ping(b"");
                    let sent = tokio::time::timeout(self.transfer.stall, ping).await;
                    if !matches!(sent, Ok(Ok(()))) {
                        return Err(TransferOutcome::Lost);
                    }
                    (is_pinged, waiting_since) = (true, Instant::now());
                }
                Input::Timeout if is_pinged => return Err(TransferOutcome::Lost),
                Input::Timeout => {
                    let stall_s = self.transfer.stall.as_secs();
                    return Err(TransferOutcome::Failed(Refusal::Stalled(stall_s)));
                }
                input => match capture.flatten() {
                    None => self.process(input).await?,
                    Some(capture) => self.process_captured(input, &capture).await?,
                },
            }
            if self.may_flush() && self.transfer.receiver.may_flush_early() {
                self.transfer.receiver.flush().await?;
            }
        }
        self.check_gap()
    }

    /// Records an input in a capture. Returns the capture if the input contains bytes for the
    /// parsers.
    #[cold]
    fn note_input(
        &mut self,
        capture: OpenCapture,
        begun: std::time::Instant,
        input: &Input,
    ) -> Option<OpenCapture> {
        let now = std::time::Instant::now();
        let (bytes, ends_message, name) = match input {
            Input::InPlace { length, ends_message } => (*length, *ends_message, "read"),
            Input::Bytes { bytes, ends_message } => (bytes.len(), *ends_message, "read"),
            Input::Empty { ends_message } => (0, *ends_message, "read"),
            Input::Joined(MergeEvent::Chunk(chunk)) => {
                (chunk.bytes.len(), false, "read from a joined connection")
            }
            Input::Room(_) => {
                capture.step("wait for room", begun..now, "");
                return Some(capture);
            }
            Input::Message(_) | Input::Joined(_) | Input::Disconnected | Input::Timeout => {
                capture.step("wait", begun..now, input.name());
                return None;
            }
        };
        if bytes > 0 {
            capture.step(name, begun..now, bytes);
        }
        if name == "read" {
            let (first, before) = self.message.take().unwrap_or((begun, 0));
            match ends_message {
                true => capture.step("message", first..now, before + bytes),
                false => self.message = Some((first, before + bytes)),
            }
        }
        Some(capture)
    }

    /// Processes bytes as [`Self::process`] does, and records how long that takes.
    async fn process_captured(
        &mut self,
        input: Input,
        capture: &OpenCapture,
    ) -> Result<(), TransferOutcome> {
        let begun = std::time::Instant::now();
        let processed = self.process(input).await;
        let times = begun..std::time::Instant::now();
        capture.step("submit", times, "to the parsers, with the wait for room");
        processed
    }

    /// Waits for input until the deadline. Dropping the future loses nothing.
    async fn next(&mut self, deadline: Instant) -> Input {
        let is_in_order = self.own_offset == self.transfer.receiver.bytes_received();
        let may_read = self.held.is_none();
        let space = if is_in_order { self.transfer.receiver.space() } else { None };
        let held = self.held.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        tokio::select! {
            input = read(self.transfer.reader, space), if may_read => input,
            permit = self.transfer.ahead.reserve(held), if !may_read => Input::Room(permit),
            event = self.transfer.joined.next() => Input::Joined(event),
            () = sleep_until(deadline) => Input::Timeout,
        }
    }

    async fn process(&mut self, input: Input) -> Result<(), TransferOutcome> {
        match input {
            Input::InPlace { length, .. } => {
                self.advance_own(length)?;
                self.transfer.receiver.advance(length).await?;
                self.write_reordered().await
            }
            Input::Bytes { bytes, .. } => self.write_own(bytes).await,
            Input::Room(permit) => {
                let Some((offset, bytes)) = self.held.take() else { return Ok(()) };
                self.reorder.insert(Chunk::of_owner(offset, bytes, permit))?;
                self.write_reordered().await
            }
            Input::Message(text) => self.process_message(&text),
            Input::Joined(MergeEvent::Chunk(chunk)) => self.write_chunk(chunk).await,
            Input::Joined(MergeEvent::Lost) => Err(TransferOutcome::JoinedLost),
            Input::Joined(MergeEvent::Left) | Input::Empty { .. } | Input::Timeout => Ok(()),
            Input::Disconnected => Err(TransferOutcome::Lost),
        }
    }

    async fn write_own(&mut self, bytes: Vec<u8>) -> Result<(), TransferOutcome> {
        let offset = self.own_offset;
        self.advance_own(bytes.len())?;
        if offset == self.transfer.receiver.bytes_received() {
            self.transfer.receiver.write(&bytes).await?;
            return self.write_reordered().await;
        }
        self.held = Some((offset, bytes));
        Ok(())
    }

    async fn write_chunk(&mut self, chunk: Chunk) -> Result<(), TransferOutcome> {
        self.check(chunk.offset, chunk.bytes.len())?;
        self.reorder.insert(chunk)?;
        self.write_reordered().await
    }

    /// Writes the kept parts that are now in order, including one that still waits for room.
    async fn write_reordered(&mut self) -> Result<(), TransferOutcome> {
        loop {
            self.write_kept().await?;
            let received = self.transfer.receiver.bytes_received();
            match self.held.take_if(|(offset, _)| *offset <= received) {
                Some((offset, bytes)) if offset == received => {
                    self.transfer.receiver.write(&bytes).await?;
                }
                Some(_) => return Err(Overlap.into()),
                None => return Ok(()),
            }
        }
    }

    async fn write_kept(&mut self) -> Result<(), TransferOutcome> {
        while let Some(part) = self.reorder.take(self.transfer.receiver.bytes_received())? {
            self.transfer.receiver.write(part.bytes()).await?;
        }
        Ok(())
    }

    /// Checks bytes of this connection, and moves its offset past them.
    fn advance_own(&mut self, length: usize) -> Result<(), TransferOutcome> {
        if self.has_end {
            return Err(violation("bytes arrived after the `end` of the file".to_owned()));
        }
        self.check(self.own_offset, length)?;
        self.own_offset += length as u64;
        Ok(())
    }

    /// Checks bytes against the size of the file and the window.
    fn check(&self, offset: u64, length: usize) -> Result<(), TransferOutcome> {
        let end = offset.saturating_add(length as u64);
        if let Some(expected) = self.transfer.bytes_total.filter(|expected| end > *expected) {
            return Err(TransferOutcome::Failed(Refusal::WrongLength { received: end, expected }));
        }
        if end.saturating_sub(self.last_ack.offset()) > WINDOW_BYTES {
            return Err(TransferOutcome::Violation(Refusal::WindowExceeded));
        }
        Ok(())
    }

    /// Processes a message that arrives during the file.
    fn process_message(&mut self, text: &str) -> Result<(), TransferOutcome> {
        let request = weir_view::from_json::<UploadRequest>(text)
            .map_err(|error| violation(format!("the message cannot be read: {error}")))?;
        let this = self.transfer.file;
        match request {
            UploadRequest::End { file } if file == this => self.has_end = true,
            UploadRequest::Cancel { file } if file == this => {
                return Err(TransferOutcome::Cancelled);
            }
            UploadRequest::Begin { file: id, name, bytes_total, .. } if id == this => {
                // The file keeps its format and its fingerprint.
                let (continues, fingerprint, format) = (None, None, None);
                let begin = FileBegin { id, name, bytes_total, continues, fingerprint, format };
                return Err(TransferOutcome::BegunAgain(Box::new(begin)));
            }
            UploadRequest::Block { file, offset } if file == this => {
                if offset < self.own_offset {
                    let why = "the offsets of a connection must not decrease";
                    return Err(violation(why.to_owned()));
                }
                self.own_offset = offset;
            }
            _ => {
                let why =
                    format!("end the file `{this}` before you send another on its connection");
                return Err(violation(why));
            }
        }
        Ok(())
    }

    /// Returns whether the page sent `end` and the file is complete. A file also counts as complete
    /// if no joined connection is left that could send the missing bytes.
    fn is_complete(&self) -> bool {
        let received = self.transfer.receiver.bytes_received();
        let has_all = || Some(received) == self.transfer.bytes_total;
        self.has_end && (has_all() || self.transfer.joined.is_idle())
    }

    /// Checks that a complete file has no gap.
    fn check_gap(&self) -> Result<(), TransferOutcome> {
        if self.reorder.is_empty() && self.held.is_none() {
            return Ok(());
        }
        let received = self.transfer.receiver.bytes_received();
        Err(TransferOutcome::Failed(match self.transfer.bytes_total {
            Some(expected) => Refusal::WrongLength { received, expected },
            None => Refusal::BadRequest(format!(
                "the file has ended, but the bytes after byte {received} are missing"
            )),
        }))
    }

    /// Returns whether there may be lines to flush, and no more bytes are buffered.
    fn may_flush(&self) -> bool {
        self.transfer.receiver.is_dirty() && !self.transfer.reader.has_buffered()
    }

    /// Returns whether the page waits for the server: some bytes are not parsed, or not
    /// acknowledged.
    fn owes_ack(&self) -> bool {
        let receiver = &self.transfer.receiver;
        receiver.is_parsing() || receiver.ack_offsets().offset() > self.last_ack.offset()
    }
}

fn violation(why: String) -> TransferOutcome {
    TransferOutcome::Violation(Refusal::BadRequest(why))
}
