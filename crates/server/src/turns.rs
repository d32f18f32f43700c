//! Turns: how many answers are computed at once, and for how long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// The maximum number of answers that are computed at once for all sessions. A question may hold
/// about 100 MiB of compiled expressions while it is answered.
const ANSWERS_MAX: usize = 4;

/// The same for one session, so that it leaves turns to the others.
const SESSION_ANSWERS_MAX: usize = 2;

/// The maximum number of questions that are checked at once, for all sessions and for one. Apart
/// from answers, so that a new question can replace one that takes long.
const CHECKS_MAX: usize = 2;
const SESSION_CHECKS_MAX: usize = 1;

/// The turns of all sessions of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerTurns {
    answers: Arc<Semaphore>,
    checks: Arc<Semaphore>,
}

/// The turns of one session. Work waits for its turn in order of arrival, and runs on a thread
/// for blocking work, never on those that serve connections.
#[derive(Debug)]
pub(crate) struct SessionTurns {
    server: ServerTurns,
    answers: Arc<Semaphore>,
    checks: Arc<Semaphore>,
    answer_time_max: Duration,
}

impl Default for ServerTurns {
    fn default() -> Self {
        let [answers, checks] =
            [ANSWERS_MAX, CHECKS_MAX].map(|turns| Arc::new(Semaphore::new(turns)));
        Self { answers, checks }
    }
}

impl SessionTurns {
    pub(crate) fn new(server: &ServerTurns, answer_time_max: Duration) -> Self {
        let [answers, checks] =
            [SESSION_ANSWERS_MAX, SESSION_CHECKS_MAX].map(|turns| Arc::new(Semaphore::new(turns)));
        Self { server: server.clone(), answers, checks, answer_time_max }
    }

    /// Computes an answer. Dropping the future does not free the turn before the work ends, so
    /// the caller should also set the flag.
    ///
    /// # Errors
    /// If the work takes longer than the session's limit; the flag is then set, and the work has
    /// ended.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        is_cancelled: &Arc<AtomicBool>,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turns = [turn(&self.answers).await, turn(&self.server.answers).await];
        let flag = is_cancelled.clone();
        let work = move || {
            let _turns = turns;
            work(&flag)
        };
        let mut task = tokio::task::spawn_blocking(work);
        if let Ok(done) = tokio::time::timeout(self.answer_time_max, &mut task).await {
            // This fails only if the work panics, or the server ends meanwhile.
            return done.map_err(|_| Refusal::SessionEnded);
        }
        is_cancelled.store(true, Ordering::Relaxed);
        let _ = task.await;
        Err(Refusal::TooSlow(self.answer_time_max.as_secs()))
    }

    /// Checks a question, which may compile large expressions.
    ///
    /// # Errors
    /// If the server ends meanwhile.
    pub(crate) async fn check<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turns = [turn(&self.checks).await, turn(&self.server.checks).await];
        let work = move || {
            let _turns = turns;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::SessionEnded)
    }
}

/// Waits for a turn. The semaphores are never closed, so there always is one.
async fn turn(turns: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    turns.clone().acquire_owned().await.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use super::{ANSWERS_MAX, SESSION_ANSWERS_MAX, ServerTurns, SessionTurns};
    use crate::refusal::Refusal;

    const TIME_MAX: Duration = Duration::from_secs(20);

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
            tasks.push(tokio::spawn(async move {
                let work = move |_: &AtomicBool| {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                let _ = session.answer(&Arc::default(), work).await;
            }));
            if number % 3 == 0 {
                tasks.last().expect("a task").abort();
            }
        }
        for task in tasks {
            let _ = task.await;
        }
        assert!((1..=ANSWERS_MAX).contains(&most.load(Ordering::SeqCst)));
        let free = server.answers.clone().acquire_many_owned(ANSWERS_MAX as u32).await;
        assert!(free.is_ok(), "all turns are returned");
        let own = sessions[0].answers.clone().acquire_many_owned(SESSION_ANSWERS_MAX as u32);
        assert!(own.await.is_ok());
    }

    /// Compiling an expression can take a second.
    #[tokio::test]
    async fn questions_are_checked_and_answered_apart_from_connections() {
        let turns = SessionTurns::new(&ServerTurns::default(), TIME_MAX);
        let own = std::thread::current().id();
        let checked_on = turns.check(|| std::thread::current().id()).await;
        assert_ne!(checked_on, Ok(own));
        let work = |_: &AtomicBool| std::thread::current().id();
        assert_ne!(turns.answer(&Arc::default(), work).await, Ok(own));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_takes_too_long_is_refused_and_ended() {
        let turns = SessionTurns::new(&ServerTurns::default(), TIME_MAX);
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = has_begun.clone();
        let work = move |is_cancelled: &AtomicBool| {
            begun.store(true, Ordering::Relaxed);
            while !is_cancelled.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        };
        let advance = async {
            while !has_begun.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(TIME_MAX).await;
            std::future::pending::<()>().await;
        };
        let answer = turns.answer(&is_cancelled, work);
        let refused = tokio::select! { answer = answer => answer, () = advance => Ok(()) };
        assert_eq!(refused, Err(Refusal::TooSlow(TIME_MAX.as_secs())));
    }
}
