//! The thread that answers the newest question, and answers it again when the data has changed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;
use weir_sync::{Condition, Lock};

use super::answers::Reply;
use super::clerk::Clerk;
use super::question::Question;

/// The least time between two answers to one question. A person cannot read more.
const AGAIN_MIN: Duration = Duration::from_millis(250);

/// How often the data is looked at for changes.
const LOOK: Duration = Duration::from_millis(50);

/// Where the newest question lies.
#[derive(Debug, Default)]
pub(super) struct Desk {
    newest: Lock<Newest>,
    is_new: Condition,
    /// Whether the answer that is computed is no longer needed.
    is_abandoned: AtomicBool,
}

#[derive(Debug, Default)]
struct Newest {
    number: u64,
    question: Option<Question>,
}

impl Desk {
    /// Replaces the question. Returns its number.
    pub(super) fn ask(&self, question: Question) -> u64 {
        let mut newest = self.newest.lock();
        newest.number += 1;
        newest.question = Some(question);
        self.is_abandoned.store(true, Ordering::Relaxed);
        self.is_new.notify_one();
        newest.number
    }

    /// Starts the thread.
    pub(super) fn open(
        self: &Arc<Self>,
        clerk: Clerk,
        replies: Sender<Reply>,
    ) -> std::io::Result<()> {
        let desk = self.clone();
        let thread = std::thread::Builder::new().name("answers".to_owned());
        thread.spawn(move || desk.answer(clerk, &replies)).map(drop)
    }

    fn answer(&self, mut clerk: Clerk, replies: &Sender<Reply>) {
        let version = clerk.version();
        let (mut answered, mut seen) = (0, None);
        let mut next = Instant::now();
        loop {
            let (number, question) = self.next(answered);
            let now = *version.borrow();
            let is_due = question.is_live && seen != Some(now) && Instant::now() >= next;
            if number == answered && !is_due {
                continue;
            }
            let started = Instant::now();
            // A panic was printed by its hook, and has given the terminal back.
            let answer = || clerk.answer(&question, &self.is_abandoned);
            let Ok(content) = catch_unwind(AssertUnwindSafe(answer)) else { return };
            let Some(content) = content.transpose() else { continue };
            next = started + AGAIN_MIN.max(started.elapsed() * 4);
            (answered, seen) = (number, Some(now));
            if replies.blocking_send(Reply { number, question, content }).is_err() {
                return;
            }
        }
    }

    /// Waits for a question other than the one with this number, but not long. Returns the newest.
    fn next(&self, answered: u64) -> (u64, Question) {
        let mut newest = self.newest.lock();
        if newest.number == answered {
            newest = self.is_new.wait_timeout(newest, LOOK);
        }
        loop {
            if let Some(question) = &newest.question {
                self.is_abandoned.store(false, Ordering::Relaxed);
                return (newest.number, question.clone());
            }
            newest = self.is_new.wait(newest);
        }
    }
}
