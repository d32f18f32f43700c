//! The log of the program: its last messages, and its filter, which can be changed.

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use weir_log::{Filter, LEVEL_MAX, Log};
use weir_net::Body;
use weir_view::{LogTail, to_json};

use crate::answers::{json, sentence};

/// The longest body in bytes. A filter is shorter.
const BODY_BYTES_MAX: usize = 8 << 10;

/// The answer if the program has no log.
const NO_LOG: &str = "this program has no log";

/// The filter and the last messages. With `from=NUMBER`, those from this number on.
pub(crate) fn tail(log: Option<&Log>, query: Option<&str>) -> Response<Body> {
    let Some(log) = log else { return sentence(StatusCode::NOT_FOUND, NO_LOG) };
    let from = match query {
        None | Some("") => Some(0),
        Some(query) => query.strip_prefix("from=").and_then(|number| number.parse().ok()),
    };
    let Some(from) = from else {
        let message = "the query is not valid; write from= and the number of a message";
        return sentence(StatusCode::BAD_REQUEST, message);
    };
    let (next, events) = log.last(from);
    let (filter, level_max) = (log.filter().to_string(), LEVEL_MAX.to_string());
    json(to_json(&LogTail { filter, level_max, next, events }))
}

/// Takes the body of a request as the filter from now on.
pub(crate) async fn set_filter(log: Option<&Log>, request: Request<Incoming>) -> Response<Body> {
    let Some(log) = log else { return sentence(StatusCode::NOT_FOUND, NO_LOG) };
    let Ok(body) = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await else {
        let message = format!("the body was not received, or has more than {BODY_BYTES_MAX} bytes");
        return sentence(StatusCode::BAD_REQUEST, &message);
    };
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    match text.trim().parse::<Filter>() {
        Ok(filter) => {
            tracing::info!(before = %log.filter(), now = %filter, "the filter of the log is changed");
            log.set_filter(filter);
            sentence(StatusCode::OK, &log.filter().to_string())
        }
        Err(error) => sentence(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}
