//! Why something could not be read.

use std::fmt;
use std::io;

use super::broken::Broken;
use crate::pipeline::Stopped;

/// Why a source could not be read to its end. What was read before stands.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be opened, or is no file.
    Open(io::Error),
    /// It could not be read on, or its packed data is damaged or cut short.
    Broken(Broken),
    /// It is packed in a way that is not read; the sentence says what to do.
    Refused(String),
    /// The pipeline took no more.
    Stopped(Stopped),
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(formatter, "cannot be opened: {error}"),
            Self::Broken(broken) => broken.fmt(formatter),
            Self::Refused(sentence) => formatter.write_str(sentence),
            Self::Stopped(Stopped::Cancelled) => write!(formatter, "reading was cancelled"),
            Self::Stopped(Stopped::MemoryFull) => write!(
                formatter,
                "the memory limit is reached; what was read before stands (see --memory)"
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<Stopped> for ReadError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// Something to say of an input.
#[derive(Debug)]
pub struct Fault {
    /// The input, or the file in it.
    pub name: String,
    /// What it is.
    pub kind: FaultKind,
}

/// How bad a fault is.
#[derive(Debug)]
pub enum FaultKind {
    /// Something that should have been read was not.
    Error(ReadError),
    /// Something was left out on purpose: a sentence.
    Note(String),
}

impl Fault {
    /// An error of the input of that name.
    pub fn new(name: &str, error: ReadError) -> Self {
        Self { name: name.to_owned(), kind: FaultKind::Error(error) }
    }

    /// A note on the input of that name.
    pub fn note(name: &str, note: String) -> Self {
        Self { name: name.to_owned(), kind: FaultKind::Note(note) }
    }

    /// The error, where it is one.
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
