//! The JSON notation: `json:time=ts,client=ip|addr,status=code!`, and the same for LTSV (`ltsv:`) and
//! logfmt (`logfmt:`).
//!
//! | item | meaning |
//! |---|---|
//! | `client=ip` | the field `client` is the value of the key `ip` |
//! | `client=ip\|addr` | of these keys the first that a line has |
//! | `status=code!` | a line without the key does not match |
//! | `status=code?` | a line may lack a status even if it has no request line |
//! | `request_time=took(ms)` | a duration in milliseconds |
//! | `path=url(url)` | the kinds of [`Item`] in parentheses |
//! | `trace=headers.Trace` | an extra field, the key `Trace` of the object `headers` |
//!
//! Values are read after the whole line is known to be valid JSON. A request line is read before a
//! target and a target before its parts, so that a key for a part overrides what the line says.

use super::item::Item;
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::own_names::own_name;
use crate::format::program::Program;
use crate::format::program::json::{JsonProgram, KeyEntry, Reading};
use crate::format::program::keyed::MemberSyntax;
use crate::format::program::sink::Sink;

/// The prefixes of the notation.
const PREFIXES: [(&str, MemberSyntax); 3] = [
    ("json:", MemberSyntax::Json),
    ("ltsv:", MemberSyntax::Ltsv),
    ("logfmt:", MemberSyntax::Logfmt),
];

/// The prefix of a definition, and the syntax of its lines.
pub(super) fn prefix_of(definition: &str) -> Option<(&'static str, MemberSyntax)> {
    let trimmed = definition.trim_start();
    PREFIXES.into_iter().find(|(prefix, _)| trimmed.starts_with(prefix))
}

/// The parts of a definition: up to its prefix, and its items.
fn split_prefix(definition: &str) -> (&str, &str) {
    let spaces = definition.len() - definition.trim_start().len();
    let prefix = prefix_of(definition).map_or(0, |(prefix, _)| prefix.len());
    definition.split_at(spaces + prefix)
}

/// The number of fields that a format may have: each becomes a column, and servers log a few
/// dozen.
const FIELDS_MAX: usize = 256;

/// Compiles `json:` and a list of `field=key`, separated by commas.
///
/// A name that is not a known field becomes an extra field. A key may be a path
/// (`request.headers.User-Agent`). Keys separated by `|` are alternatives, of which the first in
/// a line is read. `!` after the last key marks a required field: a line without it does not
/// match. `?` after the last key of a status or a request line permits lines that have neither.
/// The kind of a value follows its key in parentheses, as in the other notations; a duration without
/// one is in seconds or a text with a unit (`1.5ms`).
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
        let mut extra_field = |name: &str| {
            let name = own_name(name);
            let known = extra_fields.iter().position(|known| *known == name);
            known.unwrap_or_else(|| {
                extra_fields.push(name);
                extra_fields.len() - 1
            })
        };
        if pair.is_required {
            required.push(group);
        }
        for (path, sink) in &pair.keys {
            let sink = match sink {
                Sink::Extra(_) => Sink::Extra(extra_field(pair.name)),
                Sink::Number(_) => Sink::Number(extra_field(pair.name)),
                Sink::ClientAndPort { .. } => {
                    Sink::ClientAndPort { port: extra_field("client_port") }
                }
                Sink::HostAndPort { .. } => Sink::HostAndPort { port: extra_field("port") },
                sink => sink.clone(),
            };
            entries.push(KeyEntry {
                path: (*path).to_owned(),
                group,
                reading: Reading::Whole(sink),
            });
        }
    }
    let mut fields: Vec<Field> = Field::TEXT.into();
    fields.extend(Field::NUMBERS);
    fields.push(Field::Time);
    fields.retain(|field| entries.iter().any(|entry| entry.reading.fills(*field)));
    let mut program = JsonProgram::new(entries, required, may_lack_request);
    program.syntax = prefix_of(definition).map(|(_, syntax)| syntax).unwrap_or_default();
    Ok(Format::new(definition, fields, extra_fields, Program::Json(program)))
}

/// The definition without a key, which is one of several alternatives and has no mark after it.
pub(in crate::format) fn without_key(definition: &str, path: &str) -> String {
    let is_other = |key: &&str| !split_kind(key).0.eq_ignore_ascii_case(path);
    let item = |item: &str| {
        let (name, keys) = item.split_once('=')?;
        let keys = split_outside_parentheses(keys, '|');
        let keys: Vec<&str> = keys.into_iter().filter(is_other).collect();
        (!keys.is_empty()).then(|| format!("{name}={}", keys.join("|")))
    };
    let (prefix, items) = split_prefix(definition);
    let items = split_outside_parentheses(items, ',');
    let items: Vec<String> = items.into_iter().filter_map(item).collect();
    format!("{prefix}{}", items.join(","))
}

/// The item of the delimited notation for a column with the name of a key: `client=ip`.
pub(in crate::format) fn item_of(definition: &str, column: &str) -> Option<String> {
    let items = split_outside_parentheses(split_prefix(definition).1, ',');
    items.into_iter().find_map(|item| {
        let (field, keys) = item.split_once('=')?;
        let mut keys = split_outside_parentheses(keys, '|').into_iter();
        let key = keys.find(|key| split_kind(key).0.eq_ignore_ascii_case(column))?;
        let kind = split_kind(key).1.map_or(String::new(), |kind| format!("({kind})"));
        // Parentheses would be those of a kind.
        let column = column.split('(').next().unwrap_or_default();
        Some(format!("{field}={column}{kind}"))
    })
}

/// The definition without a field.
pub(in crate::format) fn without_field(definition: &str, field: Field) -> String {
    let (prefix, items) = split_prefix(definition);
    let is_other = |item: &&str| !item.starts_with(&format!("{}=", field.name()));
    let items = split_outside_parentheses(items, ',');
    let items: Vec<&str> = items.into_iter().filter(is_other).collect();
    format!("{prefix}{}", items.join(","))
}

/// One item, `field=key|key`, with or without a mark.
struct Pair<'a> {
    name: &'a str,
    field: Option<Field>,
    /// Paths with the sinks of their values.
    keys: Vec<(&'a str, Sink)>,
    /// Marked with `!`.
    is_required: bool,
    /// Marked with `?`.
    is_optional: bool,
}

/// Splits a definition into its items, and refuses a field that is there twice.
fn pairs(definition: &str) -> Result<Vec<Pair<'_>>, FormatError> {
    let start = split_prefix(definition).0.len();
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    let mut at = start;
    for text in split_outside_parentheses(&definition[start..], ',') {
        if pairs.len() == FIELDS_MAX {
            let message = format!("the format has more than {FIELDS_MAX} fields; remove some");
            return Err(FormatError::new(definition, at, message));
        }
        let pair = pair(definition, text, at)?;
        let is_part = |pair: &Pair<'_>| {
            let is_sum = |sink: &Sink| {
                matches!(sink, Sink::RequestTimePart { .. } | Sink::UpstreamTimePart { .. })
            };
            pair.keys.iter().all(|(_, sink)| is_sum(sink))
        };
        let same = |other: &Pair<'_>| match pair.field {
            _ if is_part(&pair) && is_part(other) => false,
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
    let keys = split_outside_parentheses(keys, '|');
    let keys = keys.into_iter().map(|key| key_and_sink(definition, name, key.trim(), keys_at));
    let keys: Vec<_> = keys.collect::<Result<_, _>>()?;
    if keys.iter().any(|(path, _)| path.ends_with(['!', '?'])) {
        let message = "a field has at most one mark, `!` or `?`, at the end of all its keys";
        return Err(FormatError::new(definition, keys_at, message));
    }
    if keys.iter().any(|(path, _)| path.split('.').any(str::is_empty)) {
        return Err(FormatError::new(definition, keys_at, "the name of a key is missing"));
    }
    Ok(Pair { name, field, keys, is_required, is_optional })
}

/// Splits the kind off a key. The parentheses of a header in the W3C extended log format,
/// `cs(Referer)`, belong to the key.
fn split_kind(key: &str) -> (&str, Option<&str>) {
    const PREFIXES: [&str; 6] = ["cs", "sc", "rs", "sr", "c", "s"];
    let is_header = |path: &str, name: &str| {
        PREFIXES.contains(&path) && name.starts_with(|letter: char| letter.is_ascii_uppercase())
    };
    let parts = key.strip_suffix(')').and_then(|key| key.split_once('('));
    match parts {
        Some((path, kind)) if !is_header(path, kind) => (path.trim_end(), Some(kind)),
        _ => (key, None),
    }
}

/// A key of the field `name`, and the sink of its values.
fn key_and_sink<'a>(
    definition: &str,
    name: &str,
    key: &'a str,
    at: usize,
) -> Result<(&'a str, Sink), FormatError> {
    let (path, kind) = split_kind(key);
    let text = match kind {
        Some(kind) => format!("{name}({kind})"),
        None => name.to_owned(),
    };
    let sink = match (Item { definition, text: &text, at }).variable()?.sink {
        // An object has keys for the parts of a target, and `-` for a query is its value.
        Sink::QueryOrDash => Sink::Text(Field::Query),
        sink => sink,
    };
    Ok((path, sink))
}

/// Splits at a character that is not in parentheses, as that of a kind or a header.
fn split_outside_parentheses(text: &str, separator: char) -> Vec<&str> {
    let mut depth = 0u32;
    text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == separator && depth == 0
    })
    .collect()
}
