//! The values of an expression.

use std::borrow::Cow;

/// The memory of a list item without its text, in bytes.
pub(super) const ITEM_BYTES: usize = 64;

/// A value while an expression is evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Nil,
    Boolean(bool),
    Integer(i64),
    Float(f64),
    /// Bytes, because a log is not always UTF-8.
    Text(Cow<'a, [u8]>),
    List(Vec<Value<'a>>),
    /// The lines of a data file.
    Lines(&'a [Vec<u8>]),
    /// The events of a bucket.
    Queue,
    /// An event of a bucket, by its position.
    Event(usize),
}

/// The static type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nil,
    Boolean,
    Number,
    Text,
    List,
    Event,
    /// Unknown until evaluation.
    Any,
}

impl Kind {
    /// Whether a value of this kind may be of the other kind at run time.
    pub(super) fn may_be(self, kind: Self) -> bool {
        self == kind || self == Self::Any || kind == Self::Any
    }

    /// The name with its article, for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Event => "an event",
            Self::Any => "a value",
        }
    }
}

impl<'a> Value<'a> {
    /// Returns a copy that borrows from this value.
    pub(super) fn borrowed(&'a self) -> Value<'a> {
        match self {
            Self::Text(text) => Value::Text(Cow::Borrowed(text)),
            Self::List(values) => Value::List(values.iter().map(Value::borrowed).collect()),
            other => other.clone(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Nil => Kind::Nil,
            Self::Boolean(_) => Kind::Boolean,
            Self::Integer(_) | Self::Float(_) => Kind::Number,
            Self::Text(_) => Kind::Text,
            Self::List(_) | Self::Lines(_) | Self::Queue => Kind::List,
            Self::Event(_) => Kind::Event,
        }
    }

    /// The memory of a copy, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(Cow::Owned(text)) => text.len(),
            Self::List(values) => values.iter().map(|value| ITEM_BYTES + value.bytes()).sum(),
            _ => 0,
        }
    }

    pub(super) fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether two values are equal. Numbers are compared by value; other values are equal only if
    /// they have the same kind.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left == right,
            _ => match (self.number(), other.number()) {
                (Some(left), Some(right)) => left == right,
                _ => self == other,
            },
        }
    }
}
