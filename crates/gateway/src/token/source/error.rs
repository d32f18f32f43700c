//! Why the keys of a source cannot be used.

use std::fmt;

use hyper::StatusCode;

use super::file::KEY_FILE_BYTES_MAX;
use crate::token::key::{KeyProblem, KeySet, KeySetFault};

/// Why the keys of a file or a URL cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySourceError {
    /// The path or the address, without secrets.
    pub place: String,
    /// The reason.
    pub fault: KeySourceFault,
}

/// Why the keys of a source cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySourceFault {
    /// The file cannot be read, for this reason of the system.
    Unreadable(String),
    /// The file is too large.
    TooLarge,
    /// The fetch failed, for this reason.
    Fetch(String),
    /// The status of the answer is not 200.
    Status(StatusCode),
    /// The text is not a key set.
    Set(KeySetFault),
    /// The set has no key that can be used: the number of its keys, and the problem of the first.
    NoUsableKey(usize, Option<KeyProblem>),
}

/// Returns a set if it has a key that can be used.
pub(super) fn check_usable(set: KeySet) -> Result<KeySet, KeySourceFault> {
    if set.len() > 0 {
        return Ok(set);
    }
    let first = set.skipped.first().map(|skipped| skipped.problem.clone());
    Err(KeySourceFault::NoUsableKey(set.skipped.len(), first))
}

impl fmt::Display for KeySourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.place)?;
        match &self.fault {
            KeySourceFault::Unreadable(reason) => write!(formatter, "cannot be read: {reason}"),
            KeySourceFault::TooLarge => {
                write!(
                    formatter,
                    "larger than {} KiB, too large for keys",
                    KEY_FILE_BYTES_MAX >> 10
                )
            }
            KeySourceFault::Fetch(reason) => formatter.write_str(reason),
            KeySourceFault::Status(status) => {
                write!(formatter, "the status is {status} instead of 200")
            }
            KeySourceFault::Set(fault) => fault.fmt(formatter),
            KeySourceFault::NoUsableKey(_, None) => formatter.write_str("the key set is empty"),
            KeySourceFault::NoUsableKey(keys, Some(problem)) => {
                write!(formatter, "none of the {keys} keys can be used; the first one: {problem}")
            }
        }
    }
}
