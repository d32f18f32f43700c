//! The W3C extended log format, whose `#Fields:` directive says what the values are.
//!
//! Sources: the working draft WD-logfile-960323 (<https://www.w3.org/TR/WD-logfile.html>),
//! and the manuals of IIS (W3C logging), of CloudFront (standard logs), of the Windows
//! firewall, and of others who write it.

use super::builder::{FormatBuilder, Variable};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::error::FormatError;
use crate::format::program::Program;
use crate::format::program::delimited::{Column, DelimitedProgram, Directives, Part, Separator};
use crate::format::program::directive::{DATE, FIELDS};
use crate::format::program::sink::Sink;
use crate::value::parse_day;

/// The field that CloudFront's lists have and others do not.
const CLOUDFRONT_FIELD: &str = "x-edge-location";
/// CloudFront's lists have grown at their end: behind the first twelve values a line may end.
const CLOUDFRONT_REQUIRED: usize = 12;

/// True for a definition of this kind: directives as they stand in a log.
pub(super) fn is_directives(text: &str) -> bool {
    text.starts_with(FIELDS) || text.starts_with(DATE)
}

/// Compiles `#Fields:` and a list of fields, with `#Date:` in front of it where lines have a
/// time of day alone. Without a list it is the format of a log that has not said yet what its
/// values are.
pub(in crate::format) fn compile(definition: &str) -> Result<Format, FormatError> {
    let fields_at = definition.find(FIELDS).unwrap_or(definition.len());
    let date = definition[..fields_at].trim().strip_prefix(DATE).map(str::trim);
    let day = date.and_then(|text| parse_day(text.get(..10)?.as_bytes()));
    let list_at = (fields_at + FIELDS.len()).min(definition.len());
    let names = names(definition, list_at);
    let mut builder = FormatBuilder::new(definition, false);
    if day.is_some() {
        builder.know_date();
    }
    let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    for (name, at) in &names {
        builder.value(variable(name, *at, &all));
    }
    let is_cloudfront = all.contains(&CLOUDFRONT_FIELD);
    let list = &definition[list_at..];
    let separator = match is_cloudfront {
        true => Separator::Tab,
        false if list.contains(',') && !list.trim().contains([' ', '\t']) => Separator::Comma,
        false => Separator::SpacesOrTab,
    };
    let required = match is_cloudfront {
        true => names.len().min(CLOUDFRONT_REQUIRED),
        false => names.len(),
    };
    builder.finish_values(|variables| {
        let column = |variable: Variable| Column {
            parts: vec![Part { sink: variable.sink, name: variable.name }],
        };
        Program::Delimited(DelimitedProgram {
            separator,
            columns: variables.into_iter().map(column).collect(),
            required,
            directives: Directives::W3c { needs: is_cloudfront.then_some(CLOUDFRONT_FIELD) },
            day,
        })
    })
}

/// The names of a list and where they stand in the definition.
fn names(definition: &str, list_at: usize) -> Vec<(&str, usize)> {
    let list = &definition[list_at..];
    let is_between = |letter: char| letter.is_ascii_whitespace() || letter == ',';
    let start = |name: &str| name.as_ptr() as usize - definition.as_ptr() as usize;
    list.split(is_between).filter(|name| !name.is_empty()).map(|name| (name, start(name))).collect()
}

/// What a field of a list means, among the others of the list.
fn variable(name: &str, at: usize, all: &[&str]) -> Variable {
    let (sink, rank) = sink(name, all);
    Variable { sink, rank, name: name.to_owned(), field_name: name.to_owned(), at }
}

/// The meaning of a name, and its rank among several for one field: the lowest fills it.
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
        // What the client asked for, before the name of CloudFront's own.
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
