//! Sessions with backends: the gateway logs in once for each user and backend, and remembers what it got.

mod grant;
mod login;
mod store;

use std::sync::Arc;

use hyper::HeaderMap;

use self::grant::Grant;
use self::login::Exchange;
pub(crate) use self::login::percent_encoded;
use self::store::SessionStore;
use crate::backend::Backend;
use crate::config::{Login, SessionConfig};
use crate::fetch::{FetchClient, FetchLimits};

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey {
    pub(crate) issuer: Arc<str>,
    pub(crate) subject: Arc<str>,
    pub(crate) backend: Arc<str>,
}

/// The sessions of one route.
#[derive(Debug)]
pub(crate) struct Sessions {
    settings: SessionSettings,
    store: SessionStore,
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
    key: SessionKey,
    token: String,
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
                client.ok().map(|client| (client, url.clone()))
            }
        };
        let settings = SessionSettings { config: config.clone(), exchange };
        Self { settings, store: SessionStore::default() }
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
        key: SessionKey,
        token: &str,
    ) -> Option<Session> {
        let begin = || login::begin(&self.settings, backend, &key, token);
        let (grant, is_reused) = self.store.get(&key, begin).await?;
        let (sessions, backend, token) = (self.clone(), backend.clone(), token.to_owned());
        Some(Session { sessions, backend, key, token, grant, is_reused })
    }
}

impl Session {
    /// Puts the session's credential into a request.
    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        self.grant.apply(headers);
    }

    /// Drops the session, because the backend does not know it any more, and begins another one.
    pub(crate) async fn renew(self) -> Option<Self> {
        self.sessions.store.forget(&self.key, &self.grant);
        let Self { sessions, backend, key, token, .. } = self;
        sessions.get(&backend, key, &token).await
    }
}
