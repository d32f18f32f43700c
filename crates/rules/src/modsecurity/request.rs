//! The parts of a request, as ModSecurity sees them.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use weir_core::{Field, Record};

use super::binding::Binding;
use super::transaction::Value;
use super::transform::{normalize_path, percent_decode, url_decode};
use super::variable::{CLIENT, Names, Source};

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
        let text = |field| record.text(field).map(|text| binding.plain(text).into());
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
        let value = value.map(|value| Value::from(self.binding.plain(&value)));
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

impl Binding {
    /// A text of the log as it was in the request.
    fn plain<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.has_plain_texts { Cow::Borrowed(text) } else { unescaped(text) }
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
