//! A key set at a URL.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use hyper::StatusCode;
use tokio::sync::watch;
use weir_net::redaction::shown_target;
use weir_observe::task::TaskKind;
use weir_sync::Lock;

use super::error::{KeySourceError, KeySourceFault, check_usable};
use super::{CurrentKeys, KeyStatus, Keys, RefreshRules};
use crate::fetch::{FetchClient, FetchUrl};
use crate::token::algorithm::Algorithm;
use crate::token::key::{KeySet, KeySetOrigin, parse_key_set};
use crate::token::refusal::TokenRefusal;

/// A key set at a URL. It is fetched at the start, again when it is old, and for a token that none of
/// its keys verifies. One fetch runs at a time, in a separate task, so that a client that
/// disconnects does not cancel it. If it fails, the last keys stay for
/// [`RefreshRules::stale_for_s`].
#[derive(Debug)]
pub(in crate::token) struct FetchedKeySet {
    /// Whose keys these are, as messages say it: the issuer `app`.
    owner: Box<str>,
    client: FetchClient,
    url: FetchUrl,
    algorithms: Vec<Algorithm>,
    rules: RefreshRules,
    current: CurrentKeys,
    attempt: Lock<Attempt>,
    /// The number of finished fetches.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Attempt {
    is_running: bool,
    /// When the last fetch started, in seconds since 1970.
    began_at_unix_s: Option<i64>,
}

impl FetchedKeySet {
    pub(in crate::token) fn new(
        owner: &str,
        client: FetchClient,
        url: FetchUrl,
        algorithms: Vec<Algorithm>,
        rules: RefreshRules,
    ) -> Self {
        Self {
            owner: owner.into(),
            client,
            url,
            algorithms,
            rules,
            current: CurrentKeys::default(),
            attempt: Lock::default(),
            ended: watch::Sender::new(0),
        }
    }

    pub(super) fn generation(&self) -> u64 {
        self.current.generation()
    }

    pub(super) fn status(&self) -> KeyStatus {
        self.current.status()
    }

    /// Returns the present keys, and refreshes old ones in the background. Waits if there are no
    /// usable keys.
    pub(super) async fn keys(this: &Arc<Self>, now_unix_s: i64) -> Result<Arc<Keys>, TokenRefusal> {
        if let Some(keys) = this.usable(now_unix_s) {
            if this.is_due(now_unix_s) {
                // The present keys are good enough for this token, so it does not wait.
                let _wait = Self::begin_fetch(this, now_unix_s);
            }
            return Ok(keys);
        }
        Self::fetch(this, now_unix_s).await;
        this.usable(now_unix_s).ok_or(TokenRefusal::KeysUnavailable)
    }

    /// Returns the present keys, if they are usable, and never waits.
    pub(in crate::token) fn present(this: &Arc<Self>, now_unix_s: i64) -> Option<Arc<Keys>> {
        this.usable(now_unix_s)
    }

    /// Starts a fetch for later callers, if one is permitted.
    pub(in crate::token) fn fetch_later(this: &Arc<Self>, now_unix_s: i64) {
        let _wait = Self::begin_fetch(this, now_unix_s);
    }

    /// Returns newer keys, after a fetch if one is permitted.
    pub(super) async fn newer(this: &Arc<Self>, than: &Keys, now_unix_s: i64) -> Option<Arc<Keys>> {
        let newer = || this.usable(now_unix_s).filter(|keys| keys.generation != than.generation);
        if let Some(keys) = newer() {
            return Some(keys);
        }
        Self::fetch(this, now_unix_s).await;
        newer()
    }

    /// Fetches the keys if they are old or absent, and waits for them. Returns the time until the
    /// next call.
    pub(in crate::token) async fn refresh(this: &Arc<Self>, now_unix_s: i64) -> Duration {
        if this.is_due(now_unix_s) {
            Self::fetch(this, now_unix_s).await;
        }
        this.rules.next_refresh(this.current.read_at_unix_s(), now_unix_s)
    }

    fn usable(&self, now_unix_s: i64) -> Option<Arc<Keys>> {
        let fetched_at = self.current.read_at_unix_s()?;
        if self.rules.is_too_old(fetched_at, now_unix_s) { None } else { self.current.keys() }
    }

    fn is_due(&self, now_unix_s: i64) -> bool {
        let fetched_at = self.current.read_at_unix_s();
        fetched_at.is_none_or(|fetched_at| self.rules.is_due(fetched_at, now_unix_s))
    }

    /// Waits for the running fetch or a new one. Returns at once if it is too early for a new one.
    /// The timeout of a fetch bounds the wait.
    async fn fetch(this: &Arc<Self>, now_unix_s: i64) {
        if let Some(mut ended) = Self::begin_fetch(this, now_unix_s) {
            // An error is impossible: the sender lives as long as `this`.
            let _ended = ended.changed().await;
        }
    }

    /// Starts a fetch unless one is running. The receiver changes when the fetch has finished.
    /// Returns `None` if it is too early.
    fn begin_fetch(this: &Arc<Self>, now_unix_s: i64) -> Option<watch::Receiver<u64>> {
        let mut attempt = this.attempt();
        let ended = this.ended.subscribe();
        if attempt.is_running {
            return Some(ended);
        }
        if !this.rules.may_try(attempt.began_at_unix_s, now_unix_s) {
            return None;
        }
        attempt.is_running = true;
        attempt.began_at_unix_s = Some(now_unix_s);
        drop(attempt);
        let running = RunningFetch(Arc::clone(this));
        let url = shown_target(&running.0.url.to_string());
        tokio::spawn(KEY_SET.observe(&*url, async move {
            let outcome = running.0.fetch_once().await;
            if let Err(error) = &outcome {
                let owner = &*running.0.owner;
                tracing::warn!(
                    target: "weir_gateway", url = &*error.place, error = %error,
                    "the keys of {owner} cannot be fetched"
                );
            }
            running.0.current.note(outcome, Some(now_unix_s));
        }));
        Some(ended)
    }

    async fn fetch_once(&self) -> Result<(bytes::Bytes, KeySet), KeySourceError> {
        let fetched = async {
            let answer = self.client.get(&self.url).await;
            let answer =
                answer.map_err(|error| KeySourceFault::Fetch(error.problem().to_string()))?;
            if answer.status != StatusCode::OK {
                return Err(KeySourceFault::Status(answer.status));
            }
            let set = parse_key_set(&answer.body, &self.algorithms, KeySetOrigin::FetchedSet);
            let set = check_usable(set.map_err(KeySourceFault::Set)?)?;
            Ok((answer.body, set))
        };
        let place = || shown_target(&self.url.to_string());
        fetched.await.map_err(|fault| KeySourceError { place: place(), fault })
    }

    fn attempt(&self) -> MutexGuard<'_, Attempt> {
        self.attempt.lock()
    }
}

/// The kind of the tasks that fetch key sets.
static KEY_SET: TaskKind = TaskKind::new("key set");

/// A guard of a running fetch. Its drop wakes the waiting callers, even after a panic.
struct RunningFetch(Arc<FetchedKeySet>);

impl Drop for RunningFetch {
    fn drop(&mut self) {
        // Under the lock, so that the next fetch cannot start first and mistake this signal for its
        // own end.
        let mut attempt = self.0.attempt();
        attempt.is_running = false;
        self.0.ended.send_modify(|count| *count += 1);
    }
}
