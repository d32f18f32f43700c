//! Limits how many answers are computed at once, and for how long.

mod cancellation;
mod export_turns;
mod running_work;
mod turn_limit;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use weir_core::PatternAccount;
use weir_observe::task::{TaskKind, TaskName};
use weir_sync::Lock;

pub(crate) use self::cancellation::{CancelOnDrop, Cancellation, Checked, StopOnDrop};
use self::export_turns::ServerExports;
pub(crate) use self::export_turns::{ExportTurn, ExportTurns, SESSION_PLACES_MAX};
use self::running_work::RunningWork;
use self::turn_limit::{Turn, TurnLimit};
use crate::refusal::Refusal;
use crate::server_views::ServerViews;
use crate::view_work::ViewWork;

/// The maximum number of answers of all sessions that are computed at once: in short turns, in those
/// of reports and of panels, and in long turns. Each may hold about 100 MiB of compiled expressions.
const SHORT_ANSWERS_MAX: usize = 3;
const REPORTS_MAX: usize = 2;
const TRIALS_MAX: usize = 2;
const LONG_ANSWERS_MAX: usize = 2;

/// The same limits for one session, so that it leaves turns to the others.
const SESSION_SHORT_ANSWERS_MAX: usize = 2;
const SESSION_REPORTS_MAX: usize = 1;
const SESSION_TRIALS_MAX: usize = 1;
const SESSION_LONG_ANSWERS_MAX: usize = 1;

/// The length of a short turn. 4 million records take half of it. A longer answer continues in a
/// long turn, so that other questions need not wait for it.
pub(crate) const SHORT_TURN: Duration = Duration::from_millis(250);

/// A question with more regular expressions than this gets no short turn, because compiling them
/// takes long and cannot be interrupted.
const SHORT_EXPRESSIONS_MAX: usize = 4;

/// The maximum number of questions that are checked at once, for all sessions and for one. Checks
/// are separate from answers, so that a new question can replace one that takes long.
const CHECKS_MAX: usize = 2;
const SESSION_CHECKS_MAX: usize = 1;

/// The maximum number of replays at once over lines that pages send, for all sessions and for one.
/// They take as long as their pages, which are not waited for in other turns. A page that sends
/// slowly keeps only its own session waiting.
const REPLAYS_MAX: usize = 16;
const SESSION_REPLAYS_MAX: usize = 1;

/// The expected duration of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Short,
    /// Short, for one report to a program. It never waits for the views of pages, however many there
    /// are and even if it takes long.
    Report,
    /// Not known before it is tried: that of a panel, which may replay a rule in a millisecond or
    /// in a minute. It begins in a short turn of its own kind, so that views do not wait for it.
    Unknown,
    Long,
}

impl Effort {
    /// Returns the effort for a question with this number of regular expressions.
    pub(crate) fn of(expressions: usize) -> Self {
        if expressions > SHORT_EXPRESSIONS_MAX { Self::Long } else { Self::Short }
    }
}

/// The limits of one viewer, who has one turn of each kind at a time. Turns are taken in order of
/// arrival, so viewers take turns in a circle, however much each of them asks.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    answers: [Arc<Semaphore>; 4],
    /// Those of short checks, and of all others.
    checks: [Arc<Semaphore>; 2],
}

impl Default for Viewer {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { answers: [one(), one(), one(), one()], checks: [one(), one()] }
    }
}

impl Viewer {
    /// The limit of its answers of an effort.
    fn answers(&self, effort: Effort) -> &Arc<Semaphore> {
        &self.answers[effort as usize]
    }
}

/// The turns of all sessions of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerTurns {
    short: Arc<Semaphore>,
    reports: Arc<Semaphore>,
    trials: Arc<Semaphore>,
    long: Arc<Semaphore>,
    short_checks: Arc<Semaphore>,
    long_checks: Arc<Semaphore>,
    exports: ServerExports,
    replays: Arc<Semaphore>,
    pub(crate) views: ServerViews,
    /// The memory of the patterns of rules.
    pub(crate) patterns: Arc<PatternAccount>,
}

impl ServerTurns {
    /// Makes the turns of a server whose patterns are counted in an account.
    pub(crate) fn new(patterns: Arc<PatternAccount>) -> Self {
        let turns = |max| Arc::new(Semaphore::new(max));
        Self {
            short: turns(SHORT_ANSWERS_MAX),
            reports: turns(REPORTS_MAX),
            trials: turns(TRIALS_MAX),
            long: turns(LONG_ANSWERS_MAX),
            short_checks: turns(CHECKS_MAX),
            long_checks: turns(CHECKS_MAX),
            exports: ServerExports::default(),
            replays: turns(REPLAYS_MAX),
            views: ServerViews::default(),
            patterns,
        }
    }
}

/// The turns of one session. Work waits for its turn in order of arrival, and runs on a blocking
/// thread, never on the threads that serve connections.
#[derive(Debug)]
pub(crate) struct SessionTurns {
    short: TurnLimit,
    reports: TurnLimit,
    trials: TurnLimit,
    long: TurnLimit,
    short_checks: TurnLimit,
    long_checks: TurnLimit,
    exports: Arc<ExportTurns>,
    replays: TurnLimit,
    /// The number of the session.
    number: u64,
    views: ServerViews,
    /// Absent until it is used, because only data sets that somebody looks at are counted.
    view_work: OnceLock<Arc<ViewWork>>,
    answer_time_max: Duration,
}

/// Checks a question.
static CHECK: TaskKind = TaskKind::new("check of a question");

impl SessionTurns {
    pub(crate) fn new(server: &ServerTurns, number: u64, answer_time_max: Duration) -> Self {
        Self {
            short: TurnLimit::new(&server.short, SESSION_SHORT_ANSWERS_MAX),
            reports: TurnLimit::new(&server.reports, SESSION_REPORTS_MAX),
            trials: TurnLimit::new(&server.trials, SESSION_TRIALS_MAX),
            long: TurnLimit::new(&server.long, SESSION_LONG_ANSWERS_MAX),
            short_checks: TurnLimit::new(&server.short_checks, SESSION_CHECKS_MAX),
            long_checks: TurnLimit::new(&server.long_checks, SESSION_CHECKS_MAX),
            exports: ExportTurns::new(&server.exports),
            replays: TurnLimit::new(&server.replays, SESSION_REPLAYS_MAX),
            number,
            views: server.views.clone(),
            view_work: OnceLock::new(),
            answer_time_max,
        }
    }

    /// Computes an answer: first in a short turn unless it is certainly long, then in a long one. If
    /// no long turn is free, a report keeps its turn, and other work is stopped and starts again when
    /// it gets one. Returns `None` if the answer was cancelled. The work should return `None` when the flag is set. Dropping the future does not
    /// free the turn before the work ends, so the caller should also cancel it.
    ///
    /// # Errors
    /// Fails if the work takes longer than the session's limit. The work has then ended.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        effort: Effort,
        cancellation: &Arc<Cancellation>,
        work: impl Fn(&AtomicBool) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<T>, Refusal> {
        let work = Arc::new(work);
        let first = match effort {
            Effort::Short => Some(&self.short),
            Effort::Report => Some(&self.reports),
            Effort::Unknown => Some(&self.trials),
            Effort::Long => None,
        };
        let viewer = cancellation.viewer.answers(Effort::Long);
        if let Some(first) = first {
            let turn = first.turn_of(cancellation.viewer.answers(effort));
            let turn = cancellation.unless_cancelled(turn).await;
            let Some(turn) = turn else { return Ok(None) };
            let mut running = RunningWork::start(self, turn, cancellation, &work);
            if let Some(done) = running.wait(SHORT_TURN).await {
                return done;
            }
            if let Some(turn) = self.long.free_turn(viewer) {
                running.exchange(turn);
                return self.wait_for_long(running, cancellation).await;
            }
            if effort == Effort::Report {
                // The long views of pages, of which hundreds may wait, are no reason for it to wait.
                return self.wait_for_long(running, cancellation).await;
            }
            cancellation.stop();
            if let Some(done) = running.wait_for_stop().await {
                return Ok(Some(done));
            }
        }
        let turn = cancellation.unless_cancelled(self.long.turn_of(viewer)).await;
        let Some(turn) = turn.filter(|_| cancellation.restart()) else { return Ok(None) };
        let running = RunningWork::start(self, turn, cancellation, &work);
        self.wait_for_long(running, cancellation).await
    }

    /// Computes an answer from lines that a page sends meanwhile, however long that takes. Returns
    /// `None` if the answer was cancelled.
    ///
    /// # Errors
    /// Fails if the server ends.
    pub(crate) async fn replay<T: Send + 'static>(
        &self,
        cancellation: &Arc<Cancellation>,
        work: impl Fn(&AtomicBool) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<T>, Refusal> {
        let turn = cancellation.unless_cancelled(self.replays.turn()).await;
        let Some(turn) = turn.filter(|_| cancellation.restart()) else { return Ok(None) };
        let running = RunningWork::start(self, turn, cancellation, &Arc::new(work));
        running.task.await.map_err(|_| Refusal::SessionEnded)
    }

    async fn wait_for_long<T: Send + 'static>(
        &self,
        mut running: RunningWork<T>,
        cancellation: &Cancellation,
    ) -> Result<Option<T>, Refusal> {
        let time_max = self.answer_time_max.saturating_sub(cancellation.checked_in);
        if let Some(done) = running.wait(time_max).await {
            return done;
        }
        cancellation.stop();
        running.wait_for_stop().await;
        Err(Refusal::TooSlow(self.answer_time_max.as_secs()))
    }

    /// Returns the counts of the session's answers and views.
    pub(crate) fn view_work(&self) -> &Arc<ViewWork> {
        self.view_work.get_or_init(|| self.views.join(self.number))
    }

    /// Waits for a place and a turn for an export.
    pub(crate) async fn export_turn(&self) -> ExportTurn {
        self.exports.begin().await
    }

    /// Checks a question, which may compile large expressions. Short checks do not wait for long
    /// ones.
    ///
    /// # Errors
    /// Fails if the server ends.
    pub(crate) async fn check<T: Send + 'static>(
        &self,
        effort: Effort,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let checked = self.check_of(&Viewer::default(), effort, |_| work()).await?;
        Ok(checked.question)
    }

    /// Checks a question of a viewer, as [`Self::check`] does. The work should end when the flag is
    /// set. It is set when the future is dropped, or when the work takes longer than an answer may.
    ///
    /// # Errors
    /// Fails if the check takes too long, or the server ends.
    pub(crate) async fn check_of<T: Send + 'static>(
        &self,
        viewer: &Viewer,
        effort: Effort,
        work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
    ) -> Result<Checked<T>, Refusal> {
        let [short, others] = &viewer.checks;
        let (checks, own) = match effort {
            Effort::Short | Effort::Report => (&self.short_checks, short),
            Effort::Unknown | Effort::Long => (&self.long_checks, others),
        };
        let turn = checks.turn_of(own).await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut guard = StopOnDrop(Some(stop.clone()));
        let work = move || {
            let (_turn, started) = (turn, Instant::now());
            let question = work(&stop);
            Checked { question, stop, took: Lock::new(started.elapsed()) }
        };
        let mut task = tokio::task::spawn_blocking(CHECK.observe_call(TaskName::Unnamed, work));
        let Ok(checked) = tokio::time::timeout(self.answer_time_max, &mut task).await else {
            guard.stop();
            // Its turn is free, and its memory too, when this returns.
            let _ = task.await;
            return Err(Refusal::TooSlow(self.answer_time_max.as_secs()));
        };
        guard.0 = None;
        checked.map_err(|_| Refusal::SessionEnded)
    }
}

#[cfg(test)]
mod tests;
