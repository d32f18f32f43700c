//! Variables of ModSecurity that a line of an access log has.

use std::borrow::Cow;
use std::cell::OnceCell;

use weir_core::{Field, FieldAccessor, PatternBudget, Record, RecordFields};

use super::expression::{Expression, Search};
use super::transform::{normalize_path, percent_decode, url_decode};
use crate::error::Reason;

/// The part of a request that a rule tests.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Uri,
    /// The path and the query as they were sent.
    RawUri,
    RequestLine,
    Method,
    Protocol,
    Filename,
    Basename,
    QueryString,
    /// The values of the query's parameters.
    Arguments(Names),
    ArgumentNames(Names),
    /// A header, or another field of the log by its name in it.
    LogField(String),
    /// One of [`LOGGED_HEADERS`], if the log has it.
    Header(&'static str),
    /// Variables of the transaction.
    Transaction(Names),
    /// The last value that the rule matched so far.
    Matched,
    /// The values that the last link of the chain matched.
    AllMatched,
}

/// The members of a collection that a variable means.
#[derive(Debug, Clone)]
pub(super) enum Names {
    All,
    /// The one with this name, in lower case.
    One(String),
    /// Those whose names an expression matches.
    Matching(Expression),
}

impl Names {
    /// # Errors
    /// If the name is an expression that is not valid.
    fn new(text: Option<&str>, budget: &PatternBudget) -> Result<Self, Reason> {
        let Some(text) = text else { return Ok(Self::All) };
        match text.strip_prefix('/').and_then(|text| text.strip_suffix('/')) {
            Some(expression) => {
                let expression = format!("(?i){expression}");
                Expression::new(&expression, budget).map(Self::Matching)
            }
            None => Ok(Self::One(text.to_ascii_lowercase())),
        }
    }

    /// The name, if only one is meant.
    pub(super) fn single(&self) -> Option<&str> {
        match self {
            Self::One(name) => Some(name),
            Self::All | Self::Matching(_) => None,
        }
    }

    pub(super) fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one.as_bytes().eq_ignore_ascii_case(name),
            Self::Matching(expression) => {
                matches!(expression.search(name, false), Search::Match(_))
            }
        }
    }
}

/// The fields with the headers that most logs have.
pub(super) const LOGGED_HEADERS: [&str; 3] = ["user_agent", "referer", "host"];

/// A variable of a rule.
#[derive(Debug, Clone)]
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
pub(super) fn variables(
    text: &str,
    budget: &PatternBudget,
) -> Result<(Vec<Variable>, Vec<String>), Reason> {
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for text in split_variables(text) {
        match variable(text, budget) {
            Ok(variable) => {
                let may_lack = match &variable.source {
                    Source::LogField(name) => name.starts_with("http_"),
                    _ => false,
                };
                missing.extend(Some(text.to_owned()).filter(|_| may_lack && !variable.is_excluded));
                known.push(variable);
            }
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
        // One of them is enough to say which part of a request the rule is about.
        let first = missing.first().map_or("", |name| name.trim_start_matches('&'));
        let collection = first.split_once([':', '/']).map_or(first, |(collection, _)| collection);
        return Err(format!("`{collection}` is not in an access log").into());
    }
    Ok((known, missing))
}

/// The most bytes of an expression of names.
const NAME_EXPRESSION_BYTES_MAX: usize = 1_000;

/// The variables of a list, without the space around them. An expression of names, between
/// slashes, may have the mark that separates them.
pub(super) fn split_variables(text: &str) -> Vec<&str> {
    let (mut variables, mut rest) = (Vec::new(), text);
    loop {
        let end = rest.find(['|', ',']).unwrap_or(rest.len());
        let end = rest[..end].find(':').and_then(|at| expression_end(rest, at + 1)).unwrap_or(end);
        variables.push(rest[..end].trim());
        match rest.get(end + 1..) {
            Some(after) => rest = after,
            None => return variables,
        }
    }
}

/// The end of the expression of names, such as `/^a|b$/`, that begins at `start`.
fn expression_end(text: &str, start: usize) -> Option<usize> {
    let is_path = text.get(..start)?.trim_start_matches(['!', '&']).eq_ignore_ascii_case("XML:");
    let quote = text[start..].starts_with('\'');
    let opening = start + usize::from(quote);
    if is_path || !text[opening..].starts_with('/') {
        return None;
    }
    let bytes = text.as_bytes();
    let last = bytes.len().min(opening + NAME_EXPRESSION_BYTES_MAX);
    let ends = |at: usize| matches!(bytes.get(at), None | Some(b'|' | b','));
    let closes = |at: &usize| {
        let after = at + 1 + usize::from(quote && bytes.get(at + 1) == Some(&b'\''));
        bytes[*at] == b'/' && bytes[at - 1] != b'\\' && ends(after)
    };
    let closing = (opening + 1..last).find(closes)?;
    Some(closing + 1 + usize::from(quote))
}

/// Reads a variable.
///
/// # Errors
/// The reason, if an access log does not have it.
pub(super) fn variable(whole: &str, budget: &PatternBudget) -> Result<Variable, Reason> {
    let (is_excluded, text) = flag(whole, '!');
    let (is_count, text) = flag(text, '&');
    let (name, part) = match text.split_once(':') {
        Some((name, part)) => (name, Some(part.trim_matches('\''))),
        None => (text, None),
    };
    let source = match (name.to_ascii_uppercase().as_str(), part) {
        ("REQUEST_URI", None) => Source::Uri,
        ("REQUEST_URI_RAW", None) => Source::RawUri,
        ("REQUEST_LINE", None) => Source::RequestLine,
        ("REQUEST_METHOD", None) => Source::Method,
        ("REQUEST_PROTOCOL", None) => Source::Protocol,
        ("REQUEST_FILENAME", None) => Source::Filename,
        ("REQUEST_BASENAME", None) => Source::Basename,
        ("QUERY_STRING", None) => Source::QueryString,
        ("ARGS" | "ARGS_GET", part) => Source::Arguments(Names::new(part, budget)?),
        ("ARGS_NAMES" | "ARGS_GET_NAMES", part) => Source::ArgumentNames(Names::new(part, budget)?),
        ("REMOTE_ADDR", None) => Source::LogField("client".to_owned()),
        ("REMOTE_USER", None) => Source::LogField("user".to_owned()),
        ("REQUEST_HEADERS", Some(header)) => Source::LogField(header_field(header)),
        ("RESPONSE_STATUS", None) => Source::LogField("status".to_owned()),
        ("TX", part) => Source::Transaction(Names::new(part, budget)?),
        ("MATCHED_VAR", None) => Source::Matched,
        ("MATCHED_VARS", None) => Source::AllMatched,
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
        Source::Header(_) => return None,
        source if source.is_derived() => return None,
        Source::LogField(name) => name,
        Source::Method => "method",
        Source::Protocol => "protocol",
        _ => "path",
    })
}

impl Source {
    /// Whether it is computed by the rules, and not a part of the request.
    pub(super) fn is_derived(&self) -> bool {
        matches!(self, Self::Transaction(_) | Self::Matched | Self::AllMatched)
    }

    /// Whether an exclusion of this source excludes a member of another one.
    fn covers(&self, other: &Self, name: &[u8]) -> bool {
        match (self, other) {
            (Self::Arguments(names), Self::Arguments(_))
            | (Self::ArgumentNames(names), Self::ArgumentNames(_)) => names.has(name),
            (Self::LogField(field), Self::LogField(other)) => field == other,
            (Self::LogField(field), Self::Header(other)) => field == other,
            (Self::Header(field), Self::Header(other)) => field == other,
            (Self::Header(field), Self::LogField(other)) => field == other,
            (Self::Arguments(_) | Self::ArgumentNames(_) | Self::Transaction(_), _) => false,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The request of a record, as ModSecurity sees it: without the escapes of the log.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) method: Vec<u8>,
    pub(super) protocol: Vec<u8>,
    pub(super) path: Vec<u8>,
    /// Whether the path of `REQUEST_URI`, `REQUEST_FILENAME` and `REQUEST_BASENAME` is decoded and
    /// without dot segments. Apache does it after phase 1.
    pub(super) is_decoded: bool,
    pub(super) query: Option<Vec<u8>>,
    /// The whole line, if it is not a valid request line.
    pub(super) line: Option<Vec<u8>>,
    /// See [`Self::arguments`].
    arguments: OnceCell<Vec<(Vec<u8>, Vec<u8>)>>,
}

/// The most parameters of a query that are tested: `SecArgumentsLimit` of ModSecurity 2.9.7.
const ARGUMENTS_MAX: usize = 1_000;

impl Request {
    pub(super) fn new(record: &Record<'_>) -> Self {
        let text = |field| record.text(field).map(|text| unescaped(text).into_owned());
        Self {
            method: text(Field::Method).unwrap_or_default(),
            protocol: text(Field::Protocol).unwrap_or_default(),
            path: text(Field::Path).unwrap_or_default(),
            is_decoded: false,
            query: text(Field::Query),
            line: text(Field::Request),
            arguments: OnceCell::new(),
        }
    }

    fn filename(&self) -> Vec<u8> {
        if self.is_decoded && self.path.starts_with(b"/") {
            normalize_path(&percent_decode(&self.path))
        } else {
            self.path.clone()
        }
    }

    fn uri(&self, path: &[u8]) -> Vec<u8> {
        let mut uri = path.to_vec();
        if let Some(query) = &self.query {
            uri.push(b'?');
            uri.extend_from_slice(query);
        }
        uri
    }

    /// The names and values of the query's parameters, decoded.
    fn arguments(&self) -> &[(Vec<u8>, Vec<u8>)] {
        self.arguments.get_or_init(|| self.decoded_arguments())
    }

    fn decoded_arguments(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let query = self.query.as_deref().unwrap_or_default();
        let pairs = query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        let decoded = |text: &[u8]| url_decode(text, false);
        let pair = |pair: &[u8]| match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (decoded(&pair[..at]), decoded(&pair[at + 1..])),
            None => (decoded(pair), Vec::new()),
        };
        pairs.take(ARGUMENTS_MAX).map(pair).collect()
    }

    /// The values of a source, except those of the transaction.
    pub(super) fn values(
        &self,
        source: &Source,
        record: &Record<'_>,
        fields: &RecordFields,
        excluded: &[&Source],
    ) -> Vec<Vec<u8>> {
        let is_excluded = |name: &[u8]| excluded.iter().any(|other| other.covers(source, name));
        let arguments = |names: &Names| {
            let pairs = self.arguments().iter();
            pairs.filter(|(name, _)| names.has(name) && !is_excluded(name)).collect::<Vec<_>>()
        };
        if !matches!(source, Source::Arguments(_) | Source::ArgumentNames(_)) && is_excluded(b"") {
            return Vec::new();
        }
        match source {
            Source::Uri => vec![self.uri(&self.filename())],
            Source::RawUri => vec![self.uri(&self.path)],
            Source::RequestLine => vec![match &self.line {
                Some(line) => line.clone(),
                None => [&self.method[..], &self.uri(&self.path), &self.protocol].join(&b' '),
            }],
            Source::Method => vec![self.method.clone()],
            Source::Protocol => vec![self.protocol.clone()],
            Source::Filename => vec![self.filename()],
            Source::Basename => {
                let path = self.filename();
                let from = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
                vec![path[from..].to_vec()]
            }
            Source::QueryString => vec![self.query.clone().unwrap_or_default()],
            Source::Arguments(names) => {
                arguments(names).into_iter().map(|it| it.1.clone()).collect()
            }
            Source::ArgumentNames(names) => {
                arguments(names).into_iter().map(|it| it.0.clone()).collect()
            }
            Source::LogField(name) => field(name, record, fields).into_iter().collect(),
            Source::Header(name) => field(name, record, fields).into_iter().collect(),
            Source::Transaction(_) | Source::Matched | Source::AllMatched => Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::split_variables;

    #[test]
    fn expressions_of_names_may_have_the_mark_between_variables() {
        for (text, expected) in [
            ("ARGS|!ARGS:q , &TX:a", &["ARGS", "!ARGS:q", "&TX:a"][..]),
            ("!ARGS:/^(?:a|b,c)$/|XML:/*|ARGS", &["!ARGS:/^(?:a|b,c)$/", "XML:/*", "ARGS"]),
            (r"ARGS:'/a\/|b/'|TX:/c/", &[r"ARGS:'/a\/|b/'", "TX:/c/"]),
            ("REQUEST_COOKIES:/x|ARGS", &["REQUEST_COOKIES:/x", "ARGS"]),
            ("ARGS:/", &["ARGS:/"]),
            ("ARGS:'/é/'é|", &["ARGS:'/é/'é", ""]),
            ("", &[""]),
        ] {
            assert_eq!(split_variables(text), expected, "{text}");
        }
    }
}
