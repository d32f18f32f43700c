//! The profiles that were taken last, by their numbers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_profile::Profile;

/// Profiles that are kept: each may have some megabytes.
pub(crate) const KEPT_MAX: usize = 8;

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

impl KeptProfiles {
    /// Keeps a profile in place of the oldest one, and returns its number.
    pub(crate) fn keep(&self, profile: Arc<Profile>) -> u64 {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = kept.next_id;
        kept.next_id += 1;
        if kept.profiles.len() == KEPT_MAX {
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

    use weir_profile::{Profile, ProfileKind};

    use super::{KEPT_MAX, KeptProfiles};

    #[test]
    fn the_last_ones_are_found_by_their_numbers() {
        let kept = KeptProfiles::default();
        assert!(kept.find(None).is_none());
        let (kind, duration) = (ProfileKind::Processor, Duration::ZERO);
        let (stacks, begun) = (Vec::new(), UNIX_EPOCH);
        let profile = Profile { kind, stacks, period: 1, begun, duration, total: 0, lost: 0 };
        let profile = Arc::new(profile);
        let ids: Vec<u64> = (0..=KEPT_MAX).map(|_| kept.keep(profile.clone())).collect();
        assert!(kept.find(Some(ids[0])).is_none());
        for id in &ids[1..] {
            assert_eq!(kept.find(Some(*id)).map(|(found, _)| found), Some(*id));
        }
        assert_eq!(kept.find(None).map(|(id, _)| id), ids.last().copied());
        assert_eq!(Arc::strong_count(&profile), KEPT_MAX + 1, "the oldest one is gone");
    }
}
