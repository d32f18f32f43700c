//! The error of parsing an option.

use std::fmt;

/// The error of a text that is not a valid value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionError {
    text: String,
    kind: &'static str,
    valid: &'static str,
}

impl OptionError {
    /// `kind` names the option and `valid` lists its values, both as words of the message.
    pub(crate) fn new(text: &str, kind: &'static str, valid: &'static str) -> Self {
        Self { text: text.to_owned(), kind, valid }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, kind, valid } = self;
        write!(formatter, "`{text}` is not a valid {kind}; write {valid}")
    }
}

impl std::error::Error for OptionError {}
