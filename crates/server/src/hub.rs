//! All sessions of a server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use weir_ingest::{Pipeline, ReadTotals, TotalMemory};
use weir_net::HostGuard;
use weir_observe::task::{TaskKind, TaskName};
use weir_sync::Lock;

use crate::captures::{PageCaptures, UploadCaptures};
use crate::data_set_name::DataSetName;
use crate::options::ServerOptions;
use crate::random_id::random_id;
use crate::refusal::Refusal;
use crate::session::{EndCause, Lifetime, Session, pattern_account};
use crate::turns::ServerTurns;

/// The maximum number of remembered ids of displaced sessions.
const DISPLACED_MAX: usize = 1_024;

/// All sessions, and the settings they share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) options: ServerOptions,
    pub(crate) guard: HostGuard,
    pub(crate) turns: ServerTurns,
    pub(crate) memory: TotalMemory,
    pub(crate) reads: ReadTotals,
    /// The address of the pages of `--admin`, if this page links to them.
    pub(crate) admin: OnceLock<String>,
    /// The captures that wait for an upload.
    pub(crate) uploads: Arc<UploadCaptures>,
    /// The captures that wait for a request.
    pub(crate) requests: Arc<PageCaptures>,
    sessions: Lock<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<String, Arc<Session>>,
    /// The ids of the last displaced sessions, so that their users learn why they ended.
    displaced: VecDeque<String>,
    /// The name of the session that the program serves, which is its id.
    served: Option<String>,
    /// Whether the server is being stopped.
    is_stopping: bool,
}

/// A new session.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) session: Arc<Session>,
    /// The session that it displaced.
    pub(crate) displaced: Option<DisplacedSession>,
}

/// A session that was ended to make room for another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplacedSession {
    pub(crate) id: String,
    /// The name of its first source; empty if it had none.
    pub(crate) name: String,
}

impl Sessions {
    /// Removes the session that has been unused for the longest time, of those that `may_go`.
    /// Returns `None` if all have users or are pinned. The memory of the session, which the caller
    /// must end, no longer counts.
    fn displace(&mut self, may_go: impl Fn(&Session) -> bool) -> Option<Arc<Session>> {
        let sessions = self.by_id.values().filter(|session| may_go(session));
        let unused = sessions.filter_map(|session| Some((session.unused_since()?, session)));
        let (_, session) = unused.min_by_key(|(since, _)| *since)?;
        let oldest = session.id().to_owned();
        let session = self.by_id.remove(&oldest)?;
        if self.displaced.len() == DISPLACED_MAX {
            self.displaced.pop_front();
        }
        self.displaced.push_back(session.id().to_owned());
        if let Ok(data) = session.data() {
            data.leave_total();
        }
        tracing::info!(session = session.number(), "a data set that no page shows made room");
        Some(session)
    }
}

/// Waits until a session has no users.
static SESSION_END: TaskKind = TaskKind::new("end of a session");

impl Hub {
    pub(crate) fn new(options: ServerOptions, guard: HostGuard) -> Arc<Self> {
        let memory = options.total_memory();
        let hub = Arc::new(Self {
            options,
            guard,
            turns: ServerTurns::new(pattern_account(memory.bytes_max())),
            memory,
            reads: ReadTotals::default(),
            admin: OnceLock::new(),
            uploads: Arc::default(),
            requests: Arc::default(),
            sessions: Lock::default(),
        });
        let owner = Arc::downgrade(&hub);
        hub.memory.make_room_with(move || owner.upgrade().is_some_and(|hub| hub.make_room()));
        hub
    }

    /// Displaces a session so that an upload in progress can continue. Returns false if no session
    /// can go.
    fn make_room(&self) -> bool {
        let mut sessions = self.sessions.lock();
        // Another upload may have made room meanwhile.
        if !self.memory.is_full() {
            return true;
        }
        // An empty session would make none, and its page is about to send a file.
        let has_sources =
            |session: &Session| session.data().is_ok_and(|data| !data.sources().is_empty());
        let Some(displaced) = sessions.displace(has_sources) else { return false };
        drop(sessions);
        displaced.end(EndCause::Request);
        true
    }

    /// Creates a session. Unless it is pinned, this spawns the task that ends it after disuse, so
    /// it needs a runtime. At the limit of sessions or of memory, the session unused for the
    /// longest time is displaced.
    pub(crate) fn create(self: &Arc<Self>, lifetime: Lifetime) -> Result<NewSession, Refusal> {
        let id = random_id()?;
        let mut sessions = self.sessions.lock();
        let displaced = match self.limit_reached(&sessions) {
            Some(limit) => Some(sessions.displace(|_| true).ok_or(limit)?),
            None => None,
        };
        let (turns, memory, reads) = (&self.turns, &self.memory, &self.reads);
        let session = Arc::new(Session::new(id, &self.options, lifetime, turns, memory, reads));
        sessions.by_id.insert(session.id().to_owned(), session.clone());
        drop(sessions);
        let displaced = displaced.map(|session| {
            let displaced = DisplacedSession { id: session.id().to_owned(), name: session.name() };
            session.end(EndCause::Request);
            displaced
        });
        if lifetime.can_end() {
            let end = end_when_unused(self.clone(), session.clone());
            tokio::spawn(SESSION_END.observe(TaskName::Unnamed, end));
        }
        Ok(NewSession { session, displaced })
    }

    /// Creates the session that the program serves, with options other than the server's. Its name
    /// is its id, and no request can end it.
    pub(crate) fn create_served(
        &self,
        options: &ServerOptions,
        name: &DataSetName,
    ) -> Result<Arc<Session>, Refusal> {
        let mut sessions = self.sessions.lock();
        if sessions.served.is_some() {
            return Err(Refusal::internal("a server serves one data set"));
        }
        let (turns, memory, reads) = (&self.turns, &self.memory, &self.reads);
        let id = name.as_str().to_owned();
        let session = Session::new(id.clone(), options, Lifetime::Served, turns, memory, reads);
        let session = Arc::new(session);
        sessions.by_id.insert(id.clone(), session.clone());
        sessions.served = Some(id);
        Ok(session)
    }

    /// Returns the name of the session that the program serves.
    pub(crate) fn served(&self) -> Option<String> {
        self.sessions.lock().served.clone()
    }

    /// Returns the limit that a new session would exceed.
    fn limit_reached(&self, sessions: &Sessions) -> Option<Refusal> {
        let sessions_max = self.options.sessions_max;
        match sessions.by_id.len() >= sessions_max {
            true => Some(Refusal::TooManySessions(sessions_max)),
            false if self.memory.is_full() => {
                Some(Refusal::TotalMemoryFull(self.memory.bytes_max()))
            }
            false => None,
        }
    }

    /// Returns the session with this id.
    pub(crate) fn find(&self, id: &str) -> Result<Arc<Session>, Refusal> {
        let sessions = self.sessions.lock();
        if let Some(session) = sessions.by_id.get(id) {
            return Ok(session.clone());
        }
        if sessions.is_stopping {
            return Err(Refusal::Stopping);
        }
        match sessions.displaced.iter().any(|displaced| displaced == id) {
            true => Err(Refusal::SessionDisplaced(self.options.sessions_max)),
            false => Err(Refusal::UnknownSession),
        }
    }

    /// Returns all sessions, in no particular order.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().by_id.values().cloned().collect()
    }

    /// Ends the session with this id, unless the program serves it.
    pub(crate) fn end(&self, id: &str) -> Result<(), Refusal> {
        let mut sessions = self.sessions.lock();
        if sessions.served.as_deref() == Some(id) {
            return Err(Refusal::ServedSession);
        }
        let session = sessions.by_id.remove(id).ok_or(Refusal::UnknownSession)?;
        drop(sessions);
        session.end(EndCause::Request);
        session.memory_return().soon();
        Ok(())
    }

    /// Ends all sessions, because the server is being stopped.
    pub(crate) fn end_all(&self) {
        let mut sessions = self.sessions.lock();
        // Pages whose connections end now ask whether their session still exists.
        sessions.is_stopping = true;
        let ended: Vec<_> = sessions.by_id.drain().collect();
        drop(sessions);
        for (_, session) in ended {
            session.end(EndCause::Stop);
        }
    }
}

/// Ends a session after it has had no user for the grace time.
async fn end_when_unused(hub: Arc<Hub>, session: Arc<Session>) {
    session.unused_for(hub.options.grace).await;
    // An error means that the session has already ended.
    let _ = hub.end(session.id());
}

/// A session whose sources a program opens itself, through [`Self::pipeline`].
#[derive(Debug, Clone)]
pub struct SessionHandle {
    pub(crate) session: Arc<Session>,
}

impl SessionHandle {
    /// Returns the session's id: 128 random bits in hexadecimal, or the name under which it is
    /// served.
    pub fn id(&self) -> &str {
        self.session.id()
    }

    /// Returns the path of the session's page on the server: `/s/ID`, or `/d/NAME` if it is served
    /// under a name.
    pub fn path(&self) -> String {
        self.session.path()
    }

    /// Returns the pipeline, which opens sources and holds the data set ([`Pipeline::data`]).
    /// Returns `None` after the session was ended by `DELETE` or with the server. The pipeline is
    /// then cancelled and accepts no more data; drop it to free its memory.
    pub fn pipeline(&self) -> Option<Arc<Pipeline>> {
        self.session.pipeline()
    }

    /// Waits until the session is ended by `DELETE` or with the server.
    pub async fn ended(&self) {
        self.session.ended().await;
    }
}

#[cfg(test)]
mod tests {
    use weir_net::HostGuard;

    use super::Hub;
    use crate::options::ServerOptions;
    use crate::refusal::Refusal;

    #[test]
    fn pages_are_not_told_that_their_session_is_gone_while_the_server_stops() {
        let hub = Hub::new(ServerOptions::default(), HostGuard::loopback());
        let name = "web1".parse().expect("a name");
        hub.create_served(&hub.options, &name).expect("a session");
        assert_eq!(hub.find("web1").expect("it is there").id(), "web1");
        assert_eq!(hub.find("web2").err(), Some(Refusal::UnknownSession));
        hub.end_all();
        // The next process may have it, so the page has to ask again.
        assert_eq!(hub.find("web1").err(), Some(Refusal::Stopping));
    }
}
