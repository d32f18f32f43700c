//! Files that cannot be used.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::csv::CsvError;
use crate::database::shown;

/// A file that cannot be used. It names the file.
#[derive(Debug)]
pub struct OpenError {
    path: PathBuf,
    problem: Problem,
}

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) enum Problem {
    Io(std::io::Error),
    NotAFile,
    TooLarge {
        bytes_max: u64,
    },
    Compressed,
    LegacyFormat,
    Empty,
    /// Bytes that are neither a MaxMind DB nor text.
    Unknown,
    Mmdb(maxminddb::MaxMindDbError),
    /// A MaxMind DB about something else.
    NoField {
        about: String,
    },
    Csv(CsvError),
}

impl OpenError {
    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        Self { path: path.to_owned(), problem }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.path.display())?;
        match &self.problem {
            Problem::Io(error) => write!(formatter, "{error}"),
            Problem::NotAFile => formatter.write_str("this is not a file"),
            Problem::TooLarge { bytes_max } => write!(
                formatter,
                "the file is larger than {} MiB, the limit of a database of addresses",
                bytes_max >> 20
            ),
            Problem::Compressed => formatter.write_str(
                "the file is compressed or an archive; unpack it, and name the file inside",
            ),
            Problem::LegacyFormat => formatter.write_str(
                "this is GeoIP's legacy format, which ended in 2022; use a file that ends in .mmdb",
            ),
            Problem::Empty => formatter.write_str("the file is empty"),
            Problem::Unknown => formatter.write_str(
                "this is neither a MaxMind DB nor CSV ranges. A MaxMind DB ends with its metadata, \
                 so this may be the beginning of one: fetch the file again",
            ),
            Problem::Mmdb(error) => {
                write!(formatter, "the database is damaged: {error}; fetch the file again")
            }
            Problem::NoField { about } => write!(
                formatter,
                "the database, of type `{}`, has no country, city or autonomous system",
                shown(about)
            ),
            Problem::Csv(CsvError { line, mistake }) => {
                write!(
                    formatter,
                    "line {line}: {mistake}. Lines of ranges are FIRST,LAST,COUNTRY or FIRST,LAST,NUMBER,NAME of \
                     an autonomous system, or the ten columns of a city"
                )
            }
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            Problem::Mmdb(error) => Some(error),
            _ => None,
        }
    }
}
