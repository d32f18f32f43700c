//! A connection that helps another to send its file.

use weir_net::websocket::{CloseCode, Event};
use weir_view::{UploadReply, UploadRequest};

use super::connection::{Asked, Connection, Goodbye, cancel};
use super::junction::{CONNECTIONS_MAX, Feeder, JoinError};
use crate::refusal::Refusal;

/// What to do after a message.
enum Next {
    Read,
    /// The connection brings no more of the file.
    Leave(Option<Asked>),
    Breach(String),
}

impl Connection<'_> {
    /// Brings blocks of the file, as long as another connection takes them.
    pub(super) async fn join(&mut self, file: &str) -> Option<Goodbye> {
        let slot = self.session.slots().into_iter().find(|slot| slot.file() == file);
        let feeder = match slot.ok_or(JoinError::NotBegun).and_then(|slot| slot.join()) {
            Ok(feeder) => feeder,
            Err(JoinError::NotBegun) => return self.refuse(file, &Refusal::NotBegun).await,
            Err(JoinError::TooMany) => {
                return self.refuse(file, &Refusal::TooManyConnections(CONNECTIONS_MAX)).await;
            }
        };
        self.say(&UploadReply::Joined { file: file.to_owned() }).await;
        self.bring(file, feeder).await
    }

    async fn bring(&mut self, file: &str, feeder: Feeder) -> Option<Goodbye> {
        // Where the next bytes lie; `None` before a `block` has said so.
        let mut offset: Option<u64> = None;
        loop {
            let event = tokio::select! {
                event = self.reader.next() => event,
                () = feeder.over() => {
                    self.is_discarding = true;
                    return None;
                }
            };
            let next = match event {
                Ok(Some(Event::Text(text))) => follow(text, file, &mut offset),
                // An empty message brings nothing.
                Ok(Some(Event::Binary { bytes: [], .. })) => Next::Read,
                Ok(Some(Event::Binary { bytes, .. })) => match &mut offset {
                    Some(offset) => match offset.checked_add(bytes.len() as u64) {
                        Some(next) => {
                            // Where nobody takes them any more, the next turn finds that out.
                            feeder.feed(*offset, bytes).await;
                            *offset = next;
                            Next::Read
                        }
                        None => Next::Breach("no file has such an offset".to_owned()),
                    },
                    None => Next::Breach("a `block` has to say where bytes belong".to_owned()),
                },
                Ok(Some(Event::Pong(_))) => Next::Read,
                Ok(None) => Next::Leave(Some(Asked::Nothing)),
                Err(_) => {
                    self.asked = Some(Asked::Nothing);
                    return None;
                }
            };
            match next {
                Next::Read => {}
                Next::Leave(asked) => {
                    if asked.is_none() {
                        cancel(self.session, file);
                    }
                    feeder.leave();
                    self.is_discarding = true;
                    self.asked = asked;
                    return None;
                }
                Next::Breach(why) => return Some((CloseCode::POLICY, Refusal::BadRequest(why))),
            }
        }
    }
}

fn follow(text: &str, this: &str, offset: &mut Option<u64>) -> Next {
    match serde_json::from_str(text) {
        Ok(UploadRequest::Block { file, offset: next }) if file == this => {
            if offset.is_some_and(|offset| next < offset) {
                return Next::Breach("the blocks of a connection have to rise".to_owned());
            }
            *offset = Some(next);
            Next::Read
        }
        Ok(UploadRequest::Begin { file, name, bytes_total, continues }) => {
            Next::Leave(Some(Asked::Begin { file, name, bytes_total, continues }))
        }
        Ok(UploadRequest::Join { file }) => Next::Leave(Some(Asked::Join { file })),
        Ok(UploadRequest::Cancel { file }) if file == this => Next::Leave(None),
        Ok(_) => Next::Breach(format!("this connection sends blocks of the file `{this}` only")),
        Err(error) => Next::Breach(format!("the message cannot be read: {error}")),
    }
}
