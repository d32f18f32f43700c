//! The WebSocket over which a page uploads files, one after another.

use std::sync::Arc;
use std::time::Duration;

use weir_ingest::{FormatChoice, SourceEnd, SourceError, StopReason};
use weir_net::websocket::{
    CloseCode, SocketEvent, SocketReader, SocketWriter, UpgradedStream, WebSocket,
};
use weir_observe::capture::Capturable;
use weir_observe::task::{self, TaskKind, TaskName};
use weir_view::{UploadReply, UploadRequest};

use super::file_end::{abandon, cancel, refusal_of};
use super::file_request::FileRequest;
use super::transfer::{Transfer, TransferOutcome, WINDOW_BYTES};
use crate::captures::UploadCaptures;
use crate::file::{
    AheadAccount, FeedingConnection, FileBegin, Purpose, ReceiveError, ReceiverGuard, UploadedFile,
};
use crate::format_trial::forced_format;
use crate::message;
use crate::options::ServerOptions;
use crate::refusal::Refusal;
use crate::session::Session;

/// The maximum length of a file's id in bytes.
const FILE_ID_BYTES_MAX: usize = 128;

/// The maximum length of a file's fingerprint in bytes.
const FINGERPRINT_BYTES_MAX: usize = 64;

/// The maximum length of a file's name in bytes; the rest is cut off. The names of most file
/// systems have at most 255 characters.
const NAME_BYTES_MAX: usize = 512;

/// Cuts a file's name to [`NAME_BYTES_MAX`].
pub(crate) fn shorten(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}

/// How long the server waits for a page to receive the reason why its connection ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits for a page to resume an interrupted file.
static INTERRUPTED: TaskKind = TaskKind::new("interrupted upload");

/// Serves one connection until it or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    socket: WebSocket<UpgradedStream>,
    options: ServerOptions,
    purpose: Purpose,
    captures: Arc<UploadCaptures>,
) {
    let (mut reader, writer) = socket.split();
    let mut connection = Connection {
        session: &session,
        options: &options,
        captures: &captures,
        purpose,
        reader: &mut reader,
        writer: &writer,
        is_discarding: false,
        next_request: None,
        feed: None,
    };
    let close_reason = tokio::select! {
        close_reason = connection.serve() => close_reason,
        () = session.ended() => Some((CloseCode::GOING_AWAY, session.end_refusal())),
    };
    let Some((code, refusal)) = close_reason else { return };
    let closing = async {
        let failure = UploadReply::Error { error: refusal.failure(None) };
        // If this fails, so does the close frame, and the page is gone.
        let _ = message::send(&writer, weir_view::to_json(&failure)).await;
        let _ = writer.close(code, refusal.name()).await;
    };
    // A page that does not read must not keep the task alive.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    reader.drain().await;
}

pub(super) struct Connection<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) options: &'a ServerOptions,
    /// The captures that wait for an upload.
    pub(super) captures: &'a Arc<UploadCaptures>,
    purpose: Purpose,
    pub(super) reader: &'a mut SocketReader<UpgradedStream>,
    pub(super) writer: &'a SocketWriter<UpgradedStream>,
    /// Whether binary messages belong to a file that has ended, and are ignored.
    pub(super) is_discarding: bool,
    /// A request that arrived during the previous file.
    pub(super) next_request: Option<FileRequest>,
    /// The replay whose files this connection sends.
    pub(super) feed: Option<FeedingConnection>,
}

/// Why the server closes the connection.
pub(super) type CloseReason = (CloseCode, Refusal);

impl Connection<'_> {
    /// Serves files until the page disconnects (`None`), or the server has to close.
    async fn serve(&mut self) -> Option<CloseReason> {
        loop {
            let close_reason = match self.next_file().await {
                Ok(FileRequest::Begin(begin)) => self.begin(begin).await,
                Ok(FileRequest::Replay { begin, replay }) => self.replay(&begin, &replay).await,
                Ok(FileRequest::Join(id)) => self.join(&id).await,
                Ok(FileRequest::Disconnect) => return None,
                Err(close_reason) => Some(close_reason),
            };
            if close_reason.is_some() {
                return close_reason;
            }
        }
    }

    /// Waits for the next `begin` or `join`, and ignores the rest of the previous file.
    async fn next_file(&mut self) -> Result<FileRequest, CloseReason> {
        if let Some(request) = self.next_request.take() {
            return Ok(request);
        }
        loop {
            let event = tokio::time::timeout(self.options.stall, self.reader.next()).await;
            let Ok(event) = event else {
                return Err((CloseCode::NORMAL, Refusal::Stalled(self.options.stall.as_secs())));
            };
            match event {
                Ok(Some(SocketEvent::Text(text))) => match weir_view::from_json(text) {
                    // A file of a replay has the id of its upload, which goes on.
                    Ok(UploadRequest::Cancel { .. }) if self.feed.is_some() => self.feed = None,
                    Ok(UploadRequest::Cancel { file }) => cancel(self.session, &file),
                    // The others belong to a file that has ended, about which the page is or will
                    // be notified.
                    Ok(message) => {
                        if let Some(request) = FileRequest::of(message) {
                            return Ok(request);
                        }
                    }
                    Err(error) => {
                        let why = format!("the message cannot be read: {error}");
                        return Err((CloseCode::POLICY, Refusal::BadRequest(why)));
                    }
                },
                Ok(Some(SocketEvent::Binary { .. })) if self.is_discarding => {}
                Ok(Some(SocketEvent::Binary { .. })) => {
                    return Err((CloseCode::POLICY, Refusal::NoFile));
                }
                Ok(Some(SocketEvent::Pong(_))) => {}
                Ok(None) | Err(_) => return Ok(FileRequest::Disconnect),
            }
        }
    }

    /// Receives one file, from `begin` to its end.
    async fn begin(&mut self, mut begin: FileBegin) -> Option<CloseReason> {
        if begin.id.is_empty() || begin.id.len() > FILE_ID_BYTES_MAX {
            let why = format!("the id of a file must have 1 to {FILE_ID_BYTES_MAX} bytes");
            return Some((CloseCode::POLICY, Refusal::BadRequest(why)));
        }
        if begin.fingerprint.as_ref().is_some_and(|text| text.len() > FINGERPRINT_BYTES_MAX) {
            let why = format!("a fingerprint must have at most {FINGERPRINT_BYTES_MAX} bytes");
            return Some((CloseCode::POLICY, Refusal::BadRequest(why)));
        }
        begin.name.truncate(shorten(&begin.name).len());
        task::set_name(begin.name.as_str());
        self.feed = None;
        let continued = begin.continues.as_ref().and_then(|before| self.format_of(before));
        let format = match begin.format.as_deref().map(forced_format) {
            Some(Ok(format)) => format,
            Some(Err(refusal)) => return self.refuse(&begin.id, &refusal).await,
            None => continued.unwrap_or_else(|| self.options.format.clone()),
        };
        let opened = match self.session.open_file(&begin, self.purpose, &format) {
            Ok(opened) => opened,
            Err(refusal) => return self.refuse(&begin.id, &refusal).await,
        };
        match opened.lock_receiver().await {
            None => self.refuse(&begin.id, &Refusal::FileBusy).await,
            Some(guard) if guard.is_none() => self.repeat_end(&opened).await,
            Some(guard) => self.receive(&opened, guard).await,
        }
    }

    /// Returns the format of another file of the session, if it is known, with the formats of its
    /// other lines.
    fn format_of(&self, id: &str) -> Option<FormatChoice> {
        if let FormatChoice::Forced(_) = self.options.format {
            return None;
        }
        let files = self.session.files();
        let file = files.iter().find(|file| file.id() == id)?;
        let before = file.progress().snapshot();
        let companions = before.by_format.into_iter().map(|(format, _)| format).collect();
        before.format.map(|format| FormatChoice::Known { format, companions })
    }

    /// Repeats the message about a file's end, which an earlier connection may have lost.
    async fn repeat_end(&mut self, file: &UploadedFile) -> Option<CloseReason> {
        match file.progress().end() {
            Some(SourceEnd::Done) => self.done(file).await,
            Some(SourceEnd::Failed(why)) => {
                self.refuse(file.id(), &Refusal::FileOver(why.to_string())).await
            }
            _ => {
                let why = "it was cancelled".to_owned();
                self.refuse(file.id(), &Refusal::FileOver(why)).await
            }
        }
    }

    async fn receive(
        &mut self,
        file: &Arc<UploadedFile>,
        mut guard: ReceiverGuard,
    ) -> Option<CloseReason> {
        let receiver = guard.as_mut()?;
        file.set_interrupted(false);
        self.session.touch();
        let name = file.progress().name();
        tracing::debug!(name, offset = receiver.bytes_received(), "an upload begins");
        let offset = receiver.bytes_received();
        let id = file.id().to_owned();
        // Opened before `ready` is sent, because other connections may join right after it.
        let joined = file.merger().open();
        self.reply(&UploadReply::Ready { file: id, offset, window_bytes: WINDOW_BYTES }).await;
        let transfer = Transfer {
            file: file.id(),
            bytes_total: file.bytes_total(),
            stall: self.options.stall,
            receiver,
            reader: self.reader,
            writer: self.writer,
            joined,
            ahead: AheadAccount::new(self.session.ahead(), file.progress().early_bytes()),
            capture: Arc::new(Capturable::new(self.captures, file.progress().name().to_owned())),
        };
        let outcome = transfer.run().await;
        self.conclude(file, guard, outcome).await
    }

    async fn conclude(
        &mut self,
        file: &Arc<UploadedFile>,
        guard: ReceiverGuard,
        outcome: TransferOutcome,
    ) -> Option<CloseReason> {
        match outcome {
            TransferOutcome::Lost => self.interrupt(file, guard).await,
            TransferOutcome::JoinedLost => {
                self.interrupt(file, guard).await;
                self.refuse(file.id(), &Refusal::Interrupted).await
            }
            TransferOutcome::BegunAgain(begin) => {
                self.next_request = Some(FileRequest::Begin(*begin));
                self.interrupt(file, guard).await
            }
            TransferOutcome::AllReceived => self.finish(file, guard).await,
            TransferOutcome::Cancelled => {
                file.progress().cancel();
                self.end(file, guard, SourceEnd::Cancelled);
                None
            }
            TransferOutcome::Failed(refusal) => {
                self.stop(file, guard, &refusal).await;
                self.refuse(file.id(), &refusal).await
            }
            TransferOutcome::Violation(refusal) => {
                self.stop(file, guard, &refusal).await;
                self.refuse(file.id(), &refusal).await;
                Some((CloseCode::POLICY, refusal))
            }
            TransferOutcome::Receive(error) => self.fail(file, guard, error).await,
        }
    }

    /// Keeps a file whose connection was lost for the grace time, so that it can be resumed.
    async fn interrupt(
        &mut self,
        file: &Arc<UploadedFile>,
        mut guard: ReceiverGuard,
    ) -> Option<CloseReason> {
        if let Err(error) = guard.as_mut()?.rewind().await {
            let end = self.end_of(&error);
            self.end(file, guard, end);
            return None;
        }
        file.set_interrupted(true);
        self.session.touch();
        drop(guard);
        let abandon = abandon(self.session.clone(), file.clone(), self.options.grace);
        tokio::spawn(INTERRUPTED.observe(TaskName::Unnamed, abandon));
        None
    }

    /// Ends a file after the page has sent everything.
    async fn finish(
        &mut self,
        file: &Arc<UploadedFile>,
        mut guard: ReceiverGuard,
    ) -> Option<CloseReason> {
        let receiver = guard.as_mut()?;
        let received = receiver.bytes_received();
        file.set_length(received);
        if let Some(expected) = file.bytes_total().filter(|expected| *expected != received) {
            let refusal = Refusal::WrongLength { received, expected };
            let end = SourceEnd::Failed(SourceError::Transfer(refusal.to_string()));
            // If the pipeline accepts no more data, the end is set below.
            let _ = receiver.finish(end.clone()).await;
            self.end(file, guard, end);
            return self.refuse(file.id(), &refusal).await;
        }
        match receiver.finish(SourceEnd::Done).await {
            Ok(()) => {
                self.end(file, guard, SourceEnd::Done);
                self.done(file).await
            }
            Err(error) => self.fail(file, guard, error).await,
        }
    }

    /// Ends a file before its last byte. Its whole lines are kept.
    async fn stop(&mut self, file: &UploadedFile, mut guard: ReceiverGuard, refusal: &Refusal) {
        if let Some(receiver) = guard.as_mut() {
            // If the pipeline accepts no more data, the end is set below.
            let _ = receiver.settle().await;
        }
        self.end(file, guard, SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
    }

    /// Ends a file that the receiver has refused.
    async fn fail(
        &mut self,
        file: &UploadedFile,
        guard: ReceiverGuard,
        error: ReceiveError,
    ) -> Option<CloseReason> {
        let refusal = refusal_of(&error, self.session);
        let end = self.end_of(&error);
        self.end(file, guard, end);
        match error {
            ReceiveError::Stopped(StopReason::Cancelled) if file.progress().is_removed() => {
                let removed = Refusal::FileOver("it was removed from the data set".to_owned());
                self.refuse(file.id(), &removed).await
            }
            // The session has ended, which is reported for the whole connection.
            ReceiveError::Stopped(StopReason::Cancelled) if self.session.pipeline().is_none() => {
                self.is_discarding = true;
                None
            }
            ReceiveError::Stopped(StopReason::Cancelled) => {
                let why = "it was cancelled".to_owned();
                self.refuse(file.id(), &Refusal::FileOver(why)).await
            }
            _ => self.refuse(file.id(), &refusal).await,
        }
    }

    fn end_of(&self, error: &ReceiveError) -> SourceEnd {
        match error {
            ReceiveError::Stopped(StopReason::Cancelled) => SourceEnd::Cancelled,
            _ => SourceEnd::Failed(SourceError::Transfer(
                refusal_of(error, self.session).to_string(),
            )),
        }
    }

    /// Sets the end of a file, unless it has one, and releases its receiver.
    fn end(&mut self, file: &UploadedFile, mut guard: ReceiverGuard, end: SourceEnd) {
        tracing::debug!(bytes = file.length(), ?end, "an upload has ended");
        file.progress().set_end(end);
        if let Some(mut receiver) = guard.take() {
            file.set_members(receiver.take_members());
        }
        self.is_discarding = true;
        self.session.touch();
    }

    async fn done(&mut self, file: &UploadedFile) -> Option<CloseReason> {
        let reply = UploadReply::Done { file: file.id().to_owned(), offset: file.length() };
        self.reply(&reply).await;
        None
    }

    pub(super) async fn refuse(&mut self, id: &str, refusal: &Refusal) -> Option<CloseReason> {
        self.is_discarding = true;
        self.reply(&UploadReply::Error { error: refusal.failure(Some(id)) }).await;
        None
    }

    /// Sends a reply. If that fails, the next read fails too.
    pub(super) async fn reply(&mut self, reply: &UploadReply) {
        let sending = message::send(self.writer, weir_view::to_json(reply));
        let _ = tokio::time::timeout(self.options.stall, sending).await;
    }
}
