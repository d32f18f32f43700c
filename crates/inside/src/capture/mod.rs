//! `GET /glass.json`: waits for the next request, upload or feed, and returns it with its steps.

mod request;
mod view;

use hyper::{Response, StatusCode};
use weir_net::{Body, Client};
use weir_observe::capture::{CaptureError, CaptureOutcome};
use weir_view::to_json;

pub(crate) use self::request::CaptureRequest;
use crate::answers::{json, sentence};
use crate::capture_kind::CaptureKind;
use crate::inside::Inside;
use crate::parameters::ParameterError;

/// Waits for a capture, and answers with it. If the client disconnects, the wait ends.
pub(crate) async fn answer(
    inside: &Inside,
    request: Result<CaptureRequest, ParameterError>,
    client: &Client,
) -> Response<Body> {
    let request = match request {
        Ok(request) => request,
        Err(error) => return sentence(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let capture = match inside.start_capture(request.kind, request.condition.as_deref()) {
        Some(Ok(capture)) => capture,
        Some(Err(error)) => return refusal(request.kind, &error),
        None => {
            let message = format!("this program has no {}", request.kind.words());
            return sentence(StatusCode::NOT_FOUND, &message);
        }
    };
    let outcome = tokio::select! {
        outcome = capture.wait(request.patience) => outcome,
        // This response cannot be delivered any more.
        () = client.sending_closed() => CaptureOutcome::Nothing { ended: 0, unseen: 0 },
    };
    match outcome {
        CaptureOutcome::Found(capture) => json(to_json(&view::capture(&capture))),
        CaptureOutcome::Nothing { ended, unseen } => {
            let seconds = request.patience.as_secs();
            let message = nothing(request.kind, seconds, ended, unseen);
            sentence(StatusCode::NOT_FOUND, &message)
        }
    }
}

/// Explains why nothing was captured.
fn nothing(kind: CaptureKind, seconds: u64, ended: u64, unseen: u64) -> String {
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

/// Explains why a capture cannot start.
fn refusal(kind: CaptureKind, error: &CaptureError) -> Response<Body> {
    let (status, message) = match error {
        CaptureError::Condition(_) => (StatusCode::BAD_REQUEST, error.to_string()),
        CaptureError::NoConditions => {
            let words = kind.words();
            let message = format!("{words} do not support a condition; leave it out");
            (StatusCode::BAD_REQUEST, message)
        }
        CaptureError::TooMany => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    };
    sentence(status, &message)
}
