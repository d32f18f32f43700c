//! Variables of ModSecurity that a line of an access log has.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use weir_core::{Field, PatternBudget, Record};

use super::binding::Binding;
use super::expression::{Expression, Search};
use super::transaction::Value;
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
    /// The last value that any rule matched so far.
    Matched,
    /// The values that the links of the chain matched so far.
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

/// The field with the address of the client.
pub(super) const CLIENT: &str = "client";

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
            Ok(variable) => known.push(variable),
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
        ("REMOTE_ADDR", None) => Source::LogField(CLIENT.to_owned()),
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
        source if source.is_derived() => return None,
        Source::Header(name) => name,
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
pub(super) struct Request<'a> {
    record: &'a Record<'a>,
    binding: &'a Binding,
    method: Value,
    protocol: Value,
    path: Value,
    /// Whether the path of `REQUEST_URI`, `REQUEST_FILENAME` and `REQUEST_BASENAME` is decoded and
    /// without dot segments. Apache does it after phase 1.
    is_decoded: bool,
    query: Option<Value>,
    /// The whole line, if it is not a valid request line.
    line: Option<Value>,
    /// See [`Self::arguments`].
    arguments: OnceCell<Vec<(Value, Value)>>,
    uri: OnceCell<Value>,
    raw_uri: OnceCell<Value>,
    request_line: OnceCell<Value>,
    filename: OnceCell<Value>,
    basename: OnceCell<Value>,
    /// The values of fields of the log, by name.
    fields: RefCell<HashMap<String, Option<Value>>>,
}

/// The most parameters of a query that are tested: `SecArgumentsLimit` of ModSecurity 2.9.7.
const ARGUMENTS_MAX: usize = 1_000;

impl<'a> Request<'a> {
    pub(super) fn new(record: &'a Record<'a>, binding: &'a Binding) -> Self {
        let text = |field| record.text(field).map(|text| unescaped(text).into());
        Self {
            record,
            binding,
            method: text(Field::Method).unwrap_or_default(),
            protocol: text(Field::Protocol).unwrap_or_default(),
            path: text(Field::Path).unwrap_or_default(),
            is_decoded: false,
            query: text(Field::Query),
            line: text(Field::Request),
            arguments: OnceCell::new(),
            uri: OnceCell::new(),
            raw_uri: OnceCell::new(),
            request_line: OnceCell::new(),
            filename: OnceCell::new(),
            basename: OnceCell::new(),
            fields: RefCell::default(),
        }
    }

    /// Decodes the path.
    pub(super) fn decode(&mut self) {
        self.is_decoded = true;
        for part in [&mut self.uri, &mut self.filename, &mut self.basename] {
            part.take();
        }
    }

    fn filename(&self) -> &Value {
        self.filename.get_or_init(|| {
            if self.is_decoded && self.path.starts_with(b"/") {
                normalize_path(&percent_decode(&self.path)).into()
            } else {
                self.path.clone()
            }
        })
    }

    fn basename(&self) -> &Value {
        self.basename.get_or_init(|| {
            let path = self.filename();
            let from = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
            path[from..].into()
        })
    }

    fn with_query(&self, path: &Value) -> Value {
        match &self.query {
            Some(query) => [path, query].map(|part| &part[..]).join(&b'?').into(),
            None => path.clone(),
        }
    }

    fn raw_uri(&self) -> &Value {
        self.raw_uri.get_or_init(|| self.with_query(&self.path))
    }

    fn request_line(&self) -> &Value {
        self.request_line.get_or_init(|| match &self.line {
            Some(line) => line.clone(),
            None => [&self.method[..], self.raw_uri(), &self.protocol].join(&b' ').into(),
        })
    }

    /// The names and values of the query's parameters, decoded.
    fn arguments(&self) -> &[(Value, Value)] {
        self.arguments.get_or_init(|| {
            let query = self.query.as_deref().unwrap_or_default();
            let pairs = query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
            let decoded = |text: &[u8]| Value::from(url_decode(text, false));
            let pair = |pair: &[u8]| match pair.iter().position(|byte| *byte == b'=') {
                Some(at) => (decoded(&pair[..at]), decoded(&pair[at + 1..])),
                None => (decoded(pair), Value::default()),
            };
            pairs.take(ARGUMENTS_MAX).map(pair).collect()
        })
    }

    /// The value of a field of the log.
    fn field(&self, name: &str) -> Option<Value> {
        if let Some(known) = self.fields.borrow().get(name) {
            return known.clone();
        }
        let value = self.binding.accessor(name).and_then(|accessor| accessor.value(self.record));
        let value = value.filter(|value| value.as_ref() != b"-");
        let value = value.map(|value| Value::from(unescaped(&value)));
        self.fields.borrow_mut().insert(name.to_owned(), value.clone());
        value
    }

    /// The address of the client.
    pub(super) fn client(&self) -> Value {
        self.field(CLIENT).unwrap_or_default()
    }

    /// The number of members that are compared with the names of a source.
    pub(super) fn members(&self, source: &Source) -> usize {
        match source {
            Source::Arguments(_) | Source::ArgumentNames(_) => self.arguments().len(),
            _ => 1,
        }
    }

    /// The values of a source, except those of the transaction.
    pub(super) fn values(&self, source: &Source, excluded: &[&Source]) -> Vec<Value> {
        let is_excluded = |name: &[u8]| excluded.iter().any(|other| other.covers(source, name));
        let arguments = |names: &Names, choose: fn(&(Value, Value)) -> &Value| {
            let pairs = self.arguments().iter();
            let pairs = pairs.filter(|(name, _)| names.has(name) && !is_excluded(name));
            pairs.map(|pair| choose(pair).clone()).collect()
        };
        match source {
            Source::Arguments(names) => return arguments(names, |pair| &pair.1),
            Source::ArgumentNames(names) => return arguments(names, |pair| &pair.0),
            _ if is_excluded(b"") => return Vec::new(),
            _ => {}
        }
        let value = match source {
            Source::Uri => self.uri.get_or_init(|| self.with_query(self.filename())).clone(),
            Source::RawUri => self.raw_uri().clone(),
            Source::RequestLine => self.request_line().clone(),
            Source::Method => self.method.clone(),
            Source::Protocol => self.protocol.clone(),
            Source::Filename => self.filename().clone(),
            Source::Basename => self.basename().clone(),
            Source::QueryString => self.query.clone().unwrap_or_default(),
            Source::LogField(name) => return self.field(name).into_iter().collect(),
            Source::Header(name) => return self.field(name).into_iter().collect(),
            Source::Arguments(_)
            | Source::ArgumentNames(_)
            | Source::Transaction(_)
            | Source::Matched
            | Source::AllMatched => return Vec::new(),
        };
        vec![value]
    }
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
