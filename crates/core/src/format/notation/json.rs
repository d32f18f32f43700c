//! A JSON format as a user writes it down: `json:time=ts,client=ip|addr,status=code!`.

use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::json::{Entry, JsonProgram, Reading};
use crate::format::program::sink::Sink;
use crate::value::TimeKind;

/// What such a definition starts with.
pub(super) const PREFIX: &str = "json:";

/// Fields that a format may have: each becomes a column, and servers log a few dozen.
const FIELDS_MAX: usize = 256;

/// Compiles `json:` and a list of `field=key`, separated by commas.
///
/// A field that has no meaning of its own becomes a text field of the format. A key may be
/// a path (`request.headers.User-Agent`); keys separated by `|` are alternatives, the first
/// that a line has counts; `!` behind the last of them means that a line without it does
/// not fit; a duration's unit stands behind its key in parentheses (`took(ms)`; seconds, or
/// a text like `1.5ms`, where there is none).
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let mut pairs = pairs(definition)?;
    // A request line is read first, a target next, so that keys for a part of them win.
    pairs.sort_by_key(|pair| match pair.field {
        Some(Field::Request) => 0,
        Some(Field::Path) => 1,
        _ => 2,
    });
    let (mut entries, mut required, mut extra_fields) = (Vec::new(), Vec::new(), Vec::new());
    for (group, pair) in pairs.iter().enumerate() {
        let extra = extra_fields.len();
        if pair.field.is_none() {
            extra_fields.push(pair.name.to_owned());
        }
        if pair.required {
            required.push(group);
        }
        entries.extend(pair.keys.iter().map(|(path, unit_ns)| Entry {
            path: (*path).to_owned(),
            group,
            reading: Reading::Whole(sink(pair.field, *unit_ns, extra)),
        }));
    }
    let mut fields: Vec<Field> = Field::TEXT.into();
    fields.extend(Field::NUMBERS);
    fields.push(Field::Time);
    fields.retain(|field| entries.iter().any(|entry| entry.reading.fills(*field)));
    let program = Program::Json(JsonProgram::new(entries, required));
    Ok(Format::new(definition, fields, extra_fields, program))
}

/// One `field=key|key!`.
struct Pair<'a> {
    name: &'a str,
    field: Option<Field>,
    /// Paths with the unit of durations in nanoseconds.
    keys: Vec<(&'a str, u64)>,
    required: bool,
}

fn pairs(definition: &str) -> Result<Vec<Pair<'_>>, FormatError> {
    let start = definition.find(PREFIX).map_or(0, |at| at + PREFIX.len());
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut at = start;
    for text in definition[start..].split(',') {
        if pairs.len() == FIELDS_MAX {
            let message = format!("a format may have {FIELDS_MAX} fields, and this is one more");
            return Err(FormatError::new(definition, at, message));
        }
        let pair = pair(definition, text, at)?;
        let same = |other: &Pair<'_>| match pair.field {
            Some(field) => other.field == Some(field),
            None => other.name == pair.name,
        };
        if pairs.iter().any(same) {
            let message =
                format!("{} is there already; alternative keys are separated by `|`", pair.name);
            return Err(FormatError::new(definition, at, message));
        }
        pairs.push(pair);
        at += text.len() + 1;
    }
    Ok(pairs)
}

/// Reads the pair that stands at `at` of the definition.
fn pair<'a>(definition: &str, text: &'a str, at: usize) -> Result<Pair<'a>, FormatError> {
    let Some((name, keys)) = text.split_once('=') else {
        let message = "expected `field=key`, such as `json:time=ts,client=ip,status=code`";
        return Err(FormatError::new(definition, at, message));
    };
    let keys_at = at + name.len() + 1;
    let (name, keys) = (name.trim(), keys.trim());
    if name.is_empty() {
        return Err(FormatError::new(definition, at, "the field's name is missing"));
    }
    let field = Field::by_name(name);
    let required = keys.ends_with('!');
    let keys = keys.strip_suffix('!').unwrap_or(keys);
    let keys: Vec<_> = keys.split('|').map(|key| with_unit(field, key.trim())).collect();
    if keys.iter().any(|(path, _)| path.split('.').any(str::is_empty)) {
        return Err(FormatError::new(definition, keys_at, "a key's name is missing"));
    }
    Ok(Pair { name, field, keys, required })
}

/// Takes the unit off the key of a duration.
fn with_unit(field: Option<Field>, key: &str) -> (&str, u64) {
    const UNITS: [(&str, u64); 4] =
        [("(s)", 1_000_000_000), ("(ms)", 1_000_000), ("(us)", 1_000), ("(ns)", 1)];
    if matches!(field, Some(Field::RequestTime | Field::UpstreamTime)) {
        for (suffix, unit_ns) in UNITS {
            if let Some(path) = key.strip_suffix(suffix) {
                return (path, unit_ns);
            }
        }
    }
    (key, UNITS[0].1)
}

fn sink(field: Option<Field>, unit_ns: u64, extra: usize) -> Sink {
    let Some(field) = field else { return Sink::Extra(extra) };
    match field {
        Field::Client => Sink::ClientWithPort,
        Field::Path => Sink::PathAndQuery,
        Field::Request => Sink::RequestLine,
        Field::Status => Sink::Status,
        Field::Bytes => Sink::Bytes,
        Field::RequestTime => Sink::RequestDuration { unit_ns },
        Field::UpstreamTime => Sink::UpstreamDuration { unit_ns },
        Field::Time => Sink::Time(TimeKind::Any),
        Field::Query
        | Field::User
        | Field::Host
        | Field::Method
        | Field::Protocol
        | Field::Referer
        | Field::UserAgent => Sink::Text(field),
    }
}
