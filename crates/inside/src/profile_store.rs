//! The store of the last profiles, by number.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_profile::Profile;
use weir_sync::Lock;

/// The number of profiles that are kept.
pub(crate) const KEPT_MAX: usize = 8;

/// The most stacks of all profiles together, not counting the newest one. A stack takes up to a
/// kilobyte, and 100 bytes for each further thread that has it.
const STACKS_MAX: usize = 20_000;

/// The last profiles.
#[derive(Debug)]
pub(crate) struct ProfileStore(Lock<State>);

#[derive(Debug)]
struct State {
    next_id: u64,
    /// The profiles with their numbers, oldest first.
    profiles: VecDeque<(u64, Arc<Profile>)>,
}

impl Default for ProfileStore {
    fn default() -> Self {
        // Numbers start at the current time, so that a page from before a restart gets no profile
        // of this process.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let next_id = u64::try_from(since.as_millis()).unwrap_or_default();
        Self(Lock::new(State { next_id, profiles: VecDeque::new() }))
    }
}

impl State {
    fn stacks(&self) -> usize {
        self.profiles.iter().map(|(_, profile)| profile.stacks.len()).sum()
    }
}

impl ProfileStore {
    /// Adds a profile, evicts the oldest ones beyond the limits, and returns its number.
    pub(crate) fn add(&self, profile: Arc<Profile>) -> u64 {
        let mut kept = self.0.lock();
        let id = kept.next_id;
        kept.next_id += 1;
        while kept.profiles.len() == KEPT_MAX || kept.stacks() > STACKS_MAX {
            kept.profiles.pop_front();
        }
        kept.profiles.push_back((id, profile));
        id
    }

    /// Returns the profile with a number, or the last one if `id` is `None`.
    pub(crate) fn find(&self, id: Option<u64>) -> Option<(u64, Arc<Profile>)> {
        let kept = self.0.lock();
        match id {
            None => kept.profiles.back().cloned(),
            Some(id) => kept.profiles.iter().find(|(number, _)| *number == id).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    use weir_profile::{Profile, ProfileKind, Stack};

    use super::{KEPT_MAX, ProfileStore, STACKS_MAX};

    fn profile(stacks: Vec<Stack>) -> Profile {
        let (kind, duration) = (ProfileKind::Processor, Duration::ZERO);
        Profile { kind, stacks, period: 1, begun: UNIX_EPOCH, duration, total: 0, lost: 0 }
    }

    #[test]
    fn large_ones_are_kept_while_no_other_is_taken() {
        let kept = ProfileStore::default();
        let stack = Stack { thread: "a".to_owned(), functions: Arc::new([]), samples: 1 };
        let large = Arc::new(profile(vec![stack; STACKS_MAX + 1]));
        let first = kept.add(large.clone());
        assert_eq!(kept.find(None).map(|(id, _)| id), Some(first));
        kept.add(large);
        assert!(kept.find(Some(first)).is_none());
    }

    #[test]
    fn the_last_ones_are_found_by_their_numbers() {
        let kept = ProfileStore::default();
        assert!(kept.find(None).is_none());
        let profile = Arc::new(profile(Vec::new()));
        let ids: Vec<u64> = (0..=KEPT_MAX).map(|_| kept.add(profile.clone())).collect();
        assert!(kept.find(Some(ids[0])).is_none());
        for id in &ids[1..] {
            assert_eq!(kept.find(Some(*id)).map(|(found, _)| found), Some(*id));
        }
        assert_eq!(kept.find(None).map(|(id, _)| id), ids.last().copied());
        assert_eq!(Arc::strong_count(&profile), KEPT_MAX + 1, "the oldest one is gone");
    }
}
