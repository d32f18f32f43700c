//! The turns and places of exports.
//!
//! An export has a place from its beginning to its end, and a turn while its bytes are made and taken.
//! While its client takes nothing, its turn goes to an export that waits for one, so that unread exports
//! do not delay others. Its place goes to an export that waits for one after a longer time, and then it
//! has to end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use weir_sync::Lock;

use super::turn_limit::{Turn, TurnLimit};

/// The maximum number of exports whose bytes are made at once, for all sessions and for one.
const TURNS_MAX: usize = 16;
const SESSION_TURNS_MAX: usize = 8;

/// The maximum number of exports that have begun, for all sessions and for one. Each holds a snapshot of
/// the data and a part.
const PLACES_MAX: usize = 128;
pub(crate) const SESSION_PLACES_MAX: usize = 64;

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
        let exports = self.clone();
        let since = Instant::now();
        let mut turn = ExportTurn { exports, turn: None, since, promise: None, _place: place };
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
    /// When it got the turn.
    since: Instant,
    /// Kept until the place is free. It is declared before the place, because fields are dropped in
    /// this order.
    promise: Option<Promise>,
    _place: Turn,
}

impl ExportTurn {
    /// Waits for a turn, if another export has got it.
    pub(crate) async fn resume(&mut self) {
        if self.turn.is_none() {
            self.turn = Some(acquire(&self.exports.turns, &self.exports.turns_wanted).await);
            self.since = Instant::now();
        }
    }

    /// Returns whether an export waits for a turn that no other export has given up for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.exports.turns_wanted.iter().any(|wanted| wanted.0.lock().lacks_permits())
    }

    /// Returns whether another export has got the turn.
    pub(crate) fn is_given_away(&self) -> bool {
        self.turn.is_none()
    }

    /// Returns for how long it has had the turn.
    pub(crate) fn held(&self) -> Duration {
        self.since.elapsed()
    }

    /// Gives the turn to an export that waits for one, if there is any.
    pub(crate) fn give_way(&mut self) {
        if self.turn.is_some()
            && let Some(promise) = self.exports.turns_wanted.iter().find_map(Demand::promise)
        {
            drop(promise);
            self.turn = None;
        }
    }

    /// Promises the place to an export that waits for one. Returns false if there is none, or all have
    /// been promised one. After that the export should end.
    pub(crate) fn promise_place(&mut self) -> bool {
        self.promise = self.exports.places_wanted.iter().find_map(Demand::promise);
        self.promise.is_some()
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
    /// The permits that other exports give up for them, and still hold.
    promised: usize,
    /// The permits that were given up for them, and that they have not noticed.
    given_up: usize,
}

impl Counts {
    /// Whether more of them wait than get a permit that was promised.
    fn lacks_permits(&self) -> bool {
        self.promised + self.given_up < self.waiting
    }
}

impl Demand {
    /// Waits for a permit. It always gets one, because the semaphores are never closed.
    async fn acquire(&self, permits: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
        if let Ok(free) = permits.clone().try_acquire_owned() {
            return Some(free);
        }
        let waiting = Waiting::begin(self);
        let permit = permits.clone().acquire_owned().await.ok();
        waiting.end();
        permit
    }

    /// Promises a permit to one that waits. Returns `None` if none does, or all have been promised one.
    fn promise(self: &Arc<Self>) -> Option<Promise> {
        let mut counts = self.0.lock();
        let is_wanted = counts.lacks_permits();
        counts.promised += usize::from(is_wanted);
        is_wanted.then(|| Promise(self.clone()))
    }
}

/// A permit that is given up for an export. It is dropped just before the permit.
#[derive(Debug)]
struct Promise(Arc<Demand>);

impl Drop for Promise {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        counts.promised -= 1;
        counts.given_up = (counts.given_up + 1).min(counts.waiting);
    }
}

/// Something that waits for a permit, until it is dropped.
struct Waiting<'a>(&'a Demand);

impl<'a> Waiting<'a> {
    fn begin(demand: &'a Demand) -> Self {
        demand.0.lock().waiting += 1;
        Self(demand)
    }

    /// Ends with a permit: one that was given up, if there is any.
    fn end(self) {
        let mut counts = self.0.0.lock();
        counts.given_up = counts.given_up.saturating_sub(1);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        counts.waiting -= 1;
        // Without this, a permit that nobody waits for any more would count for those that come later.
        counts.given_up = counts.given_up.min(counts.waiting);
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
        let promised: Vec<_> = begun.iter_mut().map(ExportTurn::promise_place).collect();
        assert_eq!(promised, [true, true, false, false, false]);
        begun.drain(..2);
        tokio::task::yield_now().await;
        assert!(!begun[0].promise_place(), "both have got one");
    }

    #[tokio::test(start_paused = true)]
    async fn a_promise_outlives_one_that_no_longer_waits() {
        let exports = ExportTurns::with_limits(&ServerExports::default(), 2, 2);
        let mut begun = [exports.begin().await, exports.begin().await];
        let (first, second) = (exports.wait().await, exports.wait().await);
        assert!(begun[0].promise_place());
        first.abort();
        assert!(first.await.is_err(), "it has given up");
        assert!(!begun[1].promise_place(), "the second gets the place that was promised");
        let [promised, other] = begun;
        drop(promised);
        let begun = second.await.expect("no panic");
        drop((begun, other));
        // What was promised does not count for those that wait later.
        let mut begun = [exports.begin().await, exports.begin().await];
        let _third = exports.wait().await;
        assert!(begun[0].promise_place());
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_becomes_free_by_itself_was_promised_to_nobody() {
        let exports = ExportTurns::with_limits(&ServerExports::default(), 3, 3);
        let [mut one, mut two, ended] =
            [exports.begin().await, exports.begin().await, exports.begin().await];
        let (first, _second) = (exports.wait().await, exports.wait().await);
        assert!(one.promise_place());
        drop(ended);
        let _first = first.await.expect("no panic");
        assert!(!two.promise_place(), "the second gets the place that was promised");
    }

    #[tokio::test(start_paused = true)]
    async fn a_promise_to_nobody_is_forgotten() {
        let exports = ExportTurns::with_limits(&ServerExports::default(), 1, 1);
        let mut begun = exports.begin().await;
        let waiting = exports.wait().await;
        assert!(begun.promise_place());
        waiting.abort();
        assert!(waiting.await.is_err(), "it has given up");
        drop(begun);
        let mut begun = exports.begin().await;
        let _next = exports.wait().await;
        assert!(begun.promise_place());
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
