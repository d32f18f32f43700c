//! A connection that joins another one to send parts of its file.

use weir_net::websocket::{CloseCode, SocketEvent};
use weir_view::{UploadReply, UploadRequest};

use super::connection::{CloseReason, Connection};
use super::file_end::cancel;
use super::file_request::FileRequest;
use crate::file::{CONNECTIONS_MAX, JoinError, MergeInput};
use crate::refusal::Refusal;

/// The next step after a message.
enum Next {
    Read,
    /// Leave the file: for this request, or because the file was cancelled (`None`).
    Leave(Option<FileRequest>),
    /// Close the connection, because the page violated the protocol in this way.
    Violation(String),
}

impl Connection<'_> {
    /// Receives blocks of the file until the page leaves it, or the owner no longer receives.
    pub(super) async fn join(&mut self, id: &str) -> Option<CloseReason> {
        let file = self.session.files().into_iter().find(|file| file.id() == id);
        let joined = file.ok_or(JoinError::NotBegun).and_then(|file| {
            file.merger().join(self.session.ahead(), file.progress().early_bytes())
        });
        let input = match joined {
            Ok(input) => input,
            Err(JoinError::NotBegun) => return self.refuse(id, &Refusal::NotBegun).await,
            Err(JoinError::TooMany) => {
                return self.refuse(id, &Refusal::TooManyConnections(CONNECTIONS_MAX)).await;
            }
        };
        self.reply(&UploadReply::Joined { file: id.to_owned() }).await;
        self.read_blocks(id, input).await
    }

    async fn read_blocks(&mut self, id: &str, input: MergeInput) -> Option<CloseReason> {
        // The offset of the next bytes; `None` before the first `block`.
        let mut offset: Option<u64> = None;
        loop {
            let event = tokio::select! {
                event = self.reader.next() => event,
                () = input.closed() => {
                    self.is_discarding = true;
                    return None;
                }
            };
            let next = match event {
                Ok(Some(SocketEvent::Text(text))) => read_message(text, id, &mut offset),
                Ok(Some(SocketEvent::Binary { bytes: [], .. })) => Next::Read,
                Ok(Some(SocketEvent::Binary { bytes, .. })) => match &mut offset {
                    Some(offset) => match offset.checked_add(bytes.len() as u64) {
                        Some(next) => {
                            // If the owner no longer receives, the next iteration notices.
                            input.send(*offset, bytes).await;
                            *offset = next;
                            Next::Read
                        }
                        None => Next::Violation("the offset of a `block` is too large".to_owned()),
                    },
                    None => {
                        Next::Violation("bytes arrived before a `block` gave their offset".into())
                    }
                },
                Ok(Some(SocketEvent::Pong(_))) => Next::Read,
                Ok(None) => Next::Leave(Some(FileRequest::Disconnect)),
                Err(_) => {
                    self.next_request = Some(FileRequest::Disconnect);
                    return None;
                }
            };
            match next {
                Next::Read => {}
                Next::Leave(request) => {
                    if request.is_none() {
                        cancel(self.session, id);
                    }
                    input.leave();
                    self.is_discarding = true;
                    self.next_request = request;
                    return None;
                }
                Next::Violation(why) => return Some((CloseCode::POLICY, Refusal::BadRequest(why))),
            }
        }
    }
}

fn read_message(text: &str, id: &str, offset: &mut Option<u64>) -> Next {
    match weir_view::from_json(text) {
        Ok(UploadRequest::Block { file, offset: next }) if file == id => {
            if offset.is_some_and(|offset| next < offset) {
                return Next::Violation("the offsets of a connection must not decrease".to_owned());
            }
            *offset = Some(next);
            Next::Read
        }
        Ok(UploadRequest::Cancel { file }) if file == id => Next::Leave(None),
        Ok(message) => match FileRequest::of(message) {
            Some(request) => Next::Leave(Some(request)),
            None => Next::Violation(format!("this connection has joined the file `{id}` only")),
        },
        Err(error) => Next::Violation(format!("the message cannot be read: {error}")),
    }
}
