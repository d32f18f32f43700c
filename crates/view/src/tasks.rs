//! The tasks and threads of a running program: the answer to `GET /tasks.json` of `--admin`.

use serde::{Deserialize, Serialize};

/// The tasks and threads of a program. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Tasks {
    /// The length of the period of the rates, in seconds; absent before there are two measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub span: Option<f64>,
    /// The kinds of tasks, the busiest first.
    pub kinds: Vec<TaskKindSums>,
    /// The tasks, in the requested order.
    pub tasks: Vec<Task>,
    /// The number of tasks that were omitted.
    pub tasks_left_out: u64,
    /// The runtimes that run the tasks.
    pub runtimes: Vec<TaskRuntime>,
    /// The threads, in the system's order; empty if the system does not list them.
    pub threads: Vec<Thread>,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// A thread is running it.
    Running,
    /// It is ready to run, and waits for a thread.
    Scheduled,
    /// It waits for something else.
    Idle,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Task {
    /// Its number, which no other task has.
    pub id: u64,
    /// The name of its kind.
    pub kind: String,
    /// Its name, which may be empty or contain any character.
    pub name: String,
    /// The state.
    pub state: TaskState,
    /// The file and line where it was spawned.
    pub place: String,
    /// The time since it began.
    pub age: f64,
    /// The size of its future in bytes, without memory on the heap.
    pub memory_bytes: u64,
    /// The totals since its start.
    #[serde(flatten)]
    pub work: TaskWork,
    /// The rates of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rates: Option<TaskRates>,
}

/// All tasks of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TaskKindSums {
    /// The name of the kind.
    pub kind: String,
    /// The number of tasks that have not ended.
    pub tasks: u64,
    /// The number of these that are running.
    pub tasks_running: u64,
    /// The number of these that are ready to run.
    pub tasks_scheduled: u64,
    /// The number of tasks started so far.
    pub begun: u64,
    /// The size of the unfinished tasks' futures, in bytes.
    pub memory_bytes: u64,
    /// The totals of all tasks, including those that have ended.
    #[serde(flatten)]
    pub work: TaskWork,
    /// The rates of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rates: Option<TaskRates>,
}

/// The totals of a task, or of all tasks of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TaskWork {
    /// The number of polls: how often it ran until it had to wait.
    pub polls: u64,
    /// The seconds that it ran, estimated from some of its polls.
    pub busy: f64,
    /// The seconds that it was ready but not running, estimated likewise.
    pub scheduled: f64,
    /// The number of requests that it answered.
    pub requests: u64,
    /// The number of bytes received and sent.
    pub bytes: u64,
}

/// The rates of a task, or of all tasks of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TaskRates {
    /// Polls per second.
    pub polls: f64,
    /// The fraction of the time that it ran; for a kind, the sum over its tasks.
    pub busy: f64,
    /// The fraction of the time that it was ready but not running.
    pub scheduled: f64,
    /// Requests per second.
    pub requests: f64,
    /// Bytes per second.
    pub bytes: f64,
}

/// A runtime, which runs tasks on its threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TaskRuntime {
    /// Its name.
    pub name: String,
    /// The number of its threads that run tasks.
    pub workers: u64,
    /// The number of its tasks that have not ended.
    pub tasks: u64,
    /// The number of tasks that were woken from outside and wait for one of its threads.
    pub queued: u64,
    /// The seconds that its threads ran tasks, all together.
    pub busy: f64,
    /// How often one of its threads had nothing to do and slept.
    pub parks: u64,
}

/// A thread. Values that the system does not provide are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Thread {
    /// The thread id of the system; if unknown, a number that no other thread of the program has.
    pub id: u64,
    /// Its name, which may contain any character.
    pub name: String,
    /// Its state in the system as a word, such as `running` (or ready to run), `sleeping`,
    /// `waiting for a disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub state: Option<String>,
    /// The processor on which it last ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub processor: Option<u64>,
    /// The origin of the busy time; absent if the time is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub busy_source: Option<BusySource>,
    /// The totals since its start.
    #[serde(flatten)]
    pub work: ThreadWork,
    /// The rates of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rates: Option<ThreadWork>,
}

/// The origin of a thread's busy time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum BusySource {
    /// The system's scheduler.
    System,
    /// The program itself, for threads that measure it. Excludes what they do between two tasks.
    Program,
}

/// The work of a thread since its start, or per second. Unknown values are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ThreadWork {
    /// The seconds on a processor, as counted by the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub running: Option<f64>,
    /// The seconds of these in the kernel, in steps of a hundredth of a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub system: Option<f64>,
    /// The seconds that it was ready but waited for a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub waiting: Option<f64>,
    /// The seconds that it worked: on a processor, or waiting for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub busy: Option<f64>,
    /// The number of voluntary context switches, to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub switches: Option<f64>,
    /// The number of involuntary context switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub preemptions: Option<f64>,
}

impl TaskState {
    /// Returns the name for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Scheduled => "scheduled",
            Self::Idle => "idle",
        }
    }
}

impl TaskWork {
    /// Computes the rates, given the totals `seconds` ago.
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
    /// Computes the rates, given the totals `seconds` ago.
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
