//! All sessions of a server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_ingest::{Pipeline, ReadTotals, TotalMemory};
use weir_net::HostGuard;
use weir_observe::task::{TaskKind, TaskName};

use crate::captures::{PageCaptures, UploadCaptures};
use crate::options::Options;
use crate::random_id::random_id;
use crate::refusal::Refusal;
use crate::session::{EndCause, Lifetime, Session};
use crate::turns::ServerTurns;

/// The maximum number of ids that are remembered of sessions that made room for others.
const DISPLACED_MAX: usize = 1_024;

/// All sessions, and the settings they share.
#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) options: Options,
    pub(crate) guard: HostGuard,
    turns: ServerTurns,
    pub(crate) memory: TotalMemory,
    pub(crate) reads: ReadTotals,
    /// Those who wait to look at an upload.
    pub(crate) uploads: Arc<UploadCaptures>,
    /// Those who wait to look at a request.
    pub(crate) requests: Arc<PageCaptures>,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: HashMap<String, Arc<Session>>,
    /// The ids of the last sessions that made room for others, so that their users learn why
    /// they ended.
    displaced: VecDeque<String>,
}

/// A session that was created.
#[derive(Debug)]
pub(crate) struct Created {
    pub(crate) session: Arc<Session>,
    /// The session that made room for it.
    pub(crate) displaced: Option<DisplacedSession>,
}

/// A session that made room for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisplacedSession {
    pub(crate) id: String,
    /// The name of its first source; empty if it had none.
    pub(crate) name: String,
}

impl Sessions {
    /// Removes the session that has had no user for the longest time; `None` if all have users or
    /// are pinned.
    fn displace(&mut self) -> Option<Arc<Session>> {
        let unused =
            self.by_id.values().filter_map(|session| Some((session.unused_since()?, session)));
        let (_, session) = unused.min_by_key(|(since, _)| *since)?;
        let oldest = session.id().to_owned();
        let session = self.by_id.remove(&oldest)?;
        if self.displaced.len() == DISPLACED_MAX {
            self.displaced.pop_front();
        }
        self.displaced.push_back(session.id().to_owned());
        Some(session)
    }
}

/// Waits until nobody uses a session.
static SESSION_END: TaskKind = TaskKind::new("end of a session");

impl Hub {
    pub(crate) fn new(options: Options, guard: HostGuard) -> Self {
        let memory = options.total_memory();
        Self {
            options,
            guard,
            turns: ServerTurns::default(),
            memory,
            reads: ReadTotals::default(),
            uploads: Arc::default(),
            requests: Arc::default(),
            sessions: Mutex::default(),
        }
    }

    /// Creates a session. Unless it is pinned, this starts the task that ends it once it is
    /// unused, and so needs a runtime. At the limit of sessions or of memory, the session that has been
    /// without users for the longest time makes room.
    pub(crate) fn create(self: &Arc<Self>, lifetime: Lifetime) -> Result<Created, Refusal> {
        self.create_with(&self.options, lifetime)
    }

    /// As [`Self::create`], with other options than the server's.
    pub(crate) fn create_with(
        self: &Arc<Self>,
        options: &Options,
        lifetime: Lifetime,
    ) -> Result<Created, Refusal> {
        let id = random_id()?;
        let mut sessions = self.lock();
        let displaced = match self.limit_reached(&sessions) {
            Some(limit) => Some(sessions.displace().ok_or(limit)?),
            None => None,
        };
        let (turns, memory, reads) = (&self.turns, &self.memory, &self.reads);
        let session = Arc::new(Session::new(id, options, lifetime, turns, memory, reads));
        sessions.by_id.insert(session.id().to_owned(), session.clone());
        drop(sessions);
        let displaced = displaced.map(|session| {
            let displaced = DisplacedSession { id: session.id().to_owned(), name: session.name() };
            session.end(EndCause::Request);
            displaced
        });
        if lifetime != Lifetime::Pinned {
            let end = end_when_unused(self.clone(), session.clone());
            tokio::spawn(SESSION_END.observe(TaskName::Unnamed, end));
        }
        Ok(Created { session, displaced })
    }

    /// The limit at which a session has to make room for a new one.
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
        let sessions = self.lock();
        if let Some(session) = sessions.by_id.get(id) {
            return Ok(session.clone());
        }
        match sessions.displaced.iter().any(|displaced| displaced == id) {
            true => Err(Refusal::SessionDisplaced(self.options.sessions_max)),
            false => Err(Refusal::UnknownSession),
        }
    }

    /// All sessions, in no order.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        self.lock().by_id.values().cloned().collect()
    }

    /// Ends the session with this id.
    pub(crate) fn end(&self, id: &str) -> Result<(), Refusal> {
        let session = self.lock().by_id.remove(id).ok_or(Refusal::UnknownSession)?;
        session.end(EndCause::Request);
        Ok(())
    }

    /// Ends every session, because the server is being stopped.
    pub(crate) fn end_all(&self) {
        let sessions: Vec<_> = self.lock().by_id.drain().collect();
        for (_, session) in sessions {
            session.end(EndCause::Stop);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session once it has had no user for the grace time.
async fn end_when_unused(hub: Arc<Hub>, session: Arc<Session>) {
    session.unused_for(hub.options.grace).await;
    // An error means that the session has ended already.
    let _ = hub.end(session.id());
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
