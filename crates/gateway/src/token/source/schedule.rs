//! The schedule of fetching keys.

use std::time::Duration;

/// The rules for fetching the keys at a URL, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshRules {
    /// The age at which keys are fetched again; meanwhile the present ones stay in use. Default
    /// 300, so that a withdrawn key is not trusted for much longer.
    pub refresh_after_s: u32,
    /// The age up to which keys are used if the key server fails. Default 86,400, a day, so that an
    /// issuer's outage overnight does not stop the gateway.
    pub stale_for_s: u32,
    /// The least time between two attempts, whatever tokens require. Default 10, so that tokens
    /// with an invented `kid` or signature cost the key server at most one request in this time.
    pub pause_s: u32,
}

/// The time after which the refresh of keys is tried again if the key server fails. A token may try
/// earlier.
const RETRY_S: u32 = 60;

impl Default for RefreshRules {
    fn default() -> Self {
        Self { refresh_after_s: 300, stale_for_s: 86_400, pause_s: 10 }
    }
}

impl RefreshRules {
    /// The time until the keys have to be fetched, which have been read at this time.
    pub(super) fn next_refresh(self, read_at_unix_s: Option<i64>, now_unix_s: i64) -> Duration {
        let due = read_at_unix_s.filter(|read_at| !self.is_due(*read_at, now_unix_s));
        let left_s = due.map(|read_at| {
            let age_s = u32::try_from(now_unix_s.abs_diff(read_at)).unwrap_or(u32::MAX);
            self.refresh_after_s.saturating_sub(age_s)
        });
        Duration::from_secs(left_s.unwrap_or(RETRY_S.min(self.refresh_after_s)).max(1).into())
    }

    /// Whether keys must be fetched again.
    pub(super) fn is_due(self, fetched_at_unix_s: i64, now_unix_s: i64) -> bool {
        has_passed(fetched_at_unix_s, self.refresh_after_s, now_unix_s)
    }

    /// Whether keys are too old to be used.
    pub(super) fn is_too_old(self, fetched_at_unix_s: i64, now_unix_s: i64) -> bool {
        has_passed(fetched_at_unix_s, self.stale_for_s, now_unix_s)
    }

    /// Whether a new attempt is permitted after the last one.
    pub(super) fn may_try(self, last_attempt_unix_s: Option<i64>, now_unix_s: i64) -> bool {
        last_attempt_unix_s.is_none_or(|last| has_passed(last, self.pause_s, now_unix_s))
    }
}

/// Whether `seconds` have passed. A clock that was set back by as much counts too; otherwise
/// nothing would be fetched until the clock catches up.
fn has_passed(since_unix_s: i64, seconds: u32, now_unix_s: i64) -> bool {
    now_unix_s.abs_diff(since_unix_s) >= u64::from(seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::RefreshRules;

    #[test]
    fn keys_are_fetched_in_time() {
        let rules = RefreshRules { refresh_after_s: 300, ..RefreshRules::default() };
        for (read_at, now, seconds) in [
            (Some(1_000), 1_000, 300),
            (Some(1_000), 1_100, 200),
            (Some(1_000), 1_299, 1),
            // They could not be fetched.
            (Some(1_000), 1_300, 60),
            (None, 1_000, 60),
            (Some(1_000), i64::MIN, 60),
            // The clock was set back.
            (Some(1_000), 990, 290),
        ] {
            let next = rules.next_refresh(read_at, now);
            assert_eq!(next, Duration::from_secs(seconds), "{read_at:?} {now}");
        }
        let rules = RefreshRules { refresh_after_s: 5, ..rules };
        assert_eq!(rules.next_refresh(None, 0), Duration::from_secs(5));
    }

    #[test]
    fn clocks_may_jump() {
        let rules = RefreshRules { refresh_after_s: 10, stale_for_s: 100, pause_s: 5 };
        for (now, due, old, may) in [
            (1_000, false, false, false),
            (1_005, false, false, true),
            (1_010, true, false, true),
            (1_100, true, true, true),
            (999, false, false, false),
            (990, true, false, true),
            (i64::MIN, true, true, true),
            (i64::MAX, true, true, true),
        ] {
            assert_eq!(rules.is_due(1_000, now), due, "{now}");
            assert_eq!(rules.is_too_old(1_000, now), old, "{now}");
            assert_eq!(rules.may_try(Some(1_000), now), may, "{now}");
        }
        assert!(rules.may_try(None, 0));
    }
}
