//! The WebSocket over which a page uploads files, one after another.

use std::sync::Arc;
use std::time::Duration;

use weir_ingest::{FormatChoice, SourceEnd, SourceError, StopReason};
use weir_net::websocket::{CloseCode, Event, Reader, Stream, WebSocket, Writer};
use weir_view::{UploadReply, UploadRequest};

use super::intake::{IntakeError, Purpose};
use super::slot::{Held, Slot};
use super::transfer::{Outcome, Transfer, WINDOW_BYTES};
use crate::options::Options;
use crate::refusal::Refusal;
use crate::session::Session;

/// The longest id of a file, in bytes.
const FILE_ID_BYTES_MAX: usize = 128;

/// The longest name of a file, in bytes; the rest is cut off. No file system has longer ones
/// by much.
const NAME_BYTES_MAX: usize = 512;

/// As much of a file's name as is kept.
pub(crate) fn kept(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES_MAX)]
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    socket: WebSocket<Stream>,
    options: Options,
    purpose: Purpose,
) {
    let (mut reader, writer) = socket.split();
    let mut connection = Connection {
        session: &session,
        options: &options,
        purpose,
        reader: &mut reader,
        writer: &writer,
        is_discarding: false,
        asked: None,
    };
    let goodbye = tokio::select! {
        goodbye = connection.serve() => goodbye,
        () = session.ended() => Some((CloseCode::GOING_AWAY, Refusal::SessionEnded)),
    };
    let Some((code, refusal)) = goodbye else { return };
    // A page that does not read must not keep the task.
    let told = async {
        let failure = UploadReply::Error { error: refusal.failure(None) };
        // The close frame says the rest.
        let _ = writer.send_text(&serde_json::to_string(&failure).unwrap_or_default()).await;
        let _ = writer.close(code, refusal.name()).await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), told).await;
    reader.drain().await;
}

pub(super) struct Connection<'a> {
    pub(super) session: &'a Arc<Session>,
    options: &'a Options,
    purpose: Purpose,
    pub(super) reader: &'a mut Reader<Stream>,
    writer: &'a Writer<Stream>,
    /// Bytes that come belong to a file that has ended here.
    pub(super) is_discarding: bool,
    /// What was asked for in the middle of the file before.
    pub(super) asked: Option<Asked>,
}

/// Why the server closes the connection.
pub(super) type Goodbye = (CloseCode, Refusal);

/// What the page asks for between files.
pub(super) enum Asked {
    Begin {
        file: String,
        name: String,
        bytes_total: Option<u64>,
        continues: Option<String>,
    },
    Join {
        file: String,
    },
    /// The connection has ended.
    Nothing,
}

impl Connection<'_> {
    /// Serves files until the page is gone (`None`) or has to go.
    async fn serve(&mut self) -> Option<Goodbye> {
        loop {
            let goodbye = match self.next_file().await {
                Ok(Asked::Begin { file, name, bytes_total, continues }) => {
                    self.begin(&file, &name, bytes_total, continues.as_deref()).await
                }
                Ok(Asked::Join { file }) => self.join(&file).await,
                Ok(Asked::Nothing) => return None,
                Err(goodbye) => Some(goodbye),
            };
            if goodbye.is_some() {
                return goodbye;
            }
        }
    }

    /// Waits for the next `begin`, and passes over what is left of the file before.
    async fn next_file(&mut self) -> Result<Asked, Goodbye> {
        if let Some(asked) = self.asked.take() {
            return Ok(asked);
        }
        loop {
            let event = tokio::time::timeout(self.options.stall, self.reader.next()).await;
            let Ok(event) = event else {
                return Err((CloseCode::NORMAL, Refusal::Stalled(self.options.stall.as_secs())));
            };
            match event {
                Ok(Some(Event::Text(text))) => match serde_json::from_str(text) {
                    Ok(UploadRequest::Begin { file, name, bytes_total, continues }) => {
                        return Ok(Asked::Begin { file, name, bytes_total, continues });
                    }
                    Ok(UploadRequest::Join { file }) => return Ok(Asked::Join { file }),
                    // The file has ended already, and the page has heard of it or will.
                    Ok(UploadRequest::End { .. } | UploadRequest::Block { .. }) => {}
                    Ok(UploadRequest::Cancel { file }) => cancel(self.session, &file),
                    Err(error) => {
                        let why = format!("the message cannot be read: {error}");
                        return Err((CloseCode::POLICY, Refusal::BadRequest(why)));
                    }
                },
                Ok(Some(Event::Binary { .. })) if self.is_discarding => {}
                Ok(Some(Event::Binary { .. })) => return Err((CloseCode::POLICY, Refusal::NoFile)),
                Ok(Some(Event::Pong(_))) => {}
                Ok(None) | Err(_) => return Ok(Asked::Nothing),
            }
        }
    }

    /// Receives one file, from `begin` to its end.
    async fn begin(
        &mut self,
        file: &str,
        name: &str,
        bytes_total: Option<u64>,
        continues: Option<&str>,
    ) -> Option<Goodbye> {
        if file.is_empty() || file.len() > FILE_ID_BYTES_MAX {
            let why = format!("the id of a file has 1 to {FILE_ID_BYTES_MAX} bytes");
            return Some((CloseCode::POLICY, Refusal::BadRequest(why)));
        }
        let name = kept(name);
        let format = continues.and_then(|before| self.format_of(before));
        let format = format.unwrap_or_else(|| self.options.format.clone());
        let opened = self.session.open_file(file, bytes_total, self.purpose, &format, name);
        let slot = match opened {
            Ok(slot) => slot,
            Err(refusal) => return self.refuse(file, &refusal).await,
        };
        match slot.hold().await {
            None => self.refuse(file, &Refusal::FileBusy).await,
            Some(held) if held.is_none() => self.tell_end(&slot).await,
            Some(held) => self.receive(&slot, held).await,
        }
    }

    /// The format of a file of the session, where that is known.
    fn format_of(&self, file: &str) -> Option<FormatChoice> {
        let slots = self.session.slots();
        let slot = slots.iter().find(|slot| slot.file() == file)?;
        slot.progress().snapshot().format.map(FormatChoice::Forced)
    }

    /// The file has ended on a connection before: the page may not have heard of it.
    async fn tell_end(&mut self, slot: &Slot) -> Option<Goodbye> {
        match slot.progress().end() {
            Some(SourceEnd::Done) => self.done(slot).await,
            Some(SourceEnd::Failed(why)) => {
                self.refuse(slot.file(), &Refusal::FileOver(why.to_string())).await
            }
            _ => {
                let why = "it was cancelled".to_owned();
                self.refuse(slot.file(), &Refusal::FileOver(why.to_string())).await
            }
        }
    }

    async fn receive(&mut self, slot: &Arc<Slot>, mut held: Held) -> Option<Goodbye> {
        let intake = held.as_mut()?;
        slot.set_interrupted(false);
        self.session.touch();
        let offset = intake.received();
        let file = slot.file().to_owned();
        // Open before the page knows: others may join at once.
        let arrivals = slot.junction().open();
        self.say(&UploadReply::Ready { file, offset, window_bytes: WINDOW_BYTES }).await;
        let transfer = Transfer {
            file: slot.file(),
            bytes_total: slot.bytes_total(),
            stall: self.options.stall,
            intake,
            reader: self.reader,
            writer: self.writer,
            arrivals,
        };
        let outcome = transfer.run().await;
        self.conclude(slot, held, outcome).await
    }

    async fn conclude(
        &mut self,
        slot: &Arc<Slot>,
        held: Held,
        outcome: Outcome,
    ) -> Option<Goodbye> {
        match outcome {
            Outcome::Lost => self.interrupt(slot, held).await,
            Outcome::PartLost => {
                self.interrupt(slot, held).await;
                self.refuse(slot.file(), &Refusal::Interrupted).await
            }
            Outcome::BegunAgain(name, bytes_total) => {
                let file = slot.file().to_owned();
                // Its format is known already.
                self.asked = Some(Asked::Begin { file, name, bytes_total, continues: None });
                self.interrupt(slot, held).await
            }
            Outcome::AllReceived => self.finish(slot, held).await,
            Outcome::Cancelled => {
                slot.progress().cancel();
                self.over(slot, held, SourceEnd::Cancelled);
                None
            }
            Outcome::Failed(refusal) => {
                self.stop(slot, held, &refusal).await;
                self.refuse(slot.file(), &refusal).await
            }
            Outcome::Breach(refusal) => {
                self.stop(slot, held, &refusal).await;
                self.refuse(slot.file(), &refusal).await;
                Some((CloseCode::POLICY, refusal))
            }
            Outcome::Intake(error) => self.fail(slot, held, error).await,
        }
    }

    /// The connection is lost: the file waits to be taken up again.
    async fn interrupt(&mut self, slot: &Arc<Slot>, mut held: Held) -> Option<Goodbye> {
        if let Err(error) = held.as_mut()?.rewind().await {
            let end = self.end_of(&error);
            self.over(slot, held, end);
            return None;
        }
        slot.set_interrupted(true);
        self.session.touch();
        drop(held);
        tokio::spawn(abandon(self.session.clone(), slot.clone(), self.options.grace));
        None
    }

    /// The page has sent all it has.
    async fn finish(&mut self, slot: &Arc<Slot>, mut held: Held) -> Option<Goodbye> {
        let intake = held.as_mut()?;
        let received = intake.received();
        slot.set_length(received);
        if let Some(expected) = slot.bytes_total().filter(|expected| *expected != received) {
            let refusal = Refusal::WrongLength { received, expected };
            let end = SourceEnd::Failed(SourceError::Transfer(refusal.to_string()));
            // Where the pipeline takes no more, the end is set all the same.
            let _ = intake.finish(end.clone()).await;
            self.over(slot, held, end);
            return self.refuse(slot.file(), &refusal).await;
        }
        match intake.finish(SourceEnd::Done).await {
            Ok(()) => {
                self.over(slot, held, SourceEnd::Done);
                self.done(slot).await
            }
            Err(error) => self.fail(slot, held, error).await,
        }
    }

    /// Ends a file in the middle: its whole lines stand.
    async fn stop(&mut self, slot: &Slot, mut held: Held, refusal: &Refusal) {
        if let Some(intake) = held.as_mut() {
            // Where the pipeline takes no more, the end is set all the same.
            let _ = intake.rewind().await;
        }
        self.over(slot, held, SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
    }

    /// Ends a file that the intake cannot take on.
    async fn fail(&mut self, slot: &Slot, held: Held, error: IntakeError) -> Option<Goodbye> {
        let refusal = refusal_of(&error, self.options);
        match &error {
            IntakeError::Damaged { .. } => self.stop(slot, held, &refusal).await,
            IntakeError::Stopped(_) => {
                let end = self.end_of(&error);
                self.over(slot, held, end);
            }
        }
        match error {
            IntakeError::Stopped(StopReason::Cancelled) => {
                self.is_discarding = true;
                None
            }
            _ => self.refuse(slot.file(), &refusal).await,
        }
    }

    fn end_of(&self, error: &IntakeError) -> SourceEnd {
        match error {
            IntakeError::Stopped(StopReason::Cancelled) => SourceEnd::Cancelled,
            _ => SourceEnd::Failed(SourceError::Transfer(
                refusal_of(error, self.options).to_string(),
            )),
        }
    }

    /// The file has ended, unless it had before.
    fn over(&mut self, slot: &Slot, mut held: Held, end: SourceEnd) {
        slot.progress().set_end(end);
        *held = None;
        self.is_discarding = true;
        self.session.touch();
    }

    async fn done(&mut self, slot: &Slot) -> Option<Goodbye> {
        let file = slot.file().to_owned();
        self.say(&UploadReply::Done { file, offset: slot.length() }).await;
        None
    }

    pub(super) async fn refuse(&mut self, file: &str, refusal: &Refusal) -> Option<Goodbye> {
        self.is_discarding = true;
        self.say(&UploadReply::Error { error: refusal.failure(Some(file)) }).await;
        None
    }

    /// Where the page cannot be told, the next read says that it is gone.
    pub(super) async fn say(&mut self, reply: &UploadReply) {
        let text = serde_json::to_string(reply).unwrap_or_default();
        let _ = tokio::time::timeout(self.options.stall, self.writer.send_text(&text)).await;
    }
}

/// The refusal for what an intake cannot take on.
pub(crate) fn refusal_of(error: &IntakeError, options: &Options) -> Refusal {
    match error {
        IntakeError::Stopped(StopReason::Cancelled) => Refusal::SessionEnded,
        IntakeError::Stopped(StopReason::MemoryFull) => {
            Refusal::MemoryFull(options.memory_bytes_max)
        }
        IntakeError::Damaged { at, what } => Refusal::Damaged { at: *at, what: what.clone() },
    }
}

/// Gives up a file of which no connection is left, or whoever sends it.
pub(super) fn cancel(session: &Session, file: &str) {
    if let Some(slot) = session.slots().iter().find(|slot| slot.file() == file) {
        slot.cancel();
        session.touch();
    }
}

/// Ends a file whose connection is lost, unless it is taken up again in time.
async fn abandon(session: Arc<Session>, slot: Arc<Slot>, grace: Duration) {
    let lost = slot.interruptions();
    tokio::select! {
        () = tokio::time::sleep(grace) => {}
        () = session.ended() => return,
    }
    if slot.is_interrupted() && slot.interruptions() == lost {
        let refusal = Refusal::Abandoned(grace.as_secs());
        slot.end_unless_held(SourceEnd::Failed(SourceError::Transfer(refusal.to_string())));
        session.touch();
    }
}
