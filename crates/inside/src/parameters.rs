//! The parameters of requests, and what is wrong with them.

use std::fmt;
use std::time::Duration;

/// The largest value of `seconds`. A longer profile would add samples, but hardly any information.
/// It also bounds how long a capture runs after its client has vanished.
const SECONDS_MAX: u64 = 60;

/// A parameter that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParameterError {
    /// The value is not valid.
    Value {
        /// The name of the parameter.
        name: &'static str,
        /// The value.
        value: String,
        /// What to write instead.
        expected: String,
    },
    /// There is no such parameter.
    Unknown {
        /// Its name.
        name: String,
        /// The parameters that there are.
        known: &'static str,
    },
}

impl ParameterError {
    pub(crate) fn value(name: &'static str, value: &str, expected: impl Into<String>) -> Self {
        Self::Value { name, value: value.to_owned(), expected: expected.into() }
    }

    pub(crate) fn unknown(name: &str, known: &'static str) -> Self {
        Self::Unknown { name: name.to_owned(), known }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, value, expected } => {
                write!(formatter, "{name}={value}: write {expected}")
            }
            Self::Unknown { name, known } => {
                write!(formatter, "unknown parameter `{name}`; use {known}")
            }
        }
    }
}

/// Parses the value of `seconds`, of requests that take a while.
pub(crate) fn parse_seconds(value: &str) -> Result<Duration, ParameterError> {
    let valid = value.parse().ok().filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
    valid.map(Duration::from_secs).ok_or_else(|| {
        ParameterError::value("seconds", value, format!("a number from 1 to {SECONDS_MAX}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{Duration, parse_seconds};

    #[test]
    fn seconds_have_limits() {
        for seconds in [1, 60] {
            let parsed = parse_seconds(&seconds.to_string());
            assert_eq!(parsed, Ok(Duration::from_secs(seconds)));
        }
        for value in ["0", "61", "-1", "1.5", "x", ""] {
            let error = parse_seconds(value).expect_err(value).to_string();
            assert_eq!(error, format!("seconds={value}: write a number from 1 to 60"));
        }
    }
}
