//! Secrets, which are read from a file or an environment variable and never shown.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

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
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let mut read = || File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes);
        read().map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        if bytes.len() as u64 > BYTES_MAX {
            return Err(format!(
                "{} is larger than 64 KiB, too large for a secret",
                path.display()
            ));
        }
        Self::from_text(bytes).ok_or_else(|| format!("{} is empty", path.display()))
    }

    /// Reads an environment variable, without one trailing line break.
    pub(super) fn from_environment(name: &str) -> Result<Self, String> {
        let value = std::env::var_os(name)
            .ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
        Self::from_text(value.into_encoded_bytes())
            .ok_or_else(|| format!("the environment variable `{name}` is empty"))
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
