//! The log of the program: its last messages, and its filter, which clients can change.

use http_body_util::{BodyExt, Limited};
use hyper::{Request, Response, StatusCode};
use weir_log::{LEVEL_MAX, Log, LogFilter};
use weir_net::{Body, IncomingBody};
use weir_view::{LogLevel, LogTail, to_json};

use crate::answers::{json, sentence};

/// The longest request body in bytes. Every filter is shorter.
const BODY_BYTES_MAX: usize = 8 << 10;

/// The message if the program has no log.
const NO_LOG: &str = "this program has no log";

/// The source of messages about the filter.
const TARGET: &str = "weir_inside::log";

/// Returns the filter and the last messages. With the query `from=NUMBER`, only messages from this
/// number on.
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

/// Replaces the filter by the body of a request.
pub(crate) async fn set_filter(
    log: Option<&Log>,
    request: Request<IncomingBody>,
) -> Response<Body> {
    let Some(log) = log else { return sentence(StatusCode::NOT_FOUND, NO_LOG) };
    let Ok(body) = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await else {
        let message =
            format!("the body was not received, or is longer than {BODY_BYTES_MAX} bytes");
        return sentence(StatusCode::BAD_REQUEST, &message);
    };
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    match text.trim().parse::<LogFilter>() {
        Ok(filter) => sentence(StatusCode::OK, &replace_filter(log, filter)),
        Err(error) => sentence(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// Replaces the filter, and logs that, whatever the filters say. Returns the filter, and a line for
/// each of its entries that has no effect.
fn replace_filter(log: &Log, filter: LogFilter) -> String {
    let notes = filter.notes();
    let (before, now) = (log.filter().to_string(), filter.to_string());
    log.set_filter(filter);
    let fields = [("before", &*before), ("now", &now)];
    log.report(LogLevel::Info, TARGET, "the filter of the log is changed", &fields);
    for note in &notes {
        log.report(LogLevel::Warn, TARGET, note, &[("filter", &now)]);
    }
    [vec![now], notes].concat().join("\n")
}

#[cfg(test)]
mod tests {
    use weir_log::{Log, MessageFormat};

    use super::replace_filter;

    #[test]
    fn a_change_is_logged_also_between_strict_filters() {
        let log = Log::new("warn".parse().expect("a filter"), MessageFormat::Text, std::io::sink());
        let answer = replace_filter(&log, "error,nosuch=off".parse().expect("a filter"));
        let mut lines = answer.lines();
        assert_eq!(lines.next(), Some("error,nosuch=off"));
        assert!(lines.next().is_some_and(|note| note.contains("has the name nosuch")), "{answer}");
        let (_, events) = log.last(0);
        let messages: Vec<&str> = events.iter().map(|event| &*event.message).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(messages[0], "the filter of the log is changed");
        assert!(messages[1].contains("has the name nosuch"), "{messages:?}");
        assert_eq!(replace_filter(&log, "info".parse().expect("a filter")), "info");
        assert_eq!(log.last(2).1.len(), 1);
    }
}
