//! Sessions with backends: the gateway logs in once for each user and backend, and caches the
//! grant.

mod fault;
mod grant;
mod login;

use std::sync::Arc;

use hyper::HeaderMap;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use self::grant::Grant;
use self::login::Exchange;
use crate::backend::{Backend, BackendId};
use crate::config::{Login, Secret, SessionConfig};
use crate::fetch::{FetchClient, FetchLimits};
use crate::shared_cache::{CacheKey, CacheResult, SharedCache};

/// The user of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionUser {
    pub(crate) issuer: Arc<str>,
    pub(crate) subject: Arc<str>,
}

/// The cache key of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SessionKey {
    user: SessionUser,
    /// The backend's id, not its name: a session with one backend must not be sent to a backend
    /// that replaces it.
    backend: BackendId,
    /// The digest of the exchanged token: another token of the same user may have other rights.
    token: Option<[u8; SHA256_OUTPUT_LEN]>,
}

impl CacheKey for SessionKey {
    fn heap_bytes(&self) -> usize {
        self.user.subject.len()
    }
}

/// The sessions of one route.
#[derive(Debug)]
pub(crate) struct Sessions {
    settings: SessionSettings,
    grants: SharedCache<SessionKey, Grant>,
}

#[derive(Debug)]
struct SessionSettings {
    config: SessionConfig,
    exchange: Option<Exchange>,
}

/// A session used by a request.
#[derive(Debug)]
pub(crate) struct Session {
    sessions: Arc<Sessions>,
    backend: Arc<Backend>,
    user: SessionUser,
    /// The client's token.
    token: Secret,
    grant: Arc<Grant>,
    /// Whether an earlier request logged in.
    pub(crate) is_reused: bool,
}

impl Sessions {
    pub(crate) fn new(config: &SessionConfig) -> Self {
        let exchange = match &config.login {
            Login::Path(_) => None,
            // Without certificate authorities there is no client; the error was reported when the
            // configuration was read.
            Login::Exchange(url) => {
                let client = FetchClient::for_url(url, None, FetchLimits::default());
                client.ok().map(|client| (client.for_purpose("token exchange"), url.clone()))
            }
        };
        let settings = SessionSettings { config: config.clone(), exchange };
        Self { settings, grants: SharedCache::new() }
    }

    /// Whether the sessions have these settings.
    pub(crate) fn has_config(&self, config: &SessionConfig) -> bool {
        self.settings.config == *config
    }

    /// Returns the session of a user with a backend. If the log-in fails, reports the reason, and
    /// returns `None`. Concurrent requests of the same user share one log-in.
    pub(crate) async fn get(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        user: SessionUser,
        token: &str,
    ) -> Option<Session> {
        self.get_other_than(None, backend, user, token).await
    }

    async fn get_other_than(
        self: &Arc<Self>,
        stale: Option<&Arc<Grant>>,
        backend: &Arc<Backend>,
        user: SessionUser,
        token: &str,
    ) -> Option<Session> {
        let is_exchanged = self.settings.exchange.is_some();
        let key =
            SessionKey { user, backend: backend.id(), token: is_exchanged.then(|| sha256(token)) };
        let renewals = stale.map_or(0, |grant| grant.next_renewals());
        let begin = || login::begin(&self.settings, backend, &key.user, token, renewals);
        let CacheResult { value, is_cached } = self.grants.get(&key, stale, begin).await?;
        Some(Session {
            sessions: self.clone(),
            backend: backend.clone(),
            user: key.user,
            token: Secret::new(token),
            grant: value,
            is_reused: is_cached,
        })
    }
}

fn sha256(text: &str) -> [u8; SHA256_OUTPUT_LEN] {
    let mut bytes = [0; SHA256_OUTPUT_LEN];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

impl Session {
    /// Adds the session's credential to a request.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        self.grant.apply(headers);
    }

    /// Whether a new log-in may replace this session after the backend rejected it.
    pub(crate) fn may_be_renewed(&self) -> bool {
        self.is_reused && self.grant.may_be_renewed()
    }

    /// Logs in again, and returns the new session.
    pub(crate) async fn renew(self) -> Option<Self> {
        let Self { sessions, backend, user, token, grant, .. } = self;
        let token = std::str::from_utf8(token.bytes()).ok()?;
        sessions.get_other_than(Some(&grant), &backend, user, token).await
    }
}
