//! The request of a record, as a policy sees it.

use std::borrow::Cow;

use weir_core::{Field, Record, RecordFields};

use super::cel::{Value, Variables};
use super::policy::Condition;

/// A request, and its weight if that is known.
pub(super) struct Request<'a> {
    record: &'a Record<'a>,
    fields: &'a RecordFields,
    /// The path without its escapes.
    path: Vec<u8>,
    weight: Option<i64>,
}

impl<'a> Request<'a> {
    pub(super) fn new(record: &'a Record<'a>, fields: &'a RecordFields) -> Self {
        let path = decoded(record.text(Field::Path).unwrap_or_default(), false);
        Self { record, fields, path, weight: None }
    }

    /// Sets the weight for the expressions of thresholds.
    pub(super) fn weigh(&mut self, weight: i64) {
        self.weight = Some(weight);
    }

    pub(super) fn client(&self) -> &'a [u8] {
        self.record.text(Field::Client).unwrap_or_default()
    }

    /// Whether a condition is fulfilled; `None` if the log does not tell it.
    pub(super) fn fulfils(&self, condition: &Condition) -> Option<bool> {
        match condition {
            Condition::Path(regex) => Some(regex.is_match(&self.path)),
            Condition::Header(name, None) => {
                self.header(name.as_bytes()).map(|value| !value.is_empty())
            }
            Condition::Header(name, Some(regex)) => {
                self.header(name.as_bytes()).map(|value| regex.is_match(&value))
            }
            Condition::Addresses(networks) => Some(networks.first(self.client()).is_some()),
            Condition::All(expressions) => {
                all(expressions.iter().map(|expression| expression.evaluate(self)))
            }
            Condition::Any(expressions) => {
                let fails = |it: Option<bool>| it.map(|is_true| !is_true);
                let none = expressions.iter().map(|expression| fails(expression.evaluate(self)));
                fails(all(none))
            }
        }
    }

    /// The value of a field; `None` if the log does not have it, and empty if it has no value.
    fn field(&self, name: &str) -> Option<Vec<u8>> {
        let accessor = self.fields.accessor(name).ok()?;
        let value = accessor.value(self.record).filter(|value| value.as_ref() != b"-");
        Some(value.map(Cow::into_owned).unwrap_or_default())
    }

    fn text(&self, field: &str) -> Value {
        self.field(field).map_or(Value::Unknown, Value::Text)
    }

    fn pairs(&self) -> impl Iterator<Item = (Vec<u8>, &'a [u8])> {
        let query = self.record.text(Field::Query).unwrap_or_default();
        let pairs = query.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (decoded(&pair[..at], true), pair.get(at + 1..).unwrap_or_default())
        })
    }
}

/// Whether all are true; one that is false decides it.
pub(super) fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut are_known = true;
    for part in parts {
        match part {
            Some(false) => return Some(false),
            Some(true) => {}
            None => are_known = false,
        }
    }
    are_known.then_some(true)
}

impl Variables for Request<'_> {
    fn variable(&self, name: &str) -> Value {
        match name {
            "remoteAddress" => Value::Text(self.client().to_vec()),
            "host" => self.text("host"),
            "method" => self.text("method"),
            "userAgent" => self.text("user_agent"),
            "path" => Value::Text(self.path.clone()),
            "headers" => Value::Headers,
            "query" => Value::Query,
            "weight" => self.weight.map_or(Value::Unknown, Value::Integer),
            _ => Value::Unknown,
        }
    }

    fn header(&self, name: &[u8]) -> Option<Vec<u8>> {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase().replace('-', "_");
        match name.as_str() {
            "user_agent" | "referer" | "host" => self.field(&name),
            name => self.field(&format!("http_{name}")),
        }
    }

    fn parameter(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (_, value) = self.pairs().find(|(known, _)| known == name)?;
        Some(decoded(value, true))
    }

    fn parameters(&self) -> usize {
        let mut names: Vec<Vec<u8>> = self.pairs().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }
}

/// A text without its percent-encoding; in a query, `+` is a space.
fn decoded(text: &[u8], is_query: bool) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let escaped = match (byte, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                plain.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            None => {
                plain.push(if is_query && *byte == b'+' { b' ' } else { *byte });
                rest = after;
            }
        }
    }
    plain
}
