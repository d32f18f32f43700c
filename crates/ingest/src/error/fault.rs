//! Errors and notes about the inputs that were read.

use std::fmt;

use super::read_error::ReadError;

/// An error or a note about an input.
#[derive(Debug)]
pub struct Fault {
    /// The input, or the file in it.
    pub name: String,
    /// The error or the note.
    pub kind: FaultKind,
}

/// An error or a note.
#[derive(Debug)]
pub enum FaultKind {
    /// A part of the input could not be read.
    Error(ReadError),
    /// A part of the input was left out on purpose, or is unusual. The text is a sentence.
    Note(String),
}

impl Fault {
    /// Creates an error about the named input.
    pub fn new(name: &str, error: ReadError) -> Self {
        Self { name: name.to_owned(), kind: FaultKind::Error(error) }
    }

    /// Creates a note about the named input.
    pub fn note(name: &str, note: String) -> Self {
        Self { name: name.to_owned(), kind: FaultKind::Note(note) }
    }

    /// Returns the error, or `None` if this is a note.
    pub fn error(&self) -> Option<&ReadError> {
        match &self.kind {
            FaultKind::Error(error) => Some(error),
            FaultKind::Note(_) => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::Error(error) => write!(formatter, "{}: {error}", self.name),
            FaultKind::Note(note) => write!(formatter, "{}: {note}", self.name),
        }
    }
}
