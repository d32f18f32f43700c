//! Sources of an issuer's keys, and the schedule of their refresh.

mod current;
mod error;
mod file;
mod schedule;
mod url;

use std::sync::Arc;
use std::time::Duration;

use self::current::CurrentKeys;
pub(super) use self::current::Keys;
pub use self::error::{KeySourceError, KeySourceFault};
pub(super) use self::file::KeySetFile;
pub use self::schedule::RefreshRules;
pub(super) use self::url::FetchedKeySet;
use super::key::{KeySet, SkippedKey};
use super::refusal::TokenRefusal;

/// A source of an issuer's keys.
#[derive(Debug)]
pub(super) enum KeyStore {
    /// Keys that never change.
    Fixed(Arc<Keys>),
    File(Box<KeySetFile>),
    Url(Arc<FetchedKeySet>),
}

/// The status of an issuer's keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyStatus {
    /// The number of usable keys.
    pub keys: usize,
    /// The unusable keys of the set, with reasons.
    pub skipped: Vec<SkippedKey>,
    /// When the present keys were read or fetched, in seconds since 1970, by the times that callers
    /// passed.
    pub read_at_unix_s: Option<i64>,
    /// The number of attempts to fetch the keys or to read a changed file.
    pub attempts: u64,
    /// The number of failed attempts.
    pub failures: u64,
    /// The error of the last attempt, if it failed.
    pub last_error: Option<String>,
}

impl KeyStore {
    /// Creates a store of keys that never change.
    pub(super) fn fixed(set: KeySet) -> Self {
        Self::Fixed(Arc::new(Keys { set, generation: 0 }))
    }

    /// Returns the generation of the present keys, which grows with each change. Checks a file at
    /// most once a second.
    pub(super) fn generation(&self, now_unix_s: i64) -> u64 {
        match self {
            Self::Fixed(_) => 0,
            Self::File(file) => file.generation(now_unix_s),
            Self::Url(url) => url.generation(),
        }
    }

    /// Returns the present keys. Waits only if there are none yet, or if they are too old to be
    /// used.
    ///
    /// # Errors
    /// If there are no usable keys.
    pub(super) async fn keys(&self, now_unix_s: i64) -> Result<Arc<Keys>, TokenRefusal> {
        match self {
            Self::Fixed(keys) => Ok(Arc::clone(keys)),
            Self::File(file) => file.keys(now_unix_s),
            Self::Url(url) => FetchedKeySet::keys(url, now_unix_s).await,
        }
    }

    /// Returns newer keys, for a token that none of the present ones verifies. Returns `None` if
    /// there are none, or if it is too early to fetch again.
    pub(super) async fn newer(&self, than: &Keys, now_unix_s: i64) -> Option<Arc<Keys>> {
        match self {
            Self::Fixed(_) | Self::File(_) => None,
            Self::Url(url) => FetchedKeySet::newer(url, than, now_unix_s).await,
        }
    }

    /// Fetches keys at a URL if they are old or absent. Returns the time until the next call.
    pub(super) async fn refresh(&self, now_unix_s: i64) -> Option<Duration> {
        match self {
            Self::Fixed(_) | Self::File(_) => None,
            Self::Url(url) => Some(FetchedKeySet::refresh(url, now_unix_s).await),
        }
    }

    pub(super) fn status(&self) -> KeyStatus {
        match self {
            Self::Fixed(keys) => KeyStatus { keys: keys.set.len(), ..KeyStatus::default() },
            Self::File(file) => file.status(),
            Self::Url(url) => url.status(),
        }
    }
}
