//! The header fields that tell the client about a limit.
//!
//! The fields are those of draft-ietf-httpapi-ratelimit-headers-11 (23 May 2026):
//! `RateLimit-Policy` is a list of [`QuotaPolicy`] items, and `RateLimit` a list of [`Quota`]
//! items. Both are structured fields (RFC 9651). No partition key (`pk`) is sent, because keys may
//! be personal.

use std::fmt::{self, Write};
use std::sync::Arc;

/// The largest integer of a structured field (RFC 9651, section 3.3.1).
const INTEGER_MAX: u64 = 999_999_999_999_999;

/// A limit, as an item of `RateLimit-Policy`.
///
/// ```
/// use weir_rules::{QuotaPolicy, QuotaUnit};
///
/// let policy = QuotaPolicy::new("one", 21, Some(3), QuotaUnit::Requests);
/// assert_eq!(policy.to_string(), "\"one\";q=21;w=3");
/// ```
///
/// The text is formatted once, and clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaPolicy {
    /// The structured-field item.
    text: Arc<str>,
    /// The bytes of its name, with the quotation marks, at the beginning of the item.
    name_bytes: usize,
}

/// The unit that a policy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaUnit {
    /// Requests within a window.
    Requests,
    /// Concurrent requests.
    ConcurrentRequests,
}

/// The remaining quota of a client under a policy, as an item of `RateLimit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota<'g> {
    /// The policy.
    pub policy: &'g QuotaPolicy,
    /// The number of further requests that would pass at this moment.
    pub remaining: u64,
    /// The number of whole seconds, at least 1, after which one more than that would pass; `None`
    /// if that does not depend on the time.
    pub reset_s: Option<u64>,
}

impl QuotaPolicy {
    /// The structured-field item.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Makes a policy that lets `quota` requests pass within a window, in whole seconds. Characters
    /// that are not allowed in a structured field's string become `_`.
    pub fn new(name: &str, quota: u64, window_s: Option<u64>, unit: QuotaUnit) -> Self {
        let mut text = String::with_capacity(name.len() + 32);
        text.push('"');
        for character in name.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            text.push(if matches!(character, ' '..='~') { character } else { '_' });
        }
        text.push('"');
        let name_bytes = text.len();
        let mut write = |arguments: fmt::Arguments<'_>| {
            // Writing to memory does not fail.
            let _ = text.write_fmt(arguments);
        };
        write(format_args!(";q={}", quota.min(INTEGER_MAX)));
        if unit == QuotaUnit::ConcurrentRequests {
            write(format_args!(";qu=\"concurrent-requests\""));
        }
        if let Some(window_s) = window_s {
            write(format_args!(";w={}", window_s.min(INTEGER_MAX)));
        }
        Self { text: text.into(), name_bytes }
    }

    /// Makes a policy whose window is in nanoseconds.
    pub(crate) fn within(name: &str, quota: u64, window_ns: u128) -> Self {
        let window_s = u64::try_from(window_ns.div_ceil(1_000_000_000)).unwrap_or(INTEGER_MAX);
        Self::new(name, quota, Some(window_s.max(1)), QuotaUnit::Requests)
    }
}

impl fmt::Display for QuotaPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Display for Quota<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.policy.text.get(..self.policy.name_bytes).unwrap_or_default();
        write!(formatter, "{name};r={}", self.remaining.min(INTEGER_MAX))?;
        match self.reset_s {
            Some(reset_s) => write!(formatter, ";t={}", reset_s.min(INTEGER_MAX)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Quota, QuotaPolicy, QuotaUnit};

    #[test]
    fn items_are_structured_fields() {
        let policy = QuotaPolicy::within("per \"client\" \\ Zürich\r\n", 100, 1_500_000_000);
        assert_eq!(policy.to_string(), r#""per \"client\" \\ Z_rich__";q=100;w=2"#);
        let quota = Quota { policy: &policy, remaining: u64::MAX, reset_s: Some(7) };
        assert_eq!(quota.to_string(), r#""per \"client\" \\ Z_rich__";r=999999999999999;t=7"#);
        let policy = QuotaPolicy::new("a", 10, None, QuotaUnit::ConcurrentRequests);
        assert_eq!(policy.to_string(), r#""a";q=10;qu="concurrent-requests""#);
        assert_eq!(
            Quota { policy: &policy, remaining: 0, reset_s: None }.to_string(),
            r#""a";r=0"#
        );
    }
}
