//! The W3C extended log format, whose `#Fields:` directive names the values.
//!
//! Sources: the working draft WD-logfile-960323 (<https://www.w3.org/TR/WD-logfile.html>),
//! and the manuals of software that writes it, such as IIS (W3C logging), CloudFront (standard
//! logs) and the Windows firewall.
//!
//! Names are compared without case. A name that is not known becomes an extra field, since every
//! product adds its own. Of several names for one field the preferred one fills it:
//!
//! | field | names, the preferred first |
//! |---|---|
//! | `client` | `c-ip`, `src-ip`, `c-dns` |
//! | `host` | `x-host-header`, `cs-host` or `cs(Host)` |
//! | `bytes` | `sc-bytes`, `bytes` |
//! | `request_time` | `time-taken`, `timetakenms` |
//! | `protocol` | `cs-version` or `cs-protocol-version`, `protocol` |
//!
//! A list with `action` and `src-ip`, and no field of a request, is that of a firewall. Its records
//! are firewall events.
//!
//! Date and time are UTC, as the draft demands and IIS does by default; `date-local` and
//! `time-local` are used if the list has no others. These are local to the machine that wrote them,
//! in a zone that the log does not name, and are read as UTC ([`Format::has_local_times`]).

use super::builder::{FormatBuilder, Variable};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::delimited::{Column, DelimitedProgram, Directives, Part, Separator};
use crate::format::program::directive::{DATE, FIELDS, LOCAL_TIMES, date_of};
use crate::format::program::sink::Sink;
use crate::schema::RecordKind;
use crate::value::parse_day;

/// The field that only CloudFront's lists have.
const CLOUDFRONT_FIELD: &str = "x-edge-location";
/// CloudFront has appended fields over the years: after the first twelve values a line may end.
const CLOUDFRONT_REQUIRED: usize = 12;

/// Whether the definition is in this notation: directives, as in a log.
pub(super) fn is_directives(text: &str) -> bool {
    [FIELDS, DATE, LOCAL_TIMES].iter().any(|start| text.starts_with(start))
}

/// Compiles `#Fields:` and a list of fields, after a `#Date:` if lines have only a time of day, and
/// after `#Time Format: Local` if times are local.
/// Without a list it is the format of a log before its first `#Fields:`.
///
/// # Errors
/// If the list has more than 256 names.
pub(in crate::format) fn compile(definition: &str) -> Result<Format, FormatError> {
    let fields_at = definition.find(FIELDS).unwrap_or(definition.len());
    let before = &definition[..fields_at];
    let day = date_of(before).and_then(|text| parse_day(text.get(..10)?.as_bytes()));
    let list_at = (fields_at + FIELDS.len()).min(definition.len());
    let list = &definition[list_at..];
    let names = names(list);
    let mut builder = FormatBuilder::new(definition, false);
    if day.is_some() {
        builder.set_date_known();
    }
    let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    for (name, at) in &names {
        builder.value(variable(name, list_at + at, &all));
    }
    let is_cloudfront = all.contains(&CLOUDFRONT_FIELD);
    let has_commas = list.contains(',') && !list.trim().contains([' ', '\t']);
    let (separator, required) = if is_cloudfront {
        (Separator::Tab, names.len().min(CLOUDFRONT_REQUIRED))
    } else if has_commas {
        (Separator::Comma, names.len())
    } else {
        (Separator::SpacesOrTab, names.len())
    };
    let has = |name: &str| all.iter().any(|other| other.eq_ignore_ascii_case(name));
    let has_local_times = before.contains(LOCAL_TIMES) || has("time-local") && !has("time");
    let mut format = builder.finish_values(|variables| {
        let column = |variable: Variable| Column {
            parts: vec![Part { sink: variable.sink, name: variable.name }],
        };
        Program::Delimited(DelimitedProgram {
            separator,
            columns: variables.into_iter().map(column).collect(),
            required,
            header: None,
            directives: Directives::W3c {
                required_field: is_cloudfront.then_some(CLOUDFRONT_FIELD),
            },
            day,
            kind: kind(&all),
        })
    })?;
    if has_local_times {
        format.set_local_times();
    }
    Ok(format)
}

/// The kind of the records. A firewall's list has an action and a source address, and no field of a
/// request; in the draft the names of all these begin with `cs` or `sc`.
fn kind(all: &[&str]) -> RecordKind {
    let has = |name: &str| all.iter().any(|other| other.eq_ignore_ascii_case(name));
    let is_of_request = |name: &&str| {
        let prefix = name.get(..2).unwrap_or_default();
        prefix.eq_ignore_ascii_case("cs") || prefix.eq_ignore_ascii_case("sc")
    };
    if has("action") && has("src-ip") && !all.iter().any(is_of_request) {
        RecordKind::FirewallEvent
    } else {
        RecordKind::Request
    }
}

/// The names of a list and their offsets in it.
fn names(list: &str) -> Vec<(&str, usize)> {
    let mut names = Vec::new();
    let mut at = 0;
    // Each separator is one byte.
    for name in list.split(|letter: char| letter.is_ascii_whitespace() || letter == ',') {
        if !name.is_empty() {
            names.push((name, at));
        }
        at += name.len() + 1;
    }
    names
}

/// The variable of the field `name` in a list with the fields `all`.
fn variable(name: &str, at: usize, all: &[&str]) -> Variable {
    let (sink, rank) = sink(name, all);
    Variable { sink, rank, name: name.to_owned(), field_name: name.to_owned(), at }
}

/// The sink of a field, and its rank: of several names for one field, the lowest rank fills it.
///
/// `cs-uri` is a target with its query, unless the list has the parts too.
fn sink(name: &str, all: &[&str]) -> (Sink, u8) {
    let has = |name: &str| all.iter().any(|other| other.eq_ignore_ascii_case(name));
    let text = Sink::Text;
    match &name.to_ascii_lowercase()[..] {
        "date" => (Sink::Date, 0),
        "time" => (Sink::TimeOfDay, 0),
        "date-local" if !has("date") => (Sink::Date, 0),
        "time-local" if !has("time") => (Sink::TimeOfDay, 0),
        "c-ip" => (Sink::Client, 0),
        "src-ip" => (Sink::Client, 1),
        "c-dns" => (Sink::Client, 2),
        "cs-username" | "c-auth-id" => (text(Field::User), 0),
        // The host that the client requested is preferred to CloudFront's own name.
        "x-host-header" => (text(Field::Host), 0),
        "cs-host" | "cs(host)" => (text(Field::Host), 1),
        "cs-method" => (text(Field::Method), 0),
        "cs-uri-stem" => (text(Field::Path), 0),
        "cs-uri" if has("cs-uri-stem") => (Sink::Extra(0), 0),
        "cs-uri" if has("cs-uri-query") => (text(Field::Path), 0),
        "cs-uri" => (Sink::PathAndQuery, 0),
        "cs-uri-query" => (Sink::QueryOrDash, 0),
        "cs-version" | "cs-protocol-version" => (text(Field::Protocol), 0),
        "protocol" => (text(Field::Protocol), 1),
        "sc-status" => (Sink::Status, 0),
        "sc-bytes" => (Sink::Bytes, 0),
        "bytes" => (Sink::Bytes, 1),
        "cs(referer)" | "cs(referrer)" => (text(Field::Referer), 0),
        "cs(user-agent)" => (text(Field::UserAgent), 0),
        "time-taken" => (Sink::TimeTaken, 0),
        "timetakenms" => (Sink::TimeTaken, 1),
        _ => (Sink::Extra(0), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::compile;
    use crate::schema::RecordKind;

    #[test]
    fn the_list_of_fields_tells_the_kind() {
        let kind = |list: &str| compile(list).expect("a list").kind();
        let firewall = "#Fields: date time action protocol src-ip dst-ip src-port dst-port size";
        assert_eq!(kind(firewall), RecordKind::FirewallEvent);
        for request in [
            "#Fields: date time c-ip cs-method cs-uri-stem sc-status",
            "#Fields: date time action src-ip cs-method cs-uri",
            "#Fields: date time action",
            "#Fields:",
        ] {
            assert_eq!(kind(request), RecordKind::Request, "{request}");
        }
    }
}
