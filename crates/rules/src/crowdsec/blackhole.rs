//! Keys that are muted after an alert.

use std::collections::BTreeSet;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The muted keys, as CrowdSec's `Blackhole` stores them. Each overflow removes all keys whose mute
/// has expired at the overflow's own time, even if a later line overflows with an earlier time.
#[derive(Debug, Default)]
pub(super) struct Blackhole {
    ends_ns: HashMap<u32, i64, FixedState>,
    by_end: BTreeSet<(i64, u32)>,
}

impl Blackhole {
    /// Returns whether an overflow of a key becomes an alert. If so, mutes the key from then on.
    pub(super) fn admits(&mut self, key: u32, now_ns: i64, duration_ns: i64) -> bool {
        while let Some((end_ns, ended)) = self.by_end.first().copied()
            && end_ns <= now_ns
        {
            self.by_end.remove(&(end_ns, ended));
            self.ends_ns.remove(&ended);
        }
        if self.ends_ns.contains_key(&key) {
            return false;
        }
        let end_ns = now_ns.saturating_add(duration_ns);
        self.ends_ns.insert(key, end_ns);
        self.by_end.insert((end_ns, key));
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Blackhole;

    proptest! {
        #[test]
        fn keys_are_muted_as_in_a_list(
            overflows in proptest::collection::vec((0_u32..4, 0_i64..30), 1..60),
            duration in 0_i64..12,
        ) {
            let mut blackhole = Blackhole::default();
            let mut hidden: Vec<(u32, i64)> = Vec::new();
            for (key, now) in overflows {
                let is_muted = hidden.iter().any(|(other, end)| *other == key && *end > now);
                hidden.retain(|(_, end)| *end > now);
                if !is_muted {
                    hidden.push((key, now + duration));
                }
                prop_assert_eq!(blackhole.admits(key, now, duration), !is_muted);
            }
        }
    }
}
