//! The parameter `seconds` of requests that take a while.

use std::time::Duration;

/// The largest value of `seconds`. A longer profile would add samples, but hardly any information.
/// It also bounds how long a capture runs after its client has vanished.
const SECONDS_MAX: u64 = 60;

/// Parses the value of `seconds`.
///
/// # Errors
/// If it is not a number from 1 to [`SECONDS_MAX`]: a message for the client.
pub(crate) fn parse_seconds(value: &str) -> Result<Duration, String> {
    let valid = value.parse().ok().filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
    let duration = valid.map(Duration::from_secs);
    duration.ok_or_else(|| format!("seconds={value}: write a number from 1 to {SECONDS_MAX}"))
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
            let expected = format!("seconds={value}: write a number from 1 to 60");
            assert_eq!(parse_seconds(value), Err(expected));
        }
    }
}
