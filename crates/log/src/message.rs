//! Conversion of `tracing` events to messages.

use std::fmt::Debug;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};
use weir_view::{LogEvent, LogLevel, LogValue};

/// The longest text of a message or a field in bytes. The limit exists because clients supply some
/// of them.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// Converts an event to a message with the current time.
pub(crate) fn to_message(event: &Event<'_>) -> LogEvent {
    let metadata = event.metadata();
    let mut message =
        LogEvent::new(now(), level(*metadata.level()), metadata.target(), String::new());
    event.record(&mut FieldVisitor(&mut message));
    message
}

/// Returns the current UTC time in milliseconds, in RFC 3339 format.
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

/// Copies the fields of an event into a message.
struct FieldVisitor<'message>(&'message mut LogEvent);

impl FieldVisitor<'_> {
    fn put(&mut self, field: &Field, value: LogValue) {
        self.0.fields.insert(field.name().to_owned(), value);
    }

    fn put_text(&mut self, field: &Field, text: String) {
        let text = truncate(text);
        match field.name() {
            "message" => self.0.message = text,
            _ => self.put(field, LogValue::Text(text)),
        }
    }
}

impl Visit for FieldVisitor<'_> {
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

/// Truncates a text to the limit, and appends an ellipsis if it was longer.
pub(crate) fn truncate(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{TEXT_BYTES_MAX, truncate};

    #[test]
    fn a_long_text_ends_at_a_character() {
        let text = "ä".repeat(TEXT_BYTES_MAX);
        let short = truncate(format!("a{text}"));
        assert_eq!(short.len(), TEXT_BYTES_MAX - 1 + "…".len());
        assert!(short.ends_with("ä…"));
        assert_eq!(truncate("a".to_owned()), "a");
    }
}
