//! The tasks and threads of a running program, which `GET /tasks.json` of `--admin` answers with.

use serde::{Deserialize, Serialize};

/// What a program runs. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tasks {
    /// The length in seconds of the time that the rates are of; absent before there are two moments to
    /// compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<f64>,
    /// The kinds of tasks, the busiest first.
    pub kinds: Vec<TaskKindSums>,
    /// The tasks, in the order that was asked for.
    pub tasks: Vec<Task>,
    /// Further tasks that would have to be listed.
    pub tasks_left_out: u64,
    /// The runtimes that run the tasks.
    pub runtimes: Vec<TaskRuntime>,
    /// The threads, in the order of the system; none if it does not tell.
    pub threads: Vec<Thread>,
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// A thread runs it.
    Running,
    /// It could run, and waits for a thread.
    Scheduled,
    /// It waits for something else.
    Idle,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its number, which no other task has.
    pub id: u64,
    /// The name of its kind.
    pub kind: String,
    /// Its name; may be empty, and may hold any character.
    pub name: String,
    /// What it does.
    pub state: TaskState,
    /// The file and the line where it was spawned.
    pub place: String,
    /// The time since it began.
    pub age: f64,
    /// Bytes of its future, without what that has on the heap.
    pub memory_bytes: u64,
    /// What it has done.
    #[serde(flatten)]
    pub work: TaskWork,
    /// The same for a second, of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<TaskRates>,
}

/// All tasks of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskKindSums {
    /// The name of the kind.
    pub kind: String,
    /// Tasks that have not ended.
    pub tasks: u64,
    /// Those of them that run.
    pub tasks_running: u64,
    /// Those of them that could run.
    pub tasks_scheduled: u64,
    /// Tasks that have begun so far.
    pub begun: u64,
    /// Bytes of the futures of those that have not ended.
    pub memory_bytes: u64,
    /// What all have done, also those that have ended.
    #[serde(flatten)]
    pub work: TaskWork,
    /// The same for a second, of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<TaskRates>,
}

/// What was done by a task, or by those of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskWork {
    /// How often it ran until it had to wait.
    pub polls: u64,
    /// Seconds in which it ran, estimated from some of its polls.
    pub busy: f64,
    /// Seconds in which it could have run, and another did, estimated likewise.
    pub scheduled: f64,
    /// Requests that it has answered.
    pub requests: u64,
    /// Bytes that it has received and sent.
    pub bytes: u64,
}

/// What is done in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskRates {
    /// Polls a second.
    pub polls: f64,
    /// The part of the time in which it ran; of a kind, that of all its tasks together.
    pub busy: f64,
    /// The part of the time in which it could have run.
    pub scheduled: f64,
    /// Requests a second.
    pub requests: f64,
    /// Bytes a second.
    pub bytes: f64,
}

/// A runtime, which runs tasks on its threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRuntime {
    /// Its name.
    pub name: String,
    /// Its threads that run tasks.
    pub workers: u64,
    /// Its tasks that have not ended.
    pub tasks: u64,
    /// Tasks that were woken from outside and wait for one of its threads.
    pub queued: u64,
    /// Seconds in which its threads ran tasks, all of them together.
    pub busy: f64,
    /// How often one of its threads had nothing to do, and slept.
    pub parks: u64,
}

/// A thread. What the system does not tell is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// Its number in the system; if that does not tell, one that no other thread of the program has.
    pub id: u64,
    /// Its name, which may hold any character.
    pub name: String,
    /// Its state in the system: `R` runs or could run, `S` sleeps, `D` waits for a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The processor on which it ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<u64>,
    /// Who tells how long it was busy; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_source: Option<BusySource>,
    /// What it has done.
    #[serde(flatten)]
    pub work: ThreadWork,
    /// The same for a second, of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<ThreadWork>,
}

/// Who tells how long a thread was busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusySource {
    /// The scheduler of the system.
    System,
    /// The program, for those of its threads that know; without what they do between two tasks.
    Program,
}

/// What a thread has done since its start, or in a second. What is not known is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadWork {
    /// Seconds on a processor, as the system counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<f64>,
    /// Those of them in the system, for the thread; to a hundredth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<f64>,
    /// Seconds in which it could have run, and waited for a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
    /// Seconds in which it worked: on a processor, or waiting for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// How often it gave up its processor, to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    /// How often its processor was taken from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<f64>,
}

impl TaskState {
    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Scheduled => "scheduled",
            Self::Idle => "idle",
        }
    }
}

impl TaskWork {
    /// What is done in a second, from what had been done `seconds` before.
    pub fn rates_since(&self, before: &Self, seconds: f64) -> TaskRates {
        let count = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let time = |now: f64, before: f64| (now - before).max(0.0) / seconds;
        TaskRates {
            polls: count(self.polls, before.polls),
            busy: time(self.busy, before.busy),
            scheduled: time(self.scheduled, before.scheduled),
            requests: count(self.requests, before.requests),
            bytes: count(self.bytes, before.bytes),
        }
    }
}

impl ThreadWork {
    /// What is done in a second, from what had been done `seconds` before.
    pub fn rates_since(&self, before: &Self, seconds: f64) -> Self {
        let rate = |now: Option<f64>, before: Option<f64>| {
            Some((now? - before.unwrap_or_default()).max(0.0) / seconds)
        };
        Self {
            running: rate(self.running, before.running),
            system: rate(self.system, before.system),
            waiting: rate(self.waiting, before.waiting),
            busy: rate(self.busy, before.busy),
            switches: rate(self.switches, before.switches),
            preemptions: rate(self.preemptions, before.preemptions),
        }
    }
}
