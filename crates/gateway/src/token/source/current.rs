//! The present keys, and the outcome of attempts to read them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use ring::digest::{Digest, SHA256, digest};
use weir_sync::Lock;

use super::KeyStatus;
use super::error::{KeySourceError, KeySourceFault};
use crate::token::key::KeySet;

/// A key set with its generation.
#[derive(Debug)]
pub(in crate::token) struct Keys {
    pub(in crate::token) set: KeySet,
    pub(in crate::token) generation: u64,
}

/// The present keys of a source that may change.
#[derive(Debug, Default)]
pub(super) struct CurrentKeys {
    /// The generation of `CurrentState::keys`, readable without the lock. Cached tokens of other
    /// generations are not accepted.
    generation: AtomicU64,
    state: Lock<CurrentState>,
}

#[derive(Debug, Default)]
struct CurrentState {
    keys: Option<Arc<Keys>>,
    /// The digest of the text that the keys were read from.
    digest: Option<Digest>,
    read_at_unix_s: Option<i64>,
    attempts: u64,
    failures: u64,
    last_error: Option<String>,
}

impl CurrentKeys {
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) fn keys(&self) -> Option<Arc<Keys>> {
        self.state().keys.clone()
    }

    /// When the keys were read, in seconds since 1970; `None` if no request has supplied a time
    /// yet.
    pub(super) fn read_at_unix_s(&self) -> Option<i64> {
        self.state().read_at_unix_s
    }

    /// Notes the outcome of an attempt: a text and its keys, or an error. The generation changes
    /// only if the text did. After most errors the last keys stay.
    pub(super) fn note<T: AsRef<[u8]>>(
        &self,
        outcome: Result<(T, KeySet), KeySourceError>,
        now_unix_s: Option<i64>,
    ) {
        let mut state = self.state();
        state.attempts += 1;
        match outcome {
            Ok((text, set)) => {
                let digest = digest(&SHA256, text.as_ref());
                if state.digest.as_ref().is_none_or(|known| known.as_ref() != digest.as_ref()) {
                    let generation = self.generation() + 1;
                    state.keys = Some(Arc::new(Keys { set, generation }));
                    state.digest = Some(digest);
                    self.generation.store(generation, Ordering::Release);
                }
                state.read_at_unix_s = now_unix_s;
                state.last_error = None;
            }
            Err(error) => {
                state.failures += 1;
                state.last_error = Some(error.to_string());
                // A set without a usable key withdraws all earlier ones.
                if matches!(error.fault, KeySourceFault::NoUsableKey(..)) && state.keys.is_some() {
                    state.keys = None;
                    state.digest = None;
                    self.generation.store(self.generation() + 1, Ordering::Release);
                }
            }
        }
    }

    pub(super) fn status(&self) -> KeyStatus {
        let state = self.state();
        let set = state.keys.as_ref().map(|keys| &keys.set);
        KeyStatus {
            keys: set.map_or(0, KeySet::len),
            skipped: set.map(|set| set.skipped.clone()).unwrap_or_default(),
            read_at_unix_s: state.read_at_unix_s,
            attempts: state.attempts,
            failures: state.failures,
            last_error: state.last_error.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, CurrentState> {
        self.state.lock()
    }
}
