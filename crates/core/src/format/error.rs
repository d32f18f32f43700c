//! The error of a format definition that does not compile.
//!
//! Definitions are typed or pasted by people, so an error shows the place and says what to write
//! instead. The same error serves a terminal and a page: its parts are there for a program
//! ([`FormatError::column`], [`FormatError::message`]), and its `Display` is for people.

use std::fmt;

/// An error in a format definition: its place and a sentence that says what is wrong and what
/// to do.
///
/// `Display` prints the sentence, the line of the definition and a `^` under the place.
///
/// ```
/// use weir_core::Format;
///
/// let error = Format::parse("$remote_addr ${status").unwrap_err();
/// assert_eq!(error.to_string(), "format, character 14: the `{` has no `}`\n  $remote_addr ${status\n               ^");
/// ```
///
/// A definition of several lines is shown by the one line that has the error. The text is the
/// caller's own and may contain control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    definition: String,
    /// The offset of the error in the definition, in bytes.
    at: usize,
    message: String,
}

impl FormatError {
    /// An error at a byte offset in the definition. An offset beyond its end is the end.
    pub(super) fn new(definition: &str, at: usize, message: impl Into<String>) -> Self {
        Self { definition: definition.to_owned(), at, message: message.into() }
    }

    /// The place of the error in the definition, in characters from 1.
    ///
    /// Counted over the whole definition, line feeds included.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Format;
    ///
    /// let error = Format::parse("%h %>s %Y").unwrap_err();
    /// assert_eq!(error.column(), 9);
    /// assert_eq!(error.message(), "`%Y` is not a directive of Apache's LogFormat");
    /// ```
    pub fn column(&self) -> usize {
        let before = self.definition.get(..self.at).unwrap_or(&self.definition);
        before.chars().count() + 1
    }

    /// The problem there, as a sentence without a full stop.
    ///
    /// It includes what to do, where that is not obvious.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for FormatError {
    /// Writes the message, the line of the definition and a `^` under the character.
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
