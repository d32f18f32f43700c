//! Receives a file that the page sends again, for the replay of a rule.

use std::sync::Arc;

use weir_ingest::SourceEnd;
use weir_net::websocket::{CloseCode, SocketEvent};
use weir_observe::capture::Capturable;
use weir_view::{UploadReply, UploadRequest};

use super::connection::{CloseReason, Connection};
use super::file_request::FileRequest;
use super::transfer::{Transfer, TransferOutcome, WINDOW_BYTES};
use crate::file::{
    AheadAccount, BlockMerger, FeedError, FeedTurn, FileBegin, FileToReplay, ReceiveError,
};
use crate::refusal::Refusal;

/// What ended the wait for a turn.
enum Waited {
    Turn(Box<FeedTurn>),
    /// The replay has ended.
    Ended,
    Disconnected,
    /// The page cancelled the file.
    Cancelled,
    Violation(Refusal),
}

impl Connection<'_> {
    /// Receives one file for a replay, from `begin` to its end. If the connection ends or the file
    /// does not arrive, so does the replay.
    pub(super) async fn replay(&mut self, begin: &FileBegin, replay: &str) -> Option<CloseReason> {
        if self.feed.as_ref().is_none_or(|feed| feed.id() != replay) {
            self.feed = self.session.replays().begin(replay);
        }
        match self.wait_for_turn(&begin.id).await {
            Waited::Turn(turn) if turn.file.id != begin.id => {
                self.feed = None;
                self.refuse(&begin.id, &Refusal::UnknownReplay).await
            }
            Waited::Turn(turn) if !turn.file.is_same(begin) => {
                // The replay may have ended meanwhile.
                let _ = turn.done.send(Err(FeedError::Changed));
                self.refuse(&begin.id, &Refusal::FileChanged).await
            }
            Waited::Turn(turn) => self.feed(*turn).await,
            Waited::Ended => {
                self.feed = None;
                self.refuse(&begin.id, &Refusal::UnknownReplay).await
            }
            Waited::Disconnected => {
                self.next_request = Some(FileRequest::Disconnect);
                None
            }
            Waited::Cancelled => {
                self.feed = None;
                self.is_discarding = true;
                None
            }
            Waited::Violation(refusal) => Some((CloseCode::POLICY, refusal)),
        }
    }

    /// Waits while the replay reads other files.
    async fn wait_for_turn(&mut self, id: &str) -> Waited {
        let Some(feed) = &mut self.feed else { return Waited::Ended };
        loop {
            let event = tokio::select! {
                turn = feed.next() => {
                    return turn.map_or(Waited::Ended, |turn| Waited::Turn(Box::new(turn)));
                }
                event = self.reader.next() => event,
            };
            match event {
                Ok(Some(SocketEvent::Pong(_))) => {}
                Ok(Some(SocketEvent::Text(text))) => {
                    return match weir_view::from_json(text) {
                        Ok(UploadRequest::Cancel { file }) if file == id => Waited::Cancelled,
                        _ => {
                            let why = "wait for `ready` before you send more".to_owned();
                            Waited::Violation(Refusal::BadRequest(why))
                        }
                    };
                }
                Ok(Some(SocketEvent::Binary { .. })) => return Waited::Violation(Refusal::NoFile),
                Ok(None) | Err(_) => return Waited::Disconnected,
            }
        }
    }

    /// Receives the file of a turn.
    async fn feed(&mut self, turn: FeedTurn) -> Option<CloseReason> {
        let FeedTurn { file, mut receiver, mut done } = turn;
        let (id, bytes) = (file.id.clone(), file.bytes);
        let ready = UploadReply::Ready { file: id.clone(), offset: 0, window_bytes: WINDOW_BYTES };
        self.reply(&ready).await;
        let merger = BlockMerger::default();
        let ahead = AheadAccount::new(self.session.ahead(), receiver.progress().early_bytes());
        let transfer = Transfer {
            file: &id,
            bytes_total: Some(bytes),
            stall: self.options.stall,
            receiver: &mut receiver,
            reader: self.reader,
            writer: self.writer,
            joined: merger.open(),
            ahead,
            capture: Arc::new(Capturable::new(self.captures, file.name.clone())),
        };
        let outcome = tokio::select! {
            outcome = transfer.run() => outcome,
            () = done.closed() => TransferOutcome::Failed(Refusal::UnknownReplay),
        };
        let result = match outcome {
            TransferOutcome::AllReceived if receiver.bytes_received() != bytes => {
                Err(FeedError::Changed)
            }
            TransferOutcome::AllReceived => receiver.finish(SourceEnd::Done).await.or_else(end_of),
            TransferOutcome::Receive(error) => end_of(error),
            TransferOutcome::Lost | TransferOutcome::JoinedLost => Err(FeedError::Lost),
            TransferOutcome::Cancelled => Err(FeedError::Cancelled),
            TransferOutcome::Failed(Refusal::WrongLength { .. }) => Err(FeedError::Changed),
            TransferOutcome::Failed(refusal) => Err(FeedError::Refused(refusal)),
            TransferOutcome::Violation(refusal) => Err(FeedError::Violation(refusal)),
            TransferOutcome::BegunAgain(_) => {
                let why = "a file of a replay cannot be begun again".to_owned();
                Err(FeedError::Violation(Refusal::BadRequest(why)))
            }
        };
        self.is_discarding = true;
        let close_reason = self.reply_end(&file, &result).await;
        // The replay may have ended meanwhile.
        let _ = done.send(result);
        close_reason
    }

    /// Tells the page how a file ended.
    async fn reply_end(
        &mut self,
        file: &FileToReplay,
        result: &Result<(), FeedError>,
    ) -> Option<CloseReason> {
        match result {
            Ok(()) => {
                self.reply(&UploadReply::Done { file: file.id.clone(), offset: file.bytes }).await;
                None
            }
            Err(FeedError::Changed) => self.refuse(&file.id, &Refusal::FileChanged).await,
            Err(FeedError::Refused(refusal)) => self.refuse(&file.id, refusal).await,
            Err(FeedError::Violation(refusal)) => Some((CloseCode::POLICY, refusal.clone())),
            Err(FeedError::Lost | FeedError::Cancelled) => None,
        }
    }
}

/// Returns how a file ends for an error of its receiver. Damage is not an error here: the lines
/// before it are compared with those that were read first.
fn end_of(error: ReceiveError) -> Result<(), FeedError> {
    match error {
        ReceiveError::Damaged(_) | ReceiveError::Refused(_) => Ok(()),
        // The replay was cancelled.
        ReceiveError::Stopped(_) => Err(FeedError::Refused(Refusal::UnknownReplay)),
    }
}
