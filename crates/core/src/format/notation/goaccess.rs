//! GoAccess's `log-format`, with its `date-format` and `time-format`.
//!
//! ```text
//! log-format %h %^[%d:%t %^] "%r" %s %b "%R" "%u"    lines of goaccess.conf, in any order;
//! date-format %d/%b/%Y                               its other lines are ignored
//! time-format %H:%M:%S
//!
//! %h %^[%d:%t %^] "%r" %s %b "%R" "%u"               the bare text
//!
//! log-format {"ts":"%x.%^","ip":"%h","status":"%s"}  an object for lines in JSON
//! date-format %s
//! ```
//!
//! `datetime-format` has both in one pattern, for `%x`. `~h{, }` is the list of X-Forwarded-For; with a
//! quote in its braces the list is in quotes.
//!
//! Without a date or time format those of the common log format apply. A date and a time of the
//! common log format with a skipped value after them are read with the zone, which GoAccess skips.
//! As in GoAccess, a line may have more text after the end of the format; a value at the end is a
//! word, except for a request, a referer and a user agent.
//!
//! Source: the manual page of GoAccess, "CUSTOM LOG/DATE FORMAT", and `parse_specifier` in
//! src/parser.c.

use std::sync::Arc;

use super::builder::{FormatBuilder, THE_REST, Variable};
use super::json_template::{self, ValueNotation};
use super::positioned::Positioned;
use super::quotes::check_quotes;
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::sink::Sink;
use crate::value::{Strftime, TimeKind};

const LOG_FORMAT: &str = "log-format";
const DATE_FORMAT: &str = "date-format";
const TIME_FORMAT: &str = "time-format";
const DATE_AND_TIME_FORMAT: &str = "datetime-format";

/// The time of the common log format in GoAccess's notation, without its zone.
const CLF_DATE: &str = "%d/%b/%Y";
const CLF_TIMES: [&str; 2] = ["%H:%M:%S", "%T"];
/// Such a time and its zone in a format.
const CLF: &[u8] = b"%d:%t %^]";

/// Whether the definition is lines of goaccess.conf.
pub(super) fn is_configuration(definition: &str) -> bool {
    definition.lines().any(|line| value_of(line, LOG_FORMAT).is_some())
}

/// Whether the text has a specifier that only GoAccess has: `%^`, `%d`, `%x`, `%~` or `~h{`.
pub(super) fn has_specifier(text: &str) -> bool {
    // Apache's directives have texts in braces, such as the pattern of a time.
    let outside = |at: usize| {
        let (open, close) = (text[..at].rfind('{'), text[..at].rfind('}'));
        open.is_none_or(|open| close.is_some_and(|close| close > open))
    };
    let specifiers = text.match_indices('%').any(|(at, _)| {
        let rest = &text[at + 1..];
        let is_apache = ["^F", "^ti", "^to"].iter().any(|name| rest.starts_with(name));
        !is_apache && rest.starts_with(['^', 'd', 'x', '~']) && outside(at)
    });
    specifiers || text.contains("~h{")
}

/// A value of goaccess.conf, and its offset in the definition.
#[derive(Debug, Clone, Copy)]
struct Setting<'a> {
    text: &'a str,
    at: usize,
}

/// The value of a line of goaccess.conf with this key.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.trim_start().strip_prefix(key)?;
    value.starts_with(char::is_whitespace).then(|| value.trim())
}

/// The last value of this key, as in GoAccess.
fn setting<'a>(definition: &'a str, key: &str) -> Option<Setting<'a>> {
    let text = definition.lines().filter_map(|line| value_of(line, key)).next_back()?;
    Some(Setting { text, at: text.as_ptr() as usize - definition.as_ptr() as usize })
}

/// The name of a known format that lines of goaccess.conf have instead of a text.
pub(super) fn name_of(definition: &str) -> Option<&str> {
    let name = setting(definition, LOG_FORMAT)?.text;
    (!name.contains(['%', '~'])).then_some(name)
}

/// Compiles lines of goaccess.conf or the bare text of a format.
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let bare = || {
        let start = definition.len() - definition.trim_start().len();
        Setting { text: definition.trim(), at: start }
    };
    let log_format = setting(definition, LOG_FORMAT).unwrap_or_else(bare);
    if !log_format.text.contains(['%', '~']) {
        let message = "this is neither the name of a known format nor a text with specifiers, such \
                       as %h";
        return Err(FormatError::new(definition, log_format.at, message));
    }
    let text = text_of(log_format);
    let reader = Reader {
        definition,
        text: &text,
        is_json_value: false,
        date: setting(definition, DATE_FORMAT),
        time: setting(definition, TIME_FORMAT),
        date_and_time: setting(definition, DATE_AND_TIME_FORMAT),
        has_query: log_format.text.contains("%q"),
    };
    if log_format.text.starts_with('{') {
        return compile_json(reader, log_format);
    }
    check_quotes(definition, &outside_braces(&text), b'%')?;
    let mut builder = FormatBuilder::new(definition, true);
    reader.read(&mut builder)?;
    builder.finish()
}

/// Compiles a text that is a JSON object, whose values are texts of formats.
fn compile_json(reader: Reader<'_>, log_format: Setting<'_>) -> Result<Format, FormatError> {
    let is_number = |value: &[u8]| value.len() == 2 && value[0] == b'%';
    let notation = ValueNotation { sign: b'%', is_number };
    let builder = FormatBuilder::new(reader.definition, false);
    let format = json_template::compile(reader.text, notation, builder, |value, builder| {
        Reader { text: value, is_json_value: true, ..reader }.read(builder)
    })?;
    format.ok_or_else(|| {
        let message = "this is not a JSON object with different keys and quoted values";
        reader.error(log_format.at, message)
    })
}

/// The text of the format, with a tab for `\t` and a quote for `\"`.
fn text_of(setting: Setting<'_>) -> Vec<Positioned> {
    let mut text: Vec<Positioned> = Vec::with_capacity(setting.text.len());
    for (byte, at) in setting.text.bytes().zip(setting.at..) {
        match (text.last_mut(), byte) {
            (Some((last @ b'\\', _)), b't') => *last = b'\t',
            (Some((last @ b'\\', _)), b'"') => *last = b'"',
            _ => text.push((byte, at)),
        }
    }
    text
}

/// The text without the delimiters of lists, `~h{," }`.
fn outside_braces(text: &[Positioned]) -> Vec<Positioned> {
    let mut is_inside = false;
    let is_outside = |(byte, _): &&Positioned| {
        is_inside = is_inside && *byte != b'}' || *byte == b'{';
        !is_inside
    };
    text.iter().filter(is_outside).copied().collect()
}

/// Reads the specifiers of a format.
#[derive(Clone, Copy)]
struct Reader<'a> {
    definition: &'a str,
    text: &'a [Positioned],
    /// Whether the text is one value of a JSON object, which has its own end.
    is_json_value: bool,
    date: Option<Setting<'a>>,
    time: Option<Setting<'a>>,
    date_and_time: Option<Setting<'a>>,
    /// Whether the query is a value of its own.
    has_query: bool,
}

impl Reader<'_> {
    fn error(&self, at: usize, message: impl Into<String>) -> FormatError {
        FormatError::new(self.definition, at, message)
    }

    /// Adds the texts and values of the format to the builder.
    fn read(&self, builder: &mut FormatBuilder<'_>) -> Result<(), FormatError> {
        let bytes: Vec<u8> = self.text.iter().map(|(byte, _)| *byte).collect();
        let mut at = 0;
        // The letter of the last specifier, or a letter of the text after it.
        let mut last = 0;
        while at < bytes.len() {
            let position = self.text[at].1;
            let rest = &bytes[at..];
            at += if rest.starts_with(CLF) && self.is_clf() {
                builder.value(variable(Sink::Time(TimeKind::Clf), "%d:%t", "time", position));
                builder.text(b"]");
                last = b']';
                CLF.len()
            } else if rest.starts_with(b"~h{") {
                let end = rest.iter().position(|byte| *byte == b'}');
                let end = end.ok_or_else(|| self.error(position, "the `{` has no `}`"))?;
                last = b'~';
                let sink = Sink::ForwardedFor { extra: 0 };
                // The characters that delimit the list; a quote among them is around it.
                let is_quoted = rest[..end].contains(&b'"') && last != b'"';
                let quote: &[u8] = if is_quoted { b"\"" } else { b"" };
                builder.text(quote);
                builder.value(variable(sink, "~h", "http_x_forwarded_for", position));
                builder.text(quote);
                end + 1
            } else if rest[0] == b'%' {
                let letter = *rest.get(1).ok_or_else(|| {
                    self.error(position, "a letter must follow this `%`; see GoAccess's manual")
                })?;
                last = letter;
                let follows_path = at >= 2 && bytes[at - 2..at] == *b"%U";
                builder.value(self.value(letter, follows_path, position)?);
                2
            } else {
                builder.text(&rest[..1]);
                last = if rest[0] == b'"' { b'"' } else { b' ' };
                1
            };
        }
        if !self.is_json_value && !b"^~rRu".contains(&last) {
            builder.value(variable(Sink::Skip, THE_REST, "rest", self.definition.len()));
        }
        Ok(())
    }

    /// The value of the specifier with this letter.
    fn value(
        &self,
        letter: u8,
        follows_path: bool,
        position: usize,
    ) -> Result<Variable, FormatError> {
        let text = Sink::Text;
        let duration = |unit_ns| Sink::RequestTime { unit_ns };
        let (sink, field_name) = match letter {
            b'h' => (Sink::Client, "remote_addr"),
            b'd' => (self.strftime(self.date, CLF_DATE)?, "date"),
            b't' => (self.strftime(self.time, CLF_TIMES[0])?, "time"),
            b'x' => (self.date_and_time(position)?, "time"),
            b'r' => (Sink::RequestLine, "request"),
            b'm' => (text(Field::Method), "request_method"),
            b'U' if self.has_query => (text(Field::Path), "uri"),
            b'U' => (Sink::PathAndQuery, "request_uri"),
            b'q' if follows_path => (Sink::QueryWithMark, "args"),
            b'q' => (Sink::QueryOrDash, "args"),
            b'H' => (text(Field::Protocol), "server_protocol"),
            b's' => (Sink::Status, "status"),
            b'b' => (Sink::Bytes, "body_bytes_sent"),
            b'R' => (text(Field::Referer), "http_referer"),
            b'u' => (text(Field::UserAgent), "http_user_agent"),
            b'e' => (Sink::User, "remote_user"),
            b'v' => (text(Field::Host), "server_name"),
            b'D' => (duration(1_000), "request_time"),
            b'L' => (duration(1_000_000), "request_time"),
            b'T' => (duration(1_000_000_000), "request_time"),
            b'n' => (duration(1), "request_time"),
            b'C' => (Sink::Extra(0), "cache_status"),
            b'M' => (Sink::Extra(0), "mime_type"),
            b'K' => (Sink::Extra(0), "tls_cipher"),
            b'k' => (Sink::Extra(0), "tls_version"),
            b'^' | b'~' => (Sink::Skip, "skipped"),
            letter => {
                let letter = char::from(letter);
                let message = format!("`%{letter}` is not a specifier of GoAccess's log-format");
                return Err(self.error(position, message));
            }
        };
        Ok(variable(sink, &format!("%{}", char::from(letter)), field_name, position))
    }

    /// Whether date and time are those of the common log format.
    fn is_clf(&self) -> bool {
        self.date.is_none_or(|date| date.text == CLF_DATE)
            && self.time.is_none_or(|time| CLF_TIMES.contains(&time.text))
    }

    /// The sink of a date or time with a pattern.
    fn strftime(&self, setting: Option<Setting<'_>>, default: &str) -> Result<Sink, FormatError> {
        let (pattern, at) = setting.map_or((default, 0), |setting| (setting.text, setting.at));
        match pattern {
            "%f" => return Ok(Sink::Time(TimeKind::UnixMicroseconds)),
            "%*" => return Ok(Sink::Time(TimeKind::UnixMilliseconds)),
            _ => {}
        }
        let pattern =
            Strftime::parse(pattern).map_err(|error| self.error(at + error.at, error.message))?;
        Ok(Sink::Strftime(Arc::new(pattern)))
    }

    /// The sink of `%x`, a date and time in one value, of which one of the formats has both.
    fn date_and_time(&self, position: usize) -> Result<Sink, FormatError> {
        for setting in [self.date_and_time, self.date, self.time] {
            let sink = self.strftime(setting, CLF_DATE)?;
            if setting.is_some() && sink.time_content().is_instant() {
                return Ok(sink);
            }
        }
        let message = "`%x` needs a datetime-format, such as %Y-%m-%dT%H:%M:%S";
        Err(self.error(position, message))
    }
}

fn variable(sink: Sink, name: &str, field_name: &str, at: usize) -> Variable {
    Variable { sink, rank: 0, name: name.to_owned(), field_name: field_name.to_owned(), at }
}
