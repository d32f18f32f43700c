//! The profiles that were taken last, by their numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_profile::Profile;

/// Profiles that are kept.
pub(crate) const KEPT_MAX: usize = 8;

/// Stacks of all of them together, but for the last one. A stack takes up to a kilobyte, and 100 bytes more on
/// each further thread.
const STACKS_MAX: usize = 20_000;

/// The profiles that were taken last.
#[derive(Debug)]
pub(crate) struct KeptProfiles(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    next_id: u64,
    /// The oldest one first.
    profiles: VecDeque<(u64, Arc<Profile>)>,
}

impl Default for KeptProfiles {
    fn default() -> Self {
        // A page that outlives the program must not get a profile of the next one by its number.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let next_id = u64::try_from(since.as_millis()).unwrap_or_default();
        Self(Mutex::new(Kept { next_id, profiles: VecDeque::new() }))
    }
}

impl Kept {
    fn stacks(&self) -> usize {
        self.profiles.iter().map(|(_, profile)| profile.stacks.len()).sum()
    }
}

impl KeptProfiles {
    /// Keeps a profile in place of the oldest one, and returns its number.
    pub(crate) fn keep(&self, profile: Arc<Profile>) -> u64 {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = kept.next_id;
        kept.next_id += 1;
        while kept.profiles.len() == KEPT_MAX || kept.stacks() > STACKS_MAX {
            kept.profiles.pop_front();
        }
        kept.profiles.push_back((id, profile));
        id
    }

    /// The profile with a number, or without one the last.
    pub(crate) fn find(&self, id: Option<u64>) -> Option<(u64, Arc<Profile>)> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    use super::{KEPT_MAX, KeptProfiles, STACKS_MAX};

    fn profile(stacks: Vec<Stack>) -> Profile {
        let (kind, duration) = (ProfileKind::Processor, Duration::ZERO);
        Profile { kind, stacks, period: 1, begun: UNIX_EPOCH, duration, total: 0, lost: 0 }
    }

    #[test]
    fn large_ones_are_kept_while_no_other_is_taken() {
        let kept = KeptProfiles::default();
        let stack = Stack { thread: "a".to_owned(), functions: Arc::new([]), samples: 1 };
        let large = Arc::new(profile(vec![stack; STACKS_MAX + 1]));
        let first = kept.keep(large.clone());
        assert_eq!(kept.find(None).map(|(id, _)| id), Some(first));
        kept.keep(large);
        assert!(kept.find(Some(first)).is_none());
    }

    #[test]
    fn the_last_ones_are_found_by_their_numbers() {
        let kept = KeptProfiles::default();
        assert!(kept.find(None).is_none());
        let profile = Arc::new(profile(Vec::new()));
        let ids: Vec<u64> = (0..=KEPT_MAX).map(|_| kept.keep(profile.clone())).collect();
        assert!(kept.find(Some(ids[0])).is_none());
        for id in &ids[1..] {
            assert_eq!(kept.find(Some(*id)).map(|(found, _)| found), Some(*id));
        }
        assert_eq!(kept.find(None).map(|(id, _)| id), ids.last().copied());
        assert_eq!(Arc::strong_count(&profile), KEPT_MAX + 1, "the oldest one is gone");
    }
}
