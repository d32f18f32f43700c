//! Why a table cannot be read.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a table cannot be read, or not to its end.
#[derive(Debug)]
pub enum TableError {
    /// The file could not be read.
    Io(io::Error),
    /// The bytes are not those of a Parquet file. The text says which ones.
    Damaged(String),
    /// It is a Parquet file that cannot be read as records. The sentence includes the remedy.
    Refused(String),
}

impl TableError {
    pub(crate) fn damaged(what: impl fmt::Display) -> Self {
        Self::Damaged(what.to_string())
    }

    pub(crate) fn refused(sentence: impl fmt::Display) -> Self {
        Self::Refused(sentence.to_string())
    }

    /// The same error, of a column.
    pub(crate) fn of_column(self, name: &str) -> Self {
        let name = quoted(name);
        match self {
            Self::Damaged(what) => Self::Damaged(format!("{what}, in the column {name}")),
            Self::Refused(sentence) => Self::Refused(format!("the column {name} {sentence}")),
            Self::Io(error) => Self::Io(error),
        }
    }
}

/// The name of a column in a sentence. Characters that would break the line are escaped.
pub(crate) fn quoted(name: &str) -> String {
    let escaped = |character: char| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    format!("`{}`", name.chars().map(escaped).collect::<String>())
}

impl fmt::Display for TableError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "cannot be read: {error}"),
            Self::Damaged(what) => {
                write!(formatter, "is a damaged or truncated Parquet file: {what}; copy it again")
            }
            Self::Refused(sentence) => formatter.write_str(sentence),
        }
    }
}

impl Error for TableError {}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::damaged("it ends too early"),
            _ => Self::Io(error),
        }
    }
}
