//! `GET /glass.json`: the next request, upload or feed with its steps, which the asking request waits for.

mod request;
mod shown;

use hyper::{Response, StatusCode};
use weir_net::{Body, Client};
use weir_observe::glass::Sight;
use weir_view::to_json;

pub(crate) use self::request::GlassRequest;
use self::shown::glass;
use crate::answers::{json, sentence};
use crate::inside::Inside;
use crate::look::{GlassKind, LookError};

/// Waits for what a client asks for. If the client goes, the wait ends with its request.
pub(crate) async fn answer(
    inside: &Inside,
    request: Result<GlassRequest, String>,
    client: &Client,
) -> Response<Body> {
    let request = match request {
        Ok(request) => request,
        Err(message) => return sentence(StatusCode::BAD_REQUEST, &message),
    };
    let look = match inside.look(request.kind, request.condition.as_deref()) {
        Some(Ok(look)) => look,
        Some(Err(error)) => return sentence(status(&error), &error.to_string()),
        None => {
            let message = format!("this program has no {}", request.kind.words());
            return sentence(StatusCode::NOT_FOUND, &message);
        }
    };
    let sight = tokio::select! {
        sight = look.wait(request.patience) => sight,
        // Nobody is there to read why.
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

/// Why there is nothing to show.
fn nothing(kind: GlassKind, seconds: u64, (ended, unseen): (u64, u64)) -> String {
    let words = kind.words();
    let mut message = match ended {
        0 => format!("no {words} within {seconds} s"),
        _ => format!("none of {ended} {words} within {seconds} s meets the condition"),
    };
    if unseen > 0 {
        message.push_str(&format!("; {unseen} more were not looked at: too many came at a time"));
    }
    message
}

fn status(error: &LookError) -> StatusCode {
    match error {
        LookError::Condition(_) | LookError::NoConditions(_) => StatusCode::BAD_REQUEST,
        LookError::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
