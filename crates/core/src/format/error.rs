//! What can be wrong with a format's definition.

use std::fmt;

/// A definition that cannot be compiled: where and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    definition: String,
    /// Where the mistake is, in bytes from 0.
    at: usize,
    message: String,
}

impl FormatError {
    pub(super) fn new(definition: &str, at: usize, message: impl Into<String>) -> Self {
        Self { definition: definition.to_owned(), at, message: message.into() }
    }

    /// Where the mistake is, in characters from 1.
    pub fn column(&self) -> usize {
        let before = self.definition.get(..self.at).unwrap_or(&self.definition);
        before.chars().count() + 1
    }

    /// What is wrong there.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for FormatError {
    /// The reason, the definition's line and a mark under the character.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.definition.get(..self.at).unwrap_or(&self.definition);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.definition[line_start..].lines().next().unwrap_or("");
        let indent = before[line_start..].chars().count();
        writeln!(formatter, "format, character {}: {}", self.column(), self.message)?;
        writeln!(formatter, "  {line}")?;
        write!(formatter, "  {:indent$}^", "")
    }
}

impl std::error::Error for FormatError {}
