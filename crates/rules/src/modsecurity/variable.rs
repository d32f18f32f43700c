//! Variables of ModSecurity that a line of an access log has.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, RecordFields};

use super::transform::url_decode;
use crate::error::Reason;

/// The part of a request that a rule tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    Uri,
    RequestLine,
    Method,
    Protocol,
    Filename,
    Basename,
    QueryString,
    /// The values of the query's parameters; of one of them if it is named.
    Arguments(Option<String>),
    ArgumentNames,
    /// A header, or another field of the log by its name in it.
    LogField(String),
    /// One of [`LOGGED_HEADERS`], if the log has it.
    Header(&'static str),
    /// A variable of the transaction.
    Transaction(String),
}

/// The fields with the headers that most logs have.
const LOGGED_HEADERS: [&str; 3] = ["user_agent", "referer", "host"];

/// A variable of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) source: Source,
    /// Whether the variable is the number of values.
    pub(super) is_count: bool,
    /// Whether its values are excluded from those of the others.
    pub(super) is_excluded: bool,
}

/// Reads the variables of a rule. Returns those that an access log has, and the others by name.
///
/// # Errors
/// The reason, if an access log has none of the variables, or lacks an excluded one.
pub(super) fn variables(text: &str) -> Result<(Vec<Variable>, Vec<String>), Reason> {
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for text in text.split('|').map(str::trim) {
        match variable(text) {
            Ok(variable) => {
                let may_lack = match &variable.source {
                    Source::LogField(name) => name.starts_with("http_"),
                    _ => false,
                };
                missing.extend(Some(text.to_owned()).filter(|_| may_lack && !variable.is_excluded));
                known.push(variable);
            }
            Err(reason) if text.starts_with("!ARGS") => return Err(reason),
            Err(_) if text.starts_with('!') => {}
            Err(_) if text == "REQUEST_HEADERS" => {
                missing.push(text.to_owned());
                known.extend(LOGGED_HEADERS.map(|field| Variable {
                    source: Source::Header(field),
                    is_count: false,
                    is_excluded: false,
                }));
            }
            Err(_) => missing.push(text.to_owned()),
        }
    }
    if known.iter().all(|variable| variable.is_excluded) {
        return Err(format!("{} is not in an access log", missing.join(", ")).into());
    }
    Ok((known, missing))
}

fn variable(whole: &str) -> Result<Variable, Reason> {
    let (is_excluded, text) = flag(whole, '!');
    let (is_count, text) = flag(text, '&');
    let (name, part) = match text.split_once(':') {
        Some((name, part)) => (name, Some(part.trim_matches('\''))),
        None => (text, None),
    };
    let source = match (name.to_ascii_uppercase().as_str(), part) {
        ("REQUEST_URI" | "REQUEST_URI_RAW", None) => Source::Uri,
        ("REQUEST_LINE", None) => Source::RequestLine,
        ("REQUEST_METHOD", None) => Source::Method,
        ("REQUEST_PROTOCOL", None) => Source::Protocol,
        ("REQUEST_FILENAME", None) => Source::Filename,
        ("REQUEST_BASENAME", None) => Source::Basename,
        ("QUERY_STRING", None) => Source::QueryString,
        ("ARGS" | "ARGS_GET", part) if part.is_none_or(|part| !part.starts_with('/')) => {
            Source::Arguments(part.map(str::to_owned))
        }
        ("ARGS_NAMES" | "ARGS_GET_NAMES", None) => Source::ArgumentNames,
        ("REMOTE_ADDR", None) => Source::LogField("client".to_owned()),
        ("REMOTE_USER", None) => Source::LogField("user".to_owned()),
        ("REQUEST_HEADERS", Some(header)) => Source::LogField(header_field(header)),
        ("TX", Some(name))
            if !name.starts_with(|next: char| next == '/' || next.is_ascii_digit()) =>
        {
            Source::Transaction(name.to_ascii_lowercase())
        }
        _ => return Err(format!("{text} is not in an access log").into()),
    };
    Ok(Variable { source, is_count, is_excluded })
}

fn flag(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(text) => (true, text),
        None => (false, text),
    }
}

fn header_field(name: &str) -> String {
    match name.to_ascii_lowercase().replace('-', "_").as_str() {
        "host" => "host".to_owned(),
        "user_agent" => "user_agent".to_owned(),
        "referer" => "referer".to_owned(),
        other => format!("http_{other}"),
    }
}

/// The field that a source needs.
pub(super) fn needed_field(source: &Source) -> Option<&str> {
    Some(match source {
        Source::Transaction(_) | Source::Header(_) => return None,
        Source::LogField(name) => name,
        Source::Method => "method",
        Source::Protocol => "protocol",
        _ => "path",
    })
}

/// The request of a record, as ModSecurity sees it: without the escapes of the log.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: Vec<u8>,
    pub(super) protocol: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) query: Option<Vec<u8>>,
    /// The whole line, if it is not a valid request line.
    pub(super) line: Option<Vec<u8>>,
}

impl Request {
    pub(super) fn new(record: &Record<'_>) -> Self {
        let text = |field| record.text(field).map(|text| unescaped(text).into_owned());
        Self {
            method: text(Field::Method).unwrap_or_default(),
            protocol: text(Field::Protocol).unwrap_or_default(),
            path: text(Field::Path).unwrap_or_default(),
            query: text(Field::Query),
            line: text(Field::Request),
        }
    }

    fn uri(&self) -> Vec<u8> {
        let mut uri = self.path.clone();
        if let Some(query) = &self.query {
            uri.push(b'?');
            uri.extend_from_slice(query);
        }
        uri
    }

    /// The names and values of the query's parameters, decoded.
    fn arguments(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let query = self.query.as_deref().unwrap_or_default();
        let pairs = query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let decoded = |text: &[u8]| url_decode(text, false);
        let pair = |pair: &[u8]| match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (decoded(&pair[..at]), decoded(&pair[at + 1..])),
            None => (decoded(pair), Vec::new()),
        };
        pairs.map(pair).collect()
    }

    /// The values of a source, except those of the transaction.
    pub(super) fn values(
        &self,
        source: &Source,
        record: &Record<'_>,
        fields: &RecordFields,
        excluded: &[&Source],
    ) -> Vec<Vec<u8>> {
        let is_excluded = |name: &[u8]| {
            excluded.iter().any(|other| match other {
                Source::Arguments(Some(other)) => other.as_bytes().eq_ignore_ascii_case(name),
                _ => false,
            })
        };
        let arguments = || self.arguments().into_iter().filter(|(name, _)| !is_excluded(name));
        match source {
            Source::Uri => vec![self.uri()],
            Source::RequestLine => vec![match &self.line {
                Some(line) => line.clone(),
                None => [&self.method[..], &self.uri(), &self.protocol].join(&b' '),
            }],
            Source::Method => vec![self.method.clone()],
            Source::Protocol => vec![self.protocol.clone()],
            Source::Filename => vec![self.path.clone()],
            Source::Basename => {
                let from = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
                vec![self.path[from..].to_vec()]
            }
            Source::QueryString => vec![self.query.clone().unwrap_or_default()],
            Source::Arguments(None) => arguments().map(|(_, value)| value).collect(),
            Source::Arguments(Some(named)) => arguments()
                .filter(|(name, _)| name.eq_ignore_ascii_case(named.as_bytes()))
                .map(|(_, value)| value)
                .collect(),
            Source::ArgumentNames => arguments().map(|(name, _)| name).collect(),
            Source::LogField(name) => field(name, record, fields).into_iter().collect(),
            Source::Header(name) if excluded.contains(&&Source::LogField((*name).to_owned())) => {
                Vec::new()
            }
            Source::Header(name) => field(name, record, fields).into_iter().collect(),
            Source::Transaction(_) => Vec::new(),
        }
    }
}

/// The value of a field of the log.
fn field(name: &str, record: &Record<'_>, fields: &RecordFields) -> Option<Vec<u8>> {
    let accessor: FieldAccessor = fields.accessor(name).ok()?;
    let value = accessor.value(record).filter(|value| value.as_ref() != b"-")?;
    Some(unescaped(&value).into_owned())
}

/// A text without the escapes that nginx and Apache write: `\xhh`, `\"` and `\\`.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    while let Some(byte) = text.get(at) {
        let (value, length) = match (byte, text.get(at + 1)) {
            (b'\\', Some(b'x')) => match (digit(at + 2), digit(at + 3)) {
                (Some(high), Some(low)) => ((high * 16 + low) as u8, 4),
                _ => (*byte, 1),
            },
            (b'\\', Some(next @ (b'"' | b'\\'))) => (*next, 2),
            _ => (*byte, 1),
        };
        plain.push(value);
        at += length;
    }
    Cow::Owned(plain)
}
