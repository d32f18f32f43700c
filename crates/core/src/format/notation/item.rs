//! The description of a value in a definition: `field`, `field(kind)`, or `field=column(kind)` if
//! the log has another name for it.
//!
//! The notations of our own and the kinds in nginx's braces share this syntax:
//!
//! | item | field | name in the log | kind |
//! |---|---|---|---|
//! | `status` | `status` | `status` | |
//! | `status=code` | `status` | `code` | |
//! | `request_time(ms)` | `request_time` | `request_time` | `ms` |
//! | `time=ts(%d.%m.%y %T)` | `time` | `ts` | a strftime pattern |
//! | `_` | none: skipped | | |

use std::sync::Arc;

use super::builder::Variable;
use crate::field::Field;
use crate::format::error::FormatError;
use crate::format::program::sink::Sink;
use crate::value::{Strftime, TimeKind};

/// A description of a value, and its offset in the definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'a> {
    pub(super) definition: &'a str,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Item<'a> {
    /// An error at the item's place in the definition.
    fn error(&self, message: impl Into<String>) -> FormatError {
        FormatError::new(self.definition, self.at, message)
    }

    /// The name in the log.
    pub(super) fn column(&self) -> &'a str {
        self.parts().1
    }

    /// Field, column and kind.
    fn parts(&self) -> (&'a str, &'a str, Option<&'a str>) {
        let (name, kind) = match self.text.split_once('(') {
            Some((name, rest)) => match rest.strip_suffix(')') {
                Some(kind) => (name, Some(kind)),
                None => (self.text, None),
            },
            None => (self.text, None),
        };
        let (field, column) = name.split_once('=').unwrap_or((name, name));
        (field.trim(), column.trim(), kind)
    }

    /// The value that the item describes.
    ///
    /// # Errors
    /// If it has no name, or if the field has no such kind.
    pub(super) fn variable(&self) -> Result<Variable, FormatError> {
        let (field, column, kind) = self.parts();
        if field.is_empty() || column.is_empty() {
            return Err(self.error("the name of a field is missing; write `_` to skip a value"));
        }
        let sink = match field {
            "_" => Sink::Skip,
            _ => self.sink(Field::by_name(field), kind)?,
        };
        Ok(Variable {
            sink,
            rank: 0,
            name: column.to_owned(),
            field_name: field.to_owned(),
            at: self.at,
        })
    }

    /// The sink of a field, or of an extra field, for values of this kind.
    fn sink(&self, field: Option<Field>, kind: Option<&str>) -> Result<Sink, FormatError> {
        let refused = |kinds: &str| {
            let kind = kind.unwrap_or_default();
            Err(self.error(format!("`{kind}` is not a kind of this field; write {kinds}")))
        };
        let unit_ns = |kind: &str| match kind {
            "s" => Some(1_000_000_000),
            "ms" => Some(1_000_000),
            "us" => Some(1_000),
            "ns" => Some(1),
            "unit" => Some(0),
            _ => None,
        };
        Ok(match (field, kind) {
            (Some(Field::Time), None) => Sink::Time(TimeKind::Any),
            (Some(Field::Time), Some(pattern)) => self.strftime(pattern)?,
            (Some(Field::RequestTime), Some("sum")) => {
                Sink::RequestTimePart { unit_ns: 1_000_000_000 }
            }
            (Some(Field::UpstreamTime), Some("sum")) => {
                Sink::UpstreamTimePart { unit_ns: 1_000_000_000 }
            }
            (Some(field), kind) if Field::DURATIONS.contains(&field) => {
                match unit_ns(kind.unwrap_or("s")) {
                    Some(unit_ns) => Sink::duration(field, unit_ns),
                    None if matches!(field, Field::RequestTime | Field::UpstreamTime) => {
                        return refused("(s), (ms), (us), (ns), (unit) or (sum)");
                    }
                    None => return refused("(s), (ms), (us), (ns) or (unit)"),
                }
            }
            (Some(Field::Client), None) => Sink::Client,
            (Some(Field::Client), Some("port")) => Sink::ClientAndPort { port: 0 },
            (Some(Field::Host), Some("port")) => Sink::HostAndPort { port: 0 },
            (Some(Field::Host), Some("full")) => Sink::FullHost,
            (Some(Field::Path), None) => Sink::PathAndQuery,
            (Some(Field::Path), Some("url")) => Sink::Url,
            (Some(Field::Path), Some("stem")) => Sink::Text(Field::Path),
            (Some(Field::Request), None) => Sink::RequestLine,
            (Some(Field::Request), Some("url")) => Sink::UrlRequestLine,
            (Some(Field::Query), None) => Sink::QueryOrDash,
            (Some(field @ (Field::Referer | Field::UserAgent)), Some("quoted")) => {
                Sink::Quoted(field)
            }
            (Some(Field::Status), None) => Sink::Status,
            (Some(Field::Bytes), None) => Sink::Bytes,
            (Some(field), None) => Sink::Text(field),
            (None, None) => Sink::Extra(0),
            (None, Some("number")) => Sink::Number(0),
            (None, Some("word")) => Sink::Word(0),
            (None, Some("hex")) => Sink::Hexadecimal(0),
            (Some(Field::Host), _) => return refused("(port) or (full)"),
            (Some(Field::Client), _) => return refused("(port)"),
            (Some(Field::Referer | Field::UserAgent), Some(_)) => return refused("(quoted)"),
            (Some(Field::Path), _) => return refused("(url) or (stem)"),
            (Some(Field::Request), _) => return refused("(url)"),
            (None, Some(_)) => return refused("(number), (word) or (hex)"),
            (_, Some(_)) => {
                return Err(self.error("this field has no kinds; remove the parentheses"));
            }
        })
    }

    /// The sink of a time with a strftime pattern.
    fn strftime(&self, pattern: &str) -> Result<Sink, FormatError> {
        let offset = self.text.len() - pattern.len() - 1;
        let pattern = Strftime::parse(pattern).map_err(|error| {
            FormatError::new(self.definition, self.at + offset + error.at, error.message)
        })?;
        Ok(Sink::Strftime(Arc::new(pattern)))
    }
}
