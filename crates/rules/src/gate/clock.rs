//! The clock of a gate.

/// The largest step back of the clock, in nanoseconds, after which a gate keeps its state. nginx
/// assumes that its clock was set after a larger step (`ngx_http_limit_req_lookup`).
const STEP_BACK_MAX_NS: i64 = 60_000_000_000;

/// The clock of a gate. No two requests have the same time, so that their order follows from it.
#[derive(Debug, Default)]
pub(crate) struct GateClock {
    latest_ns: Option<i64>,
    resets: u64,
}

impl GateClock {
    /// Advances the clock to a time. Returns the effective time, and whether the clock was set
    /// back, which makes all earlier times meaningless.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: i64) -> (i64, bool) {
        let next_ns = self.latest_ns.map_or(now_ns, |latest_ns| latest_ns.saturating_add(1));
        let was_set_back = next_ns.saturating_sub(now_ns) > STEP_BACK_MAX_NS;
        let arrival_ns = if was_set_back { now_ns } else { now_ns.max(next_ns) };
        self.latest_ns = Some(arrival_ns);
        self.resets += u64::from(was_set_back);
        (arrival_ns, was_set_back)
    }

    /// The number of times that the clock was set back.
    pub(crate) fn resets(&self) -> u64 {
        self.resets
    }
}

#[cfg(test)]
mod tests {
    use super::{GateClock, STEP_BACK_MAX_NS};

    #[test]
    fn a_clock_that_goes_back_a_little_goes_on_slowly() {
        let mut clock = GateClock::default();
        let start_ns = STEP_BACK_MAX_NS + 5;
        for (now_ns, expected_ns) in [
            (start_ns, start_ns),
            (6, start_ns + 1),
            (start_ns + 1, start_ns + 2),
            (start_ns + 2, start_ns + 3),
            (start_ns + 9, start_ns + 9),
        ] {
            assert_eq!(clock.advance(now_ns), (expected_ns, false), "{now_ns}");
        }
        assert_eq!(clock.resets(), 0);
    }

    #[test]
    fn a_clock_that_is_set_back_begins_anew() {
        let mut clock = GateClock::default();
        for (now_ns, expected) in [
            (i64::MAX, (i64::MAX, false)),
            (i64::MAX, (i64::MAX, false)),
            (0, (0, true)),
            (i64::MIN, (i64::MIN, true)),
            (i64::MIN, (i64::MIN + 1, false)),
            (i64::MAX, (i64::MAX, false)),
        ] {
            assert_eq!(clock.advance(now_ns), expected, "{now_ns}");
        }
        assert_eq!(clock.resets(), 2);
    }
}
