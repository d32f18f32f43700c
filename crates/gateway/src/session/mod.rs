//! Sessions with backends: the gateway logs in once for each user and backend, and remembers what it got.

mod grant;
mod login;

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

use self::grant::Grant;
use self::login::Exchange;
use crate::backend::{Backend, BackendId};
use crate::config::{Login, Secret, SessionConfig};
use crate::fetch::{FetchClient, FetchLimits};
use crate::shared_cache::{Found, SharedCache};

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionUser {
    pub(crate) issuer: Arc<str>,
    pub(crate) subject: Arc<str>,
}

/// What a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct SessionKey {
    user: SessionUser,
    /// The backend itself, not its name: what one server gave is not for the one that replaces it.
    backend: BackendId,
    /// The digest of the token that was exchanged: another one of the same user may have other rights.
    token: Option<[u8; SHA256_OUTPUT_LEN]>,
}

/// A session that was renewed is not renewed again for so long: an answer 401 may have other reasons.
const RENEWAL_PAUSE: Duration = Duration::from_secs(10);

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

/// A session that a request uses.
#[derive(Debug)]
pub(crate) struct Session {
    sessions: Arc<Sessions>,
    backend: Arc<Backend>,
    user: SessionUser,
    /// The client's token.
    token: Secret,
    grant: Arc<Grant>,
    /// Whether the log-in was made for an earlier request.
    pub(crate) is_reused: bool,
}

impl Sessions {
    pub(crate) fn new(config: &SessionConfig) -> Self {
        let exchange = match &config.login {
            Login::Path(_) => None,
            // Without authorities there is no client, which was said when the configuration was read.
            Login::Exchange(url) => {
                let client = FetchClient::for_url(url, None, FetchLimits::default());
                client.ok().map(|client| (client.for_purpose("token exchange"), url.clone()))
            }
        };
        let settings = SessionSettings { config: config.clone(), exchange };
        Self { settings, grants: SharedCache::new() }
    }

    /// Whether these are the sessions of this configuration.
    pub(crate) fn are_of(&self, config: &SessionConfig) -> bool {
        self.settings.config == *config
    }

    /// The session of a user with a backend. Requests of the same user wait for one log-in. `None` if it
    /// fails.
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
        let is_renewal = stale.is_some();
        let begin = || login::begin(&self.settings, backend, (&key.user, token), is_renewal);
        let Found { value, is_remembered } = self.grants.get(&key, stale, begin).await?;
        Some(Session {
            sessions: self.clone(),
            backend: backend.clone(),
            user: key.user,
            token: Secret::new(token),
            grant: value,
            is_reused: is_remembered,
        })
    }
}

fn sha256(text: &str) -> [u8; SHA256_OUTPUT_LEN] {
    let mut bytes = [0; SHA256_OUTPUT_LEN];
    bytes.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    bytes
}

impl Session {
    /// Puts the session's credential into a request.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        self.grant.apply(headers);
    }

    /// Whether another session may be begun in place of this one, which the backend does not know any more.
    pub(crate) fn may_be_renewed(&self) -> bool {
        self.is_reused && !(self.grant.is_renewal && self.grant.begun.elapsed() < RENEWAL_PAUSE)
    }

    /// Begins another session in place of this one.
    pub(crate) async fn renew(self) -> Option<Self> {
        let Self { sessions, backend, user, token, grant, .. } = self;
        let token = std::str::from_utf8(token.bytes()).ok()?;
        sessions.get_other_than(Some(&grant), &backend, user, token).await
    }
}
