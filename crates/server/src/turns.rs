//! Turns: how many answers are computed at once, and for how long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use weir_observe::task::{TaskKind, TaskName};

use crate::refusal::Refusal;

/// The maximum number of answers that are computed at once for all sessions in short and in long
/// turns. A question may hold about 100 MiB of compiled expressions while it is answered.
const SHORT_ANSWERS_MAX: usize = 3;
const LONG_ANSWERS_MAX: usize = 2;

/// The same for one session, so that it leaves turns to the others.
const SESSION_SHORT_ANSWERS_MAX: usize = 2;
const SESSION_LONG_ANSWERS_MAX: usize = 1;

/// The length of a short turn. 4 million records take half of it. An answer that takes longer goes
/// on in a long turn, so that other questions need not wait for it.
pub(crate) const SHORT_TURN: Duration = Duration::from_millis(250);

/// A question with more regular expressions than this has no short turn, because compiling them
/// takes long and cannot be interrupted.
const SHORT_EXPRESSIONS_MAX: usize = 4;

/// The maximum number of questions that are checked at once, for all sessions and for one. Apart
/// from answers, so that a new question can replace one that takes long.
const CHECKS_MAX: usize = 2;
const SESSION_CHECKS_MAX: usize = 1;

/// The maximum number of exports that are sent at once, for all sessions and for one. An export waits
/// for its client most of the time, and holds a snapshot of the data.
const EXPORTS_MAX: usize = 16;
const SESSION_EXPORTS_MAX: usize = 1;

/// How long work will take, as far as is known before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Short,
    Long,
}

impl Effort {
    /// The effort for a question with this number of regular expressions.
    pub(crate) fn of(expressions: usize) -> Self {
        if expressions > SHORT_EXPRESSIONS_MAX { Self::Long } else { Self::Short }
    }
}

/// Work of one kind that may be done at once, in all sessions and in this one.
#[derive(Debug)]
struct Lane {
    server: Arc<Semaphore>,
    session: Arc<Semaphore>,
}

/// The permission to work in a lane, until it is dropped.
pub(crate) type Turn = [Option<OwnedSemaphorePermit>; 2];

impl Lane {
    fn new(server: &Arc<Semaphore>, session_max: usize) -> Self {
        Self { server: server.clone(), session: Arc::new(Semaphore::new(session_max)) }
    }

    /// Waits for a turn, in order of arrival. The semaphores are never closed, so there always is
    /// one.
    async fn turn(&self) -> Turn {
        let own = self.session.clone().acquire_owned().await.ok();
        [own, self.server.clone().acquire_owned().await.ok()]
    }

    /// A turn if one is free.
    fn free_turn(&self) -> Option<Turn> {
        let own = self.session.clone().try_acquire_owned().ok()?;
        Some([Some(own), Some(self.server.clone().try_acquire_owned().ok()?)])
    }
}

/// The turns of all sessions of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerTurns {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    short_checks: Arc<Semaphore>,
    long_checks: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Default for ServerTurns {
    fn default() -> Self {
        let turns = |max| Arc::new(Semaphore::new(max));
        Self {
            short: turns(SHORT_ANSWERS_MAX),
            long: turns(LONG_ANSWERS_MAX),
            short_checks: turns(CHECKS_MAX),
            long_checks: turns(CHECKS_MAX),
            exports: turns(EXPORTS_MAX),
        }
    }
}

/// The turns of one session. Work waits for its turn in order of arrival, and runs on a thread
/// for blocking work, never on those that serve connections.
#[derive(Debug)]
pub(crate) struct SessionTurns {
    short: Lane,
    long: Lane,
    short_checks: Lane,
    long_checks: Lane,
    exports: Lane,
    answer_time_max: Duration,
}

/// Stops the work on an answer.
#[derive(Debug, Default)]
pub(crate) struct Cancellation {
    /// The flag that the work watches.
    should_stop: AtomicBool,
    /// Whether the answer is no longer wanted. Otherwise the work was stopped to start again.
    is_final: watch::Sender<bool>,
}

impl Cancellation {
    fn cancel(&self) {
        self.is_final.send_replace(true);
        self.should_stop.store(true, Ordering::SeqCst);
    }

    /// Waits for something, unless the answer is cancelled.
    pub(crate) async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut is_final = self.is_final.subscribe();
        tokio::select! {
            value = future => Some(value),
            // This cannot fail, because the sender lives in `self`.
            _ = is_final.wait_for(|is_final| *is_final) => None,
        }
    }

    fn stop(&self) {
        self.should_stop.store(true, Ordering::SeqCst);
    }

    /// Lets the work start again. Returns false if the answer is no longer wanted.
    fn restart(&self) -> bool {
        // In this order: if `cancel` comes between the two, its flag is set last.
        self.should_stop.store(false, Ordering::SeqCst);
        let is_wanted = !*self.is_final.borrow();
        if !is_wanted {
            self.stop();
        }
        is_wanted
    }
}

/// Cancels work on an answer when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct CancelOnDrop(Arc<Cancellation>);

impl CancelOnDrop {
    /// What the work has to watch.
    pub(crate) fn cancellation(&self) -> Arc<Cancellation> {
        self.0.clone()
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Work in progress, with the turn that it holds until it ends.
struct Running<T> {
    task: JoinHandle<Option<T>>,
    turn: Arc<Mutex<Turn>>,
    started: Instant,
}

impl<T: Send + 'static> Running<T> {
    fn start<F>(turn: Turn, cancellation: &Arc<Cancellation>, work: &Arc<F>) -> Self
    where
        F: Fn(&AtomicBool) -> Option<T> + Send + Sync + 'static,
    {
        let turn = Arc::new(Mutex::new(turn));
        let (held, cancellation, work) = (turn.clone(), cancellation.clone(), work.clone());
        let call = move || {
            let _held = held;
            work(&cancellation.should_stop)
        };
        let task = tokio::task::spawn_blocking(ANSWER.observe_call(TaskName::Unnamed, call));
        Self { task, turn, started: Instant::now() }
    }

    /// Waits for the end of the work, for this time since its start. Returns `None` if it goes on.
    async fn wait(&mut self, time_max: Duration) -> Option<Result<Option<T>, Refusal>> {
        let done = tokio::time::timeout_at(self.started + time_max, &mut self.task).await.ok()?;
        // This fails only if the work panics, or the server ends meanwhile.
        Some(done.map_err(|_| Refusal::SessionEnded))
    }

    /// Waits for the end of work that was stopped. It may have been done before it noticed.
    async fn wait_for_stop(self) -> Option<T> {
        self.task.await.unwrap_or_default()
    }

    /// Goes on in another turn, and returns the one before.
    fn exchange(&self, turn: Turn) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
    }
}

/// Computes an answer.
static ANSWER: TaskKind = TaskKind::new("answer");

/// Checks a question.
static CHECK: TaskKind = TaskKind::new("check of a question");

impl SessionTurns {
    pub(crate) fn new(server: &ServerTurns, answer_time_max: Duration) -> Self {
        Self {
            short: Lane::new(&server.short, SESSION_SHORT_ANSWERS_MAX),
            long: Lane::new(&server.long, SESSION_LONG_ANSWERS_MAX),
            short_checks: Lane::new(&server.short_checks, SESSION_CHECKS_MAX),
            long_checks: Lane::new(&server.long_checks, SESSION_CHECKS_MAX),
            exports: Lane::new(&server.exports, SESSION_EXPORTS_MAX),
            answer_time_max,
        }
    }

    /// Computes an answer: in a short turn, and if it takes longer than that, in a long one. If no
    /// long turn is free then, the work is stopped and starts again when it has one. Returns `None`
    /// if the answer was cancelled; the work should return `None` if the flag is set. Dropping the
    /// future does not free the turn before the work ends, so the caller should also cancel it.
    ///
    /// # Errors
    /// If the work takes longer than the session's limit; it has ended then.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        effort: Effort,
        cancellation: &Arc<Cancellation>,
        work: impl Fn(&AtomicBool) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<T>, Refusal> {
        let work = Arc::new(work);
        if effort == Effort::Short {
            let turn = cancellation.unless_cancelled(self.short.turn()).await;
            let Some(turn) = turn else { return Ok(None) };
            let mut running = Running::start(turn, cancellation, &work);
            if let Some(done) = running.wait(SHORT_TURN).await {
                return done;
            }
            if let Some(turn) = self.long.free_turn() {
                running.exchange(turn);
                return self.wait_for_long(running, cancellation).await;
            }
            cancellation.stop();
            if let Some(done) = running.wait_for_stop().await {
                return Ok(Some(done));
            }
        }
        let turn = cancellation.unless_cancelled(self.long.turn()).await;
        let Some(turn) = turn.filter(|_| cancellation.restart()) else { return Ok(None) };
        let running = Running::start(turn, cancellation, &work);
        self.wait_for_long(running, cancellation).await
    }

    async fn wait_for_long<T: Send + 'static>(
        &self,
        mut running: Running<T>,
        cancellation: &Cancellation,
    ) -> Result<Option<T>, Refusal> {
        if let Some(done) = running.wait(self.answer_time_max).await {
            return done;
        }
        cancellation.stop();
        running.wait_for_stop().await;
        Err(Refusal::TooSlow(self.answer_time_max.as_secs()))
    }

    /// Waits for the turn of an export.
    pub(crate) async fn export_turn(&self) -> Turn {
        self.exports.turn().await
    }

    /// Checks a question, which may compile large expressions. Short checks do not wait for long
    /// ones.
    ///
    /// # Errors
    /// If the server ends meanwhile.
    pub(crate) async fn check<T: Send + 'static>(
        &self,
        effort: Effort,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let lane = match effort {
            Effort::Short => &self.short_checks,
            Effort::Long => &self.long_checks,
        };
        let turn = lane.turn().await;
        let work = move || {
            let _turn = turn;
            work()
        };
        let checked = tokio::task::spawn_blocking(CHECK.observe_call(TaskName::Unnamed, work));
        checked.await.map_err(|_| Refusal::SessionEnded)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{
        CancelOnDrop, Cancellation, Effort, LONG_ANSWERS_MAX, SESSION_LONG_ANSWERS_MAX,
        SESSION_SHORT_ANSWERS_MAX, SHORT_ANSWERS_MAX, ServerTurns, SessionTurns,
    };
    use crate::refusal::Refusal;

    const TIME_MAX: Duration = Duration::from_secs(20);

    /// Work that goes on until it is stopped. Counts how often it has begun.
    fn endless(begun: &Arc<AtomicUsize>) -> impl Fn(&AtomicBool) -> Option<()> + use<> {
        let begun = begun.clone();
        move |should_stop| {
            begun.fetch_add(1, Ordering::SeqCst);
            while !should_stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            None
        }
    }

    async fn wait_until(mut condition: impl FnMut() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn answers_at_once_are_limited_also_when_their_clients_go() {
        let server = ServerTurns::default();
        let sessions: Vec<_> =
            (0..4).map(|_| Arc::new(SessionTurns::new(&server, TIME_MAX))).collect();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = Vec::new();
        for number in 0..200 {
            let session = sessions[number % sessions.len()].clone();
            let (running, most) = (running.clone(), most.clone());
            let effort = if number % 5 == 0 { Effort::Long } else { Effort::Short };
            tasks.push(tokio::spawn(async move {
                let work = move |_: &AtomicBool| {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                    Some(())
                };
                let _ = session.answer(effort, &Arc::default(), work).await;
            }));
            if number % 3 == 0 {
                tasks.last().expect("a task").abort();
            }
        }
        for task in tasks {
            let _ = task.await;
        }
        let answers_max = SHORT_ANSWERS_MAX + LONG_ANSWERS_MAX;
        assert!((1..=answers_max).contains(&most.load(Ordering::SeqCst)));
        for (turns, max) in [
            (&server.short, SHORT_ANSWERS_MAX),
            (&server.long, LONG_ANSWERS_MAX),
            (&sessions[0].short.session, SESSION_SHORT_ANSWERS_MAX),
            (&sessions[0].long.session, SESSION_LONG_ANSWERS_MAX),
        ] {
            let free = turns.clone().acquire_many_owned(max as u32).await;
            assert!(free.is_ok(), "all turns are returned");
        }
    }

    /// Compiling an expression can take a second.
    #[tokio::test]
    async fn questions_are_checked_and_answered_apart_from_connections() {
        let turns = SessionTurns::new(&ServerTurns::default(), TIME_MAX);
        let own = std::thread::current().id();
        for effort in [Effort::Short, Effort::Long] {
            let checked_on = turns.check(effort, || std::thread::current().id()).await;
            assert_ne!(checked_on, Ok(own));
            let work = |_: &AtomicBool| Some(std::thread::current().id());
            assert_ne!(turns.answer(effort, &Arc::default(), work).await, Ok(Some(own)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_too_long_is_refused_and_ended() {
        let turns = SessionTurns::new(&ServerTurns::default(), TIME_MAX);
        for effort in [Effort::Short, Effort::Long] {
            let begun = Arc::new(AtomicUsize::new(0));
            let advance = async {
                wait_until(|| begun.load(Ordering::SeqCst) > 0).await;
                tokio::time::advance(TIME_MAX).await;
                std::future::pending::<()>().await;
            };
            let cancellation = Arc::default();
            let answer = turns.answer(effort, &cancellation, endless(&begun));
            let refused = tokio::select! { answer = answer => answer, () = advance => Ok(None) };
            assert_eq!(refused, Err(Refusal::TooSlow(TIME_MAX.as_secs())));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn short_answers_do_not_wait_for_long_ones() {
        let turns = Arc::new(SessionTurns::new(&ServerTurns::default(), TIME_MAX));
        let mut long = Vec::new();
        let begun = Arc::new(AtomicUsize::new(0));
        for _ in 0..10 {
            let (turns, work) = (turns.clone(), endless(&begun));
            let guard = CancelOnDrop::default();
            let cancellation = guard.cancellation();
            let answer = async move { turns.answer(Effort::Short, &cancellation, work).await };
            long.push((guard, tokio::spawn(answer)));
        }
        // The first one goes on in its long turn, the others wait to start again.
        wait_until(|| begun.load(Ordering::SeqCst) == 10).await;
        let work = |_: &AtomicBool| Some(7);
        assert_eq!(turns.answer(Effort::Short, &Arc::default(), work).await, Ok(Some(7)));
        for (guard, task) in long {
            drop(guard);
            assert_eq!(task.await.expect("no panic"), Ok(None), "cancelled");
        }
        assert_eq!(turns.answer(Effort::Long, &Arc::default(), work).await, Ok(Some(7)));
    }

    #[test]
    fn work_that_is_cancelled_does_not_start_again() {
        let cancellation = Cancellation::default();
        cancellation.stop();
        assert!(cancellation.restart() && !cancellation.should_stop.load(Ordering::SeqCst));
        cancellation.cancel();
        assert!(!cancellation.restart() && cancellation.should_stop.load(Ordering::SeqCst));
    }
}
