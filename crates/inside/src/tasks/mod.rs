//! `GET /tasks.json`: what the program runs at this moment.

mod list;
mod request;

use std::time::{Duration, Instant};

use weir_observe::task::{Look, look};
use weir_observe::thread::{RuntimeNumbers, runtimes};
use weir_view::{TaskRuntime, Tasks, Thread};

pub(crate) use self::request::TasksRequest;
use crate::threads::ThreadHistory;

/// Whoever asks within this time sees the same look. A page asks each second; rates of a shorter time would
/// jump, and many who look cost no more than one.
const FRESH_FOR: Duration = Duration::from_millis(900);

/// Looks at tasks and threads for all who ask.
#[derive(Debug, Default)]
pub(crate) struct TaskWatch {
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
    /// The answer to a request.
    pub(crate) fn answer(&mut self, now: Instant, request: &TasksRequest) -> Tasks {
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
