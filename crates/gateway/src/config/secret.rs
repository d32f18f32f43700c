//! Secrets, which are read from a file or an environment variable and never shown.

use std::fmt;
use std::path::{Path, PathBuf};

use super::file::{FileError, read_file};

/// Larger secret files are refused.
const BYTES_MAX: u64 = 64 << 10;

/// Secret bytes, which `Debug` and messages do not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Wraps bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a file without one trailing line break, because editors add one.
    pub(super) fn read(path: &Path) -> Result<Self, SecretError> {
        let bytes = read_file(path, BYTES_MAX, "a secret").map_err(SecretError::File)?;
        Self::from_text(bytes).ok_or_else(|| SecretError::EmptyFile(path.to_owned()))
    }

    /// Reads an environment variable, without one trailing line break.
    pub(super) fn from_environment(name: &str) -> Result<Self, SecretError> {
        let value = std::env::var_os(name).ok_or_else(|| SecretError::NotSet(name.to_owned()))?;
        Self::from_text(value.into_encoded_bytes())
            .ok_or_else(|| SecretError::EmptyVariable(name.to_owned()))
    }

    fn from_text(mut bytes: Vec<u8>) -> Option<Self> {
        for end in [b'\n', b'\r'] {
            if bytes.last() == Some(&end) {
                bytes.pop();
            }
        }
        (!bytes.is_empty()).then_some(Self(bytes))
    }
}

/// Why a secret cannot be used.
#[derive(Debug)]
pub(super) enum SecretError {
    File(FileError),
    EmptyFile(PathBuf),
    /// The environment variable of this name is not set.
    NotSet(String),
    EmptyVariable(String),
}

impl fmt::Display for SecretError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(formatter),
            Self::EmptyFile(path) => write!(formatter, "{} is empty", path.display()),
            Self::NotSet(name) => {
                write!(formatter, "the environment variable `{name}` is not set")
            }
            Self::EmptyVariable(name) => {
                write!(formatter, "the environment variable `{name}` is empty")
            }
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn one_line_end_is_no_part_of_a_secret() {
        for (text, expected) in [
            ("key", Some("key")),
            ("key\n", Some("key")),
            ("key\r\n", Some("key")),
            ("key\n\n", Some("key\n")),
            (" key ", Some(" key ")),
            ("\n", None),
            ("", None),
        ] {
            let secret = Secret::from_text(text.into());
            assert_eq!(secret.as_ref().map(Secret::bytes), expected.map(str::as_bytes), "{text:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        assert!(!format!("{:?}", Secret::new("hunter2")).contains("hunter2"));
    }
}
