//! The turns and places of exports.
//!
//! An export has a place from its beginning to its end, and a turn while its bytes are made and taken.
//! While its client takes nothing, its turn goes to an export that waits for one, so that unread exports
//! do not delay others. Its place goes to an export that waits for one after a longer time, and then it
//! has to end.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_sync::Lock;

use super::turn_limit::{Turn, TurnLimit};

/// The maximum number of exports whose bytes are made at once, for all sessions and for one.
const TURNS_MAX: usize = 16;
const SESSION_TURNS_MAX: usize = 8;

/// The maximum number of exports that have begun, for all sessions and for one. Each holds a snapshot of
/// the data and a part.
const PLACES_MAX: usize = 128;
const SESSION_PLACES_MAX: usize = 64;

/// The exports of all sessions. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct ServerExports {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    turns_wanted: Arc<Demand>,
    places_wanted: Arc<Demand>,
}

impl Default for ServerExports {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(TURNS_MAX)),
            places: Arc::new(Semaphore::new(PLACES_MAX)),
            turns_wanted: Arc::default(),
            places_wanted: Arc::default(),
        }
    }
}

/// The exports of a session.
#[derive(Debug)]
pub(crate) struct ExportTurns {
    turns: TurnLimit,
    places: TurnLimit,
    /// What is wanted of this session, and of all of them.
    turns_wanted: [Arc<Demand>; 2],
    places_wanted: [Arc<Demand>; 2],
}

impl ExportTurns {
    pub(super) fn new(server: &ServerExports) -> Arc<Self> {
        Self::with_limits(server, SESSION_TURNS_MAX, SESSION_PLACES_MAX)
    }

    fn with_limits(server: &ServerExports, turns_max: usize, places_max: usize) -> Arc<Self> {
        let server = server.clone();
        Arc::new(Self {
            turns: TurnLimit::new(&server.turns, turns_max),
            places: TurnLimit::new(&server.places, places_max),
            turns_wanted: [Arc::default(), server.turns_wanted],
            places_wanted: [Arc::default(), server.places_wanted],
        })
    }

    /// Waits for a place and a turn.
    pub(super) async fn begin(self: &Arc<Self>) -> ExportTurn {
        let place = acquire(&self.places, &self.places_wanted).await;
        let mut turn = ExportTurn { exports: self.clone(), turn: None, _place: place };
        turn.resume().await;
        turn
    }
}

/// The permission for an export, until it is dropped.
#[derive(Debug)]
pub(crate) struct ExportTurn {
    exports: Arc<ExportTurns>,
    /// `None` after another export has got it.
    turn: Option<Turn>,
    _place: Turn,
}

impl ExportTurn {
    /// Waits for a turn, if another export has got it.
    pub(crate) async fn resume(&mut self) {
        if self.turn.is_none() {
            self.turn = Some(acquire(&self.exports.turns, &self.exports.turns_wanted).await);
        }
    }

    /// Gives the turn to an export that waits for one, if there is any.
    pub(crate) fn give_way(&mut self) {
        if self.turn.is_some() && self.exports.turns_wanted.iter().any(|wanted| wanted.promise()) {
            self.turn = None;
        }
    }

    /// Promises the place to an export that waits for one. Returns false if there is none, or all have
    /// been promised one. After that the export should end.
    pub(crate) fn promise_place(&self) -> bool {
        self.exports.places_wanted.iter().any(|wanted| wanted.promise())
    }
}

/// Waits for a permit of the session and one of the server, in order of arrival.
async fn acquire(limit: &TurnLimit, [session, server]: &[Arc<Demand>; 2]) -> Turn {
    let session = session.acquire(&limit.session).await;
    [None, session, server.acquire(&limit.server).await]
}

/// How many exports wait for a permit of one kind.
#[derive(Debug, Default)]
struct Demand(Lock<Counts>);

#[derive(Debug, Default)]
struct Counts {
    waiting: usize,
    /// How many of them get a permit that another export gives up for them.
    promised: usize,
}

impl Demand {
    /// Waits for a permit. It always gets one, because the semaphores are never closed.
    async fn acquire(&self, permits: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        if let Ok(free) = permits.clone().try_acquire_owned() {
            return Some(free);
        }
        self.0.lock().waiting += 1;
        let _waiting = Waiting(self);
        permits.clone().acquire_owned().await.ok()
    }

    /// Promises a permit to one that waits. Returns false if none does, or all have been promised one.
    fn promise(&self) -> bool {
        let mut counts = self.0.lock();
        let is_wanted = counts.promised < counts.waiting;
        counts.promised += usize::from(is_wanted);
        is_wanted
    }
}

/// Something that waits for a permit, until it is dropped.
struct Waiting<'a>(&'a Demand);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        counts.waiting -= 1;
        counts.promised = counts.promised.saturating_sub(1);
    }
}

#[cfg(test)]
impl ExportTurns {
    /// Begins as many exports as there are places. Others wait for them.
    pub(crate) async fn contested(places: usize, waiting: usize) -> Vec<ExportTurn> {
        let exports = Self::with_limits(&ServerExports::default(), places, places);
        let mut begun = Vec::new();
        for _ in 0..places {
            begun.push(exports.begin().await);
        }
        for _ in 0..waiting {
            exports.wait().await;
        }
        begun
    }

    /// Begins an export that has the only turn, and one that waits for it.
    pub(crate) async fn with_one_turn() -> (ExportTurn, tokio::task::JoinHandle<ExportTurn>) {
        let exports = Self::with_limits(&ServerExports::default(), 1, 2);
        (exports.begin().await, exports.wait().await)
    }

    /// Begins to wait.
    async fn wait(self: &Arc<Self>) -> tokio::task::JoinHandle<ExportTurn> {
        let exports = self.clone();
        let waiting = tokio::spawn(async move { exports.begin().await });
        tokio::task::yield_now().await;
        waiting
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn is_ready(future: impl Future<Output = ExportTurn>) -> bool {
        timeout(Duration::from_secs(1), future).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_unread_export_gives_its_turn_to_one_that_waits() {
        let exports = ExportTurns::new(&ServerExports::default());
        let mut unread = Vec::new();
        for _ in 0..SESSION_TURNS_MAX {
            unread.push(exports.begin().await);
        }
        unread[0].give_way();
        assert!(unread[0].turn.is_some(), "nobody waits for it");
        assert!(!is_ready(exports.begin()).await);
        let waiting = exports.wait().await;
        unread.iter_mut().for_each(ExportTurn::give_way);
        let without = unread.iter().filter(|it| it.turn.is_none()).count();
        assert_eq!(without, 1, "only one is wanted");
        let next = waiting.await.expect("no panic");
        // It gets a turn again when the other has ended.
        assert!(timeout(Duration::from_secs(1), unread[0].resume()).await.is_err());
        drop(next);
        unread[0].resume().await;
        assert!(unread[0].turn.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_places_are_promised_as_are_wanted() {
        let mut begun = ExportTurns::contested(5, 2).await;
        let promised: Vec<_> = begun.iter().map(ExportTurn::promise_place).collect();
        assert_eq!(promised, [true, true, false, false, false]);
        begun.drain(..2);
        tokio::task::yield_now().await;
        assert!(!begun[0].promise_place(), "both have got one");
    }

    #[tokio::test(start_paused = true)]
    async fn the_sessions_of_a_server_share_places() {
        let server = ServerExports::default();
        let sessions: Vec<_> = (0..3).map(|_| ExportTurns::new(&server)).collect();
        let mut begun = Vec::new();
        for session in &sessions[..2] {
            for _ in 0..SESSION_PLACES_MAX {
                // Each leaves its turn to the next.
                let mut next = std::pin::pin!(session.begin());
                loop {
                    if let Ok(turn) = timeout(Duration::from_millis(1), &mut next).await {
                        begun.push(turn);
                        break;
                    }
                    begun.iter_mut().for_each(ExportTurn::give_way);
                }
            }
        }
        let mut third = std::pin::pin!(sessions[2].begin());
        assert!(timeout(Duration::from_secs(1), &mut third).await.is_err());
        assert!(begun[0].promise_place() && !begun[1].promise_place());
        begun.remove(0);
        // It has a place now, and waits for a turn.
        assert!(timeout(Duration::from_secs(1), &mut third).await.is_err());
        begun.iter_mut().for_each(ExportTurn::give_way);
        assert!(timeout(Duration::from_secs(1), &mut third).await.is_ok());
    }
}
