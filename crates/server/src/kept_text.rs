//! Sends a text whose memory is counted until it is sent.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::CONTENT_LENGTH;
use hyper::{Response, StatusCode};
use weir_net::{Body, BodySender, Client};
use weir_observe::task::{TaskKind, TaskName};

use crate::response;
use crate::session::Session;

/// Sends a long report.
static REPORT: TaskKind = TaskKind::new("report");

/// The size of the parts in which a long text is sent, in bytes. A text of one part takes no more
/// than the buffers of a connection do.
const PART_BYTES: usize = 64 << 10;

/// Responds with JSON. If the client does not take a long text while the texts of the session take
/// too much memory, its connection ends.
pub(crate) fn respond(session: Arc<Session>, text: Bytes, client: Client) -> Response<Body> {
    if text.len() <= PART_BYTES {
        return response::json(StatusCode::OK, text);
    }
    let mut response = response::json(StatusCode::OK, Bytes::new());
    response.headers_mut().insert(CONTENT_LENGTH, text.len().into());
    let (sender, body) = Body::channel(PART_BYTES);
    *response.body_mut() = body;
    tokio::spawn(REPORT.observe(TaskName::Unnamed, async move {
        for part in text.chunks(PART_BYTES) {
            match send_part(&session, &sender, part).await {
                PartEnd::Sent => {}
                PartEnd::Gone => return,
                PartEnd::MustGo => return client.cut_off(),
            }
        }
        // If this fails, the client is gone.
        let _ = sender.finish();
    }));
    response
}

/// What became of a part.
enum PartEnd {
    Sent,
    /// Nobody takes the text: the client is gone, or has asked with HEAD.
    Gone,
    /// The client has not taken it, and its memory is needed.
    MustGo,
}

/// Sends a copy of a part, so that the text is freed even if the part is never taken.
async fn send_part(session: &Session, sender: &BodySender, part: &[u8]) -> PartEnd {
    tokio::select! {
        sent = sender.send(Bytes::copy_from_slice(part)) => match sent {
            Ok(()) => PartEnd::Sent,
            Err(_) => PartEnd::Gone,
        },
        () = session.view_memory().crowded_out() => PartEnd::MustGo,
        () = session.ended() => PartEnd::MustGo,
    }
}
