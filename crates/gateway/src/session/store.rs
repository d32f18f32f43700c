//! The sessions that are remembered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::SessionKey;
use super::grant::Grant;

/// Sessions at most. Beyond it the expired ones are forgotten, and if there are none, any one.
const SESSIONS_MAX: usize = 100_000;

/// After a log-in that failed, the next one for the same user waits for so long.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// How often the expired ones are looked for at most. It takes long, and users who come once may come fast.
const SWEEP_PAUSE: Duration = Duration::from_secs(10);

/// Sessions by their keys.
#[derive(Debug, Default)]
pub(super) struct SessionStore(Mutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    by_key: HashMap<SessionKey, Arc<Slot>>,
    swept_at: Option<Instant>,
}

/// The place of a session. Who holds its lock logs in.
type Slot = tokio::sync::Mutex<State>;

#[derive(Debug, Default)]
enum State {
    #[default]
    Empty,
    Open(Arc<Grant>),
    FailedAt(Instant),
}

impl SessionStore {
    /// The session of a key, or the one that `begin` makes. Tells whether it was there.
    pub(super) async fn get<F>(
        &self,
        key: &SessionKey,
        begin: impl FnOnce() -> F,
    ) -> Option<(Arc<Grant>, bool)>
    where
        F: Future<Output = Option<Grant>>,
    {
        let slot = self.slot(key);
        let mut state = slot.lock().await;
        match &*state {
            State::Open(grant) if grant.is_valid() => return Some((grant.clone(), true)),
            State::FailedAt(at) if at.elapsed() < FAILURE_PAUSE => return None,
            _ => {}
        }
        match begin().await {
            Some(grant) => {
                let grant = Arc::new(grant);
                *state = State::Open(grant.clone());
                Some((grant, false))
            }
            None => {
                *state = State::FailedAt(Instant::now());
                None
            }
        }
    }

    /// Forgets a session, unless another one is in its place already.
    pub(super) fn forget(&self, key: &SessionKey, grant: &Arc<Grant>) {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = slots.by_key.get(key).is_some_and(|slot| {
            // Who holds the lock is replacing it.
            slot.try_lock()
                .is_ok_and(|state| matches!(&*state, State::Open(it) if Arc::ptr_eq(it, grant)))
        });
        if is_same {
            slots.by_key.remove(key);
        }
    }

    fn slot(&self, key: &SessionKey) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.by_key.get(key) {
            return slot.clone();
        }
        if slots.by_key.len() >= SESSIONS_MAX {
            slots.make_room();
        }
        slots.by_key.entry(key.clone()).or_default().clone()
    }
}

impl Slots {
    /// Forgets the expired sessions, or any one.
    fn make_room(&mut self) {
        if self.swept_at.is_none_or(|at| at.elapsed() >= SWEEP_PAUSE) {
            self.swept_at = Some(Instant::now());
            self.by_key.retain(|_, slot| is_open(slot));
        }
        if self.by_key.len() >= SESSIONS_MAX
            && let Some(key) = self.by_key.keys().next().cloned()
        {
            self.by_key.remove(&key);
        }
    }
}

/// Whether a slot has a session that may be used, or somebody is logging in.
fn is_open(slot: &Arc<Slot>) -> bool {
    match slot.try_lock() {
        Ok(state) => matches!(&*state, State::Open(grant) if grant.is_valid()),
        Err(_) => true,
    }
}
