//! The formats of a line.

use std::fmt::Write;

use weir_view::{LogEvent, LogValue, push_printable, to_json};

/// The format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageFormat {
    /// For people: time, level, target, message and fields.
    #[default]
    Text,
    /// For programs: a [`LogEvent`] as JSON, on one line.
    Json,
}

impl MessageFormat {
    /// Formats a message as one line, with the line feed. Control characters and invisible
    /// characters are escaped, so they cannot break the line or control a terminal.
    pub(crate) fn line(self, event: &LogEvent) -> String {
        let mut line = match self {
            Self::Text => text(event),
            // Text and numbers can always be serialized.
            Self::Json => to_json(event).unwrap_or_default(),
        };
        line.push('\n');
        line
    }
}

fn text(event: &LogEvent) -> String {
    let mut line = format!("{} {:5} {}: ", event.time, event.level.word(), event.target);
    push_printable(&mut line, &event.message);
    for (name, value) in &event.fields {
        line.push(' ');
        push_printable(&mut line, name);
        line.push('=');
        match value {
            LogValue::Text(text) => push_value(&mut line, text),
            other => _ = write!(line, "{other}"),
        }
    }
    match (event.repeated, event.similar) {
        (Some(1), _) => line.push_str(" (repeated once)"),
        (Some(times), _) => _ = write!(line, " (repeated {times} times)"),
        (None, Some(times)) => _ = write!(line, " (and {times} more of this kind)"),
        (None, None) => {}
    }
    line
}

/// Appends a text, in quotes if its end would be ambiguous otherwise.
fn push_value(line: &mut String, text: &str) {
    if !text.is_empty() && !text.contains([' ', '"', '=', '\\']) {
        return push_printable(line, text);
    }
    line.push('"');
    push_printable(line, &text.replace('\\', "\\\\").replace('"', "\\\""));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use weir_view::{LogEvent, LogLevel, LogValue, from_json};

    use super::MessageFormat;

    fn event(message: &str, fields: BTreeMap<String, LogValue>) -> LogEvent {
        let time = "2026-01-02T03:04:05.678Z".to_owned();
        let event = LogEvent::new(time, LogLevel::Warn, "weir_net", message.to_owned());
        LogEvent { fields, ..event }
    }

    #[test]
    fn a_text_shows_all_of_a_message() {
        let fields = BTreeMap::from([
            ("bytes".to_owned(), LogValue::Unsigned(12)),
            ("error".to_owned(), LogValue::Text("it is \"so\"".to_owned())),
            ("server".to_owned(), LogValue::Text("127.0.0.1:80".to_owned())),
        ]);
        let mut event = event("red \u{1b}[31m\nnext", fields);
        let start = "2026-01-02T03:04:05.678Z warn  weir_net: red \\x1b[31m\\nnext bytes=12 \
                     error=\"it is \\\"so\\\"\" server=127.0.0.1:80";
        assert_eq!(MessageFormat::Text.line(&event), format!("{start}\n"));
        event.similar = Some(3);
        assert_eq!(
            MessageFormat::Text.line(&event),
            format!("{start} (and 3 more of this kind)\n")
        );
        event.repeated = Some(2);
        assert_eq!(MessageFormat::Text.line(&event), format!("{start} (repeated 2 times)\n"));
    }

    proptest! {
        #[test]
        fn any_text_is_one_line_that_keeps_its_value(message: String, value: String, number: i64) {
            let fields = BTreeMap::from([
                ("value".to_owned(), LogValue::Text(value)),
                ("number".to_owned(), LogValue::from(number)),
            ]);
            let event = event(&message, fields);
            let json = MessageFormat::Json.line(&event);
            prop_assert_eq!(from_json::<LogEvent>(&json).expect("JSON"), event.clone());
            for line in [json, MessageFormat::Text.line(&event)] {
                let line = line.strip_suffix('\n').expect("an end");
                prop_assert!(!line.chars().any(|c| c.is_control() || weir_view::is_invisible(c)));
            }
        }
    }
}
