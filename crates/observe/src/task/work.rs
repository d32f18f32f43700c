//! The work of tasks in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The work of a task, or of all tasks of a kind, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskWork {
    /// The number of polls.
    pub polls: u64,
    /// The time in polls, estimated from a sample of them.
    pub busy: Duration,
    /// The time between a wake and the next poll, estimated from a sample of them.
    pub scheduled: Duration,
    /// The number of requests answered or sent.
    pub requests: u64,
    /// The bytes received and sent.
    pub bytes: u64,
}

impl TaskWork {
    /// Adds the work of another task.
    pub(super) fn add(&mut self, other: &Self) {
        self.polls += other.polls;
        self.busy += other.busy;
        self.scheduled += other.scheduled;
        self.requests += other.requests;
        self.bytes += other.bytes;
    }

    /// Returns the maximum of each field.
    pub(super) fn max(&self, other: &Self) -> Self {
        Self {
            polls: self.polls.max(other.polls),
            busy: self.busy.max(other.busy),
            scheduled: self.scheduled.max(other.scheduled),
            requests: self.requests.max(other.requests),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

/// A [`TaskWork`] that can be read while it is updated. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct WorkCounters {
    pub(super) polls: AtomicU64,
    pub(super) busy_ns: AtomicU64,
    pub(super) scheduled_ns: AtomicU64,
    pub(super) requests: AtomicU64,
    pub(super) bytes: AtomicU64,
}

impl WorkCounters {
    pub(super) const fn new() -> Self {
        Self {
            polls: AtomicU64::new(0),
            busy_ns: AtomicU64::new(0),
            scheduled_ns: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    pub(super) fn read(&self) -> TaskWork {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        TaskWork {
            polls: number(&self.polls),
            busy: Duration::from_nanos(number(&self.busy_ns)),
            scheduled: Duration::from_nanos(number(&self.scheduled_ns)),
            requests: number(&self.requests),
            bytes: number(&self.bytes),
        }
    }

    /// Adds the work of one task to the sums of many.
    pub(super) fn add(&self, task: &Self) {
        for (sum, number) in [
            (&self.polls, &task.polls),
            (&self.busy_ns, &task.busy_ns),
            (&self.scheduled_ns, &task.scheduled_ns),
            (&self.requests, &task.requests),
            (&self.bytes, &task.bytes),
        ] {
            let number = number.load(Ordering::Relaxed);
            if number > 0 {
                sum.fetch_add(number, Ordering::Relaxed);
            }
        }
    }
}

/// Adds to a counter that only one thread at a time writes. It avoids the cost of an atomic
/// addition.
pub(super) fn add_as_single_writer(counter: &AtomicU64, number: u64) {
    let sum = counter.load(Ordering::Relaxed).wrapping_add(number);
    counter.store(sum, Ordering::Relaxed);
}
