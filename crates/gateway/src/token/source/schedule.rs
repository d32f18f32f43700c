//! The schedule of fetching keys.

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
    /// with an invented `kid` cost the key server at most one request in this time.
    pub pause_s: u32,
}

impl Default for RefreshRules {
    fn default() -> Self {
        Self { refresh_after_s: 300, stale_for_s: 86_400, pause_s: 10 }
    }
}

impl RefreshRules {
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
    use super::RefreshRules;

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
