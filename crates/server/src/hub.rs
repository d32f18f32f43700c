//! All sessions of a server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ingest::Pipeline;
use weir_net::HostGuard;

use crate::options::Options;
use crate::refusal::Refusal;
use crate::session::{Hold, Session};

/// The sessions, and what all of them share.
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

    /// Makes a session. Unless it is pinned, this starts the task that ends it when nobody
    /// uses it, and so needs a runtime.
    pub(crate) fn create(self: &Arc<Self>, hold: Hold) -> Result<Arc<Session>, Refusal> {
        self.create_with(&self.options, hold)
    }

    /// As [`Self::create`], with options of its own.
    pub(crate) fn create_with(
        self: &Arc<Self>,
        options: &Options,
        hold: Hold,
    ) -> Result<Arc<Session>, Refusal> {
        let mut sessions = self.lock();
        if sessions.len() >= self.options.sessions_max {
            return Err(Refusal::TooManySessions(self.options.sessions_max));
        }
        let session = Arc::new(Session::new(random_id()?, options, hold));
        sessions.insert(session.id().to_owned(), session.clone());
        drop(sessions);
        if hold != Hold::Pinned {
            tokio::spawn(reap(self.clone(), session.clone()));
        }
        Ok(session)
    }

    /// The session of that id.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        self.lock().get(id).cloned().ok_or(Refusal::UnknownSession)
    }

    /// Ends the session of that id.
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

/// Ends a session when nobody has used it for the grace time.
async fn reap(hub: Arc<Hub>, session: Arc<Session>) {
    session.unused_for(hub.options.grace).await;
    // An error means that somebody else has ended it.
    let _ = hub.end(session.id());
}

/// 128 random bits in hexadecimal: who knows them may read the session, and nobody guesses.
fn random_id() -> Result<String, Refusal> {
    let mut bytes = [0; 16];
    getrandom::getrandom(&mut bytes).map_err(|_| Refusal::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A session that a program fills itself, by [`Self::pipeline`].
#[derive(Debug, Clone)]
pub struct SessionHandle {
    pub(crate) session: Arc<Session>,
}

impl SessionHandle {
    /// 128 random bits in hexadecimal.
    pub fn id(&self) -> &str {
        self.session.id()
    }

    /// The address of its page at the server: `/s/ID`.
    pub fn path(&self) -> String {
        format!("/s/{}", self.id())
    }

    /// Where its sources are opened; [`Pipeline::data`] has what was read. `None` once the
    /// session was ended by `DELETE` or by the end of the server: the pipeline is cancelled
    /// then, and takes no more; let go of it to free its memory.
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.session.pipeline()
    }

    /// Waits until the session was ended by `DELETE` or by the end of the server.
    pub async fn ended(&self) {
        self.session.ended().await;
    }
}
