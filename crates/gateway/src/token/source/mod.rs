//! Where the keys of an issuer come from, and when they are looked for again.

mod current;
mod file;
mod schedule;
mod url;

use std::sync::Arc;

use self::current::CurrentKeys;
pub(super) use self::current::Keys;
pub(super) use self::file::KeySetFile;
pub use self::schedule::RefreshRules;
pub(super) use self::url::FetchedKeySet;
use super::key::{KeySet, SkippedKey};
use super::refusal::TokenRefusal;

/// Where the keys of an issuer come from.
#[derive(Debug)]
pub(super) enum KeyStore {
    /// They never change.
    Fixed(Arc<Keys>),
    File(Box<KeySetFile>),
    Url(Arc<FetchedKeySet>),
}

/// What a person may want to know of the keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyStatus {
    /// Keys that are used.
    pub keys: usize,
    /// Keys of the set that are not used, with the reason for each.
    pub skipped: Vec<SkippedKey>,
    /// When the present keys were read or fetched, in seconds since 1970, by the clock of the requests.
    pub read_at_unix_s: Option<i64>,
    /// How often keys were looked for, at a server or in a changed file.
    pub attempts: u64,
    /// How often that failed.
    pub failures: u64,
    /// Why it failed the last time, if the last attempt failed.
    pub last_error: Option<String>,
}

impl KeyStore {
    /// A store of one key.
    pub(super) fn fixed(set: KeySet) -> Self {
        Self::Fixed(Arc::new(Keys { set, generation: 0 }))
    }

    /// The number of the present keys, which grows with each change. Looks at a file at most once a second.
    pub(super) fn generation(&self, now_unix_s: i64) -> u64 {
        match self {
            Self::Fixed(_) => 0,
            Self::File(file) => file.generation(now_unix_s),
            Self::Url(url) => url.generation(),
        }
    }

    /// The present keys. Waits only if there are none yet, or if they are too old to be used.
    ///
    /// # Errors
    /// If there are none.
    pub(super) async fn keys(&self, now_unix_s: i64) -> Result<Arc<Keys>, TokenRefusal> {
        match self {
            Self::Fixed(keys) => Ok(Arc::clone(keys)),
            Self::File(file) => file.keys(now_unix_s),
            Self::Url(url) => FetchedKeySet::keys(url, now_unix_s).await,
        }
    }

    /// Newer keys than these, for a token whose key is not among them. `None` if there are none, or if
    /// it is too early to look again.
    pub(super) async fn newer(&self, than: &Keys, now_unix_s: i64) -> Option<Arc<Keys>> {
        match self {
            Self::Fixed(_) | Self::File(_) => None,
            Self::Url(url) => FetchedKeySet::newer(url, than, now_unix_s).await,
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
