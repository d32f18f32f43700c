//! The JSON notation: `json:time=ts,client=ip|addr,status=code!`.
//!
//! | item | meaning |
//! |---|---|
//! | `client=ip` | the field `client` is the value of the key `ip` |
//! | `client=ip\|addr` | of these keys the first that a line has |
//! | `status=code!` | a line without the key does not match |
//! | `status=code?` | a line may lack a status even if it has no request line |
//! | `request_time=took(ms)` | a duration in milliseconds |
//! | `trace=headers.Trace` | an extra field, the key `Trace` of the object `headers` |
//!
//! Values are read after the whole line is known to be valid JSON. A request line is read before a
//! target and a target before its parts, so that a key for a part overrides what the line says.

use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::json::{JsonProgram, KeyEntry, Reading};
use crate::format::program::sink::Sink;
use crate::value::TimeKind;

/// The prefix of the notation.
pub(super) const PREFIX: &str = "json:";

/// The number of fields that a format may have: each becomes a column, and servers log a few
/// dozen.
const FIELDS_MAX: usize = 256;

/// Compiles `json:` and a list of `field=key`, separated by commas.
///
/// A name that is not a known field becomes an extra field. A key may be a path
/// (`request.headers.User-Agent`). Keys separated by `|` are alternatives, of which the first in
/// a line is read. `!` after the last key marks a required field: a line without it does not
/// match. `?` after the last key of a status or a request line permits lines that have neither.
/// The unit of a duration follows its key in parentheses (`took(ms)`); without one the
/// value is in seconds or a text with a unit (`1.5ms`).
pub(super) fn compile(definition: &str) -> Result<Format, FormatError> {
    let mut pairs = pairs(definition)?;
    // A request line is read first and a target second, so that keys for their parts override
    // them.
    pairs.sort_by_key(|pair| match pair.field {
        Some(Field::Request) => 0,
        Some(Field::Path) => 1,
        _ => 2,
    });
    let may_lack_request = pairs.iter().any(|pair| pair.is_optional);
    let (mut entries, mut required, mut extra_fields) = (Vec::new(), Vec::new(), Vec::new());
    for (group, pair) in pairs.iter().enumerate() {
        let extra = extra_fields.len();
        if pair.field.is_none() {
            extra_fields.push(pair.name.to_owned());
        }
        if pair.is_required {
            required.push(group);
        }
        entries.extend(pair.keys.iter().map(|(path, unit_ns)| KeyEntry {
            path: (*path).to_owned(),
            group,
            reading: Reading::Whole(sink(pair.field, *unit_ns, extra)),
        }));
    }
    let mut fields: Vec<Field> = Field::TEXT.into();
    fields.extend(Field::NUMBERS);
    fields.push(Field::Time);
    fields.retain(|field| entries.iter().any(|entry| entry.reading.fills(*field)));
    let program = Program::Json(JsonProgram::new(entries, required, may_lack_request));
    Ok(Format::new(definition, fields, extra_fields, program))
}

/// One item, `field=key|key`, with or without a mark.
struct Pair<'a> {
    name: &'a str,
    field: Option<Field>,
    /// Paths with the unit of durations in nanoseconds.
    keys: Vec<(&'a str, u64)>,
    /// Marked with `!`.
    is_required: bool,
    /// Marked with `?`.
    is_optional: bool,
}

/// Splits a definition into its items, and refuses a field that is there twice.
fn pairs(definition: &str) -> Result<Vec<Pair<'_>>, FormatError> {
    let start = definition.find(PREFIX).map_or(0, |at| at + PREFIX.len());
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut at = start;
    for text in definition[start..].split(',') {
        if pairs.len() == FIELDS_MAX {
            let message = format!("the format has more than {FIELDS_MAX} fields; remove some");
            return Err(FormatError::new(definition, at, message));
        }
        let pair = pair(definition, text, at)?;
        let same = |other: &Pair<'_>| match pair.field {
            Some(field) => other.field == Some(field),
            None => other.name == pair.name,
        };
        if pairs.iter().any(same) {
            let message =
                format!("{} is defined twice; separate alternative keys by `|`", pair.name);
            return Err(FormatError::new(definition, at, message));
        }
        pairs.push(pair);
        at += text.len() + 1;
    }
    Ok(pairs)
}

/// Reads the pair at offset `at` of the definition.
fn pair<'a>(definition: &str, text: &'a str, at: usize) -> Result<Pair<'a>, FormatError> {
    let Some((name, keys)) = text.split_once('=') else {
        let message = "expected `field=key`, such as `json:time=ts,client=ip,status=code`";
        return Err(FormatError::new(definition, at, message));
    };
    let keys_at = at + name.len() + 1;
    let (name, keys) = (name.trim(), keys.trim());
    if name.is_empty() {
        return Err(FormatError::new(definition, at, "the name of a field is missing before `=`"));
    }
    let field = Field::by_name(name);
    let (is_required, is_optional) = (keys.ends_with('!'), keys.ends_with('?'));
    if is_optional && !matches!(field, Some(Field::Status | Field::Request)) {
        let message = "only a status and a request line can be marked with `?`; remove it, because lines may \
                       lack every other field without `!`";
        return Err(FormatError::new(definition, keys_at, message));
    }
    let keys = keys.strip_suffix(['!', '?']).unwrap_or(keys);
    let keys: Vec<_> = keys.split('|').map(|key| with_unit(field, key.trim())).collect();
    if keys.iter().any(|(path, _)| path.ends_with(['!', '?'])) {
        let message = "a field has at most one mark, `!` or `?`, at the end of all its keys";
        return Err(FormatError::new(definition, keys_at, message));
    }
    if keys.iter().any(|(path, _)| path.split('.').any(str::is_empty)) {
        return Err(FormatError::new(definition, keys_at, "the name of a key is missing"));
    }
    Ok(Pair { name, field, keys, is_required, is_optional })
}

/// Splits the unit off the key of a duration.
fn with_unit(field: Option<Field>, key: &str) -> (&str, u64) {
    const UNITS: [(&str, u64); 4] =
        [("(s)", 1_000_000_000), ("(ms)", 1_000_000), ("(us)", 1_000), ("(ns)", 1)];
    if field.is_some_and(|field| Field::DURATIONS.contains(&field)) {
        for (suffix, unit_ns) in UNITS {
            if let Some(path) = key.strip_suffix(suffix) {
                return (path.trim_end(), unit_ns);
            }
        }
    }
    (key, UNITS[0].1)
}

/// The sink of a field; that of the extra field `extra` if the field is not known.
fn sink(field: Option<Field>, unit_ns: u64, extra: usize) -> Sink {
    let Some(field) = field else { return Sink::Extra(extra) };
    match field {
        Field::Client => Sink::Client,
        Field::Path => Sink::PathAndQuery,
        Field::Request => Sink::RequestLine,
        Field::Status => Sink::Status,
        Field::Bytes => Sink::Bytes,
        Field::RequestTime
        | Field::UpstreamTime
        | Field::UpstreamConnectTime
        | Field::UpstreamHeaderTime
        | Field::WaitTime
        | Field::BodyTime => Sink::duration(field, unit_ns),
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
