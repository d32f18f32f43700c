//! `GET /glass.json`: waits for the next request, upload or feed, and returns it with its steps.

mod request;
mod view;

use hyper::{Response, StatusCode};
use weir_net::{Body, Client};
use weir_observe::glass::Sight;
use weir_view::to_json;

pub(crate) use self::request::GlassRequest;
use self::view::glass;
use crate::answers::{json, sentence};
use crate::capture::{GlassKind, StartCaptureError};
use crate::inside::Inside;

/// Waits for a capture, and answers with it. If the client disconnects, the wait ends.
pub(crate) async fn answer(
    inside: &Inside,
    request: Result<GlassRequest, String>,
    client: &Client,
) -> Response<Body> {
    let request = match request {
        Ok(request) => request,
        Err(message) => return sentence(StatusCode::BAD_REQUEST, &message),
    };
    let capture = match inside.start_capture(request.kind, request.condition.as_deref()) {
        Some(Ok(capture)) => capture,
        Some(Err(error)) => return sentence(status(&error), &error.to_string()),
        None => {
            let message = format!("this program has no {}", request.kind.words());
            return sentence(StatusCode::NOT_FOUND, &message);
        }
    };
    let sight = tokio::select! {
        sight = capture.wait(request.patience) => sight,
        // This response cannot be delivered any more.
        () = client.sending_closed() => Sight::Nothing { ended: 0, unseen: 0 },
    };
    match sight {
        Sight::Found(observation) => json(to_json(&glass(&observation))),
        Sight::Nothing { ended, unseen } => {
            let seconds = request.patience.as_secs();
            let message = nothing(request.kind, seconds, (ended, unseen));
            sentence(StatusCode::NOT_FOUND, &message)
        }
    }
}

/// Explains why nothing was captured.
fn nothing(kind: GlassKind, seconds: u64, (ended, unseen): (u64, u64)) -> String {
    let words = kind.words();
    let mut message = match ended {
        0 => format!("no {words} within {seconds} s"),
        _ => format!("none of {ended} {words} within {seconds} s meets the condition"),
    };
    if unseen > 0 {
        message.push_str(&format!(
            "; {unseen} more were not recorded because too many came at a time"
        ));
    }
    message
}

fn status(error: &StartCaptureError) -> StatusCode {
    match error {
        StartCaptureError::Condition(_) | StartCaptureError::NoConditions(_) => {
            StatusCode::BAD_REQUEST
        }
        StartCaptureError::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
