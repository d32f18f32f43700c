//! An event of tracing becomes a message.

use std::fmt::Debug;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use weir_view::{LogEvent, LogLevel, LogValue};

/// The longest text of a message or a field in bytes. Some of them come from outside.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// The message of an event, with the time of now.
pub(crate) fn message(event: &Event<'_>) -> LogEvent {
    let metadata = event.metadata();
    let mut message =
        LogEvent::new(now(), level(*metadata.level()), metadata.target(), String::new());
    event.record(&mut FieldsOf(&mut message));
    message
}

/// The time of now by UTC, to the millisecond (RFC 3339).
pub(crate) fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

fn level(level: Level) -> LogLevel {
    match level {
        Level::ERROR => LogLevel::Error,
        Level::WARN => LogLevel::Warn,
        Level::INFO => LogLevel::Info,
        Level::DEBUG => LogLevel::Debug,
        Level::TRACE => LogLevel::Trace,
    }
}

/// Puts the fields of an event into a message.
struct FieldsOf<'message>(&'message mut LogEvent);

impl FieldsOf<'_> {
    fn put(&mut self, field: &Field, value: LogValue) {
        self.0.fields.insert(field.name().to_owned(), value);
    }

    fn put_text(&mut self, field: &Field, text: String) {
        let text = shortened(text);
        match field.name() {
            "message" => self.0.message = text,
            _ => self.put(field, LogValue::Text(text)),
        }
    }
}

impl Visit for FieldsOf<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put_text(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put_text(field, value.to_owned());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, LogValue::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, LogValue::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, LogValue::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, LogValue::Flag(value));
    }
}

/// The text, or its start with an ellipsis.
pub(crate) fn shortened(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{TEXT_BYTES_MAX, shortened};

    #[test]
    fn a_long_text_ends_at_a_character() {
        let text = "ä".repeat(TEXT_BYTES_MAX);
        let short = shortened(format!("a{text}"));
        assert_eq!(short.len(), TEXT_BYTES_MAX - 1 + "…".len());
        assert!(short.ends_with("ä…"));
        assert_eq!(shortened("a".to_owned()), "a");
    }
}
