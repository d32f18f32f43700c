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
            if !send_part(&session, &sender, part).await {
                return client.cut_off();
            }
        }
        // If this fails, the client is gone.
        let _ = sender.finish();
    }));
    response
}

/// Sends a copy of a part, so that the text is freed even if the part is never taken. Returns false
/// if the client is gone or must go.
async fn send_part(session: &Session, sender: &BodySender, part: &[u8]) -> bool {
    tokio::select! {
        sent = sender.send(Bytes::copy_from_slice(part)) => sent.is_ok(),
        () = session.view_memory().crowded_out() => false,
        () = session.ended() => false,
    }
}
