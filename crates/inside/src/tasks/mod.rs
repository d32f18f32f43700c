//! `GET /tasks.json`: what the program runs at this moment.

mod list;
mod request;

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use weir_observe::task::{Look, look};
use weir_observe::thread::{RuntimeNumbers, runtimes};
use weir_view::{TaskRuntime, Tasks, Thread};

pub(crate) use self::request::TasksRequest;
use crate::threads::ThreadHistory;

/// Whoever asks within this time sees the same look. A page asks each second; rates of a shorter time would
/// jump, and many who look cost no more than one.
const FRESH_FOR: Duration = Duration::from_millis(900);

/// A look at which nobody has looked for this time is forgotten: of a hundred thousand tasks it has 25 MB.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Looks at tasks and threads for all who ask.
#[derive(Debug, Default)]
pub(crate) struct TaskWatch {
    looks: Mutex<Looks>,
    has_looked: Notify,
}

#[derive(Debug, Default)]
struct Looks {
    last: Option<Shown>,
    threads: ThreadHistory,
}

#[derive(Debug)]
struct Shown {
    made: Instant,
    look: Look,
    threads: Vec<Thread>,
    runtimes: Vec<RuntimeNumbers>,
}

impl TaskWatch {
    /// The answer to a request. It may take a tenth of a second.
    pub(crate) fn answer(&self, now: Instant, request: &TasksRequest) -> Tasks {
        let answer = self.looks().answer(now, request);
        self.has_looked.notify_one();
        answer
    }

    /// Forgets looks when they are old. It does not end.
    pub(crate) async fn forget_old_looks(&self) -> Infallible {
        loop {
            self.has_looked.notified().await;
            while let Some(made) = self.last_look() {
                tokio::time::sleep(KEPT_FOR.saturating_sub(made.elapsed())).await;
                self.looks().forget(Instant::now());
            }
        }
    }

    /// When the look that is kept was made.
    fn last_look(&self) -> Option<Instant> {
        self.looks().last.as_ref().map(|shown| shown.made)
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Looks {
    fn answer(&mut self, now: Instant, request: &TasksRequest) -> Tasks {
        let last = self.last.take().filter(|shown| now.duration_since(shown.made) < FRESH_FOR);
        let shown = last.unwrap_or_else(|| Shown {
            made: now,
            look: look(),
            threads: self.threads.look(now),
            runtimes: runtimes(),
        });
        let answer = shown.answer(request);
        self.last = Some(shown);
        answer
    }

    fn forget(&mut self, now: Instant) {
        self.last.take_if(|shown| now.saturating_duration_since(shown.made) >= KEPT_FOR);
    }
}

impl Shown {
    fn answer(&self, request: &TasksRequest) -> Tasks {
        let (tasks, tasks_left_out) = list::tasks(&self.look, request);
        Tasks {
            span: self.look.span.map(|span| span.as_secs_f64()),
            kinds: list::kinds(&self.look),
            tasks,
            tasks_left_out,
            runtimes: self.runtimes.iter().map(runtime).collect(),
            threads: self.threads.clone(),
        }
    }
}

fn runtime(numbers: &RuntimeNumbers) -> TaskRuntime {
    TaskRuntime {
        name: numbers.name.clone(),
        workers: numbers.workers as u64,
        tasks: numbers.tasks as u64,
        queued: numbers.queued as u64,
        busy: numbers.busy.as_secs_f64(),
        parks: numbers.parks,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{KEPT_FOR, TaskWatch, TasksRequest};

    #[tokio::test(start_paused = true)]
    async fn a_look_is_forgotten_when_nobody_has_looked_for_a_while() {
        let watch = TaskWatch::default();
        let forgetting = watch.forget_old_looks();
        let looking = async {
            for _ in 0..2 {
                let long_ago = Instant::now().checked_sub(KEPT_FOR).expect("a time");
                watch.answer(long_ago, &TasksRequest::default());
                assert!(watch.last_look().is_some());
                tokio::time::sleep(KEPT_FOR).await;
                assert!(watch.last_look().is_none(), "it is old");
            }
            watch.answer(Instant::now(), &TasksRequest::default());
            tokio::time::sleep(KEPT_FOR / 2).await;
            assert!(watch.last_look().is_some(), "it is not old");
        };
        tokio::select! {
            never = forgetting => match never {},
            () = looking => {}
        }
    }
}
