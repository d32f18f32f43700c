//! All sessions of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ingest::Pipeline;
use weir_net::HostGuard;

use crate::options::Options;
use crate::refusal::Refusal;
use crate::session::{Lifetime, Session};

/// All sessions, and the settings they share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) options: Options,
    pub(crate) guard: HostGuard,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

impl Hub {
    pub(crate) fn new(options: Options, guard: HostGuard) -> Self {
        Self { options, guard, sessions: Mutex::default() }
    }

    /// Creates a session. Unless it is pinned, this starts the task that ends it once it is
    /// unused, and so needs a runtime.
    pub(crate) fn create(self: &Arc<Self>, lifetime: Lifetime) -> Result<Arc<Session>, Refusal> {
        self.create_with(&self.options, lifetime)
    }

    /// As [`Self::create`], with other options than the server's.
    pub(crate) fn create_with(
        self: &Arc<Self>,
        options: &Options,
        lifetime: Lifetime,
    ) -> Result<Arc<Session>, Refusal> {
        let mut sessions = self.lock();
        if sessions.len() >= self.options.sessions_max {
            return Err(Refusal::TooManySessions(self.options.sessions_max));
        }
        let session = Arc::new(Session::new(random_id()?, options, lifetime));
        sessions.insert(session.id().to_owned(), session.clone());
        drop(sessions);
        if lifetime != Lifetime::Pinned {
            tokio::spawn(end_when_unused(self.clone(), session.clone()));
        }
        Ok(session)
    }

    /// Returns the session with this id.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        self.lock().get(id).cloned().ok_or(Refusal::UnknownSession)
    }

    /// Ends the session with this id.
    pub(crate) fn end(&self, id: &str) -> Result<(), Refusal> {
        let session = self.lock().remove(id).ok_or(Refusal::UnknownSession)?;
        session.end();
        Ok(())
    }

    /// Ends every session.
    pub(crate) fn end_all(&self) {
        let sessions: Vec<_> = self.lock().drain().collect();
        for (_, session) in sessions {
            session.end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session once it has had no user for the grace time.
async fn end_when_unused(hub: Arc<Hub>, session: Arc<Session>) {
    session.unused_for(hub.options.grace).await;
    // An error means that the session has ended already.
    let _ = hub.end(session.id());
}

/// 128 random bits in hexadecimal. The id is the only access control of a session, so it must
/// be impossible to guess.
fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::getrandom(&mut bytes).map_err(|_| Refusal::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A session whose sources a program opens itself, through [`Self::pipeline`].
#[derive(Debug, Clone)]
pub struct SessionHandle {
    pub(crate) session: Arc<Session>,
}

impl SessionHandle {
    /// The session's id: 128 random bits in hexadecimal.
    pub fn id(&self) -> &str {
        self.session.id()
    }

    /// The path of the session's page on the server: `/s/ID`.
    pub fn path(&self) -> String {
        format!("/s/{}", self.id())
    }

    /// The pipeline that opens sources and holds the data set ([`Pipeline::data`]). Returns
    /// `None` once the session was ended by `DELETE` or with the server. The pipeline is then
    /// cancelled and accepts no more; drop it to free its memory.
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.session.pipeline()
    }

    /// Waits until the session was ended by `DELETE` or with the server.
    pub async fn ended(&self) {
        self.session.ended().await;
    }
}
