//! The state of a task that snapshots can read.

use std::mem;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;

use weir_sync::Lock;

use super::clock::now_ns;
use super::kind::TaskKind;
use super::name::TaskName;
use super::work::{TaskWork, WorkCounters, add_as_single_writer};

/// A task. Only the thread that runs it writes its counters; any thread may read them.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: u64,
    pub(super) kind: &'static TaskKind,
    pub(super) place: &'static Location<'static>,
    pub(super) begun_ns: u64,
    pub(super) work: WorkCounters,
    name: Lock<TaskName>,
    memory_bytes: AtomicUsize,
    is_running: AtomicBool,
    is_scheduled: AtomicBool,
    /// Whether the next wake is timed.
    times_wake: AtomicBool,
    /// When it was woken; 0 if it was not, or if the wake is not timed.
    woken_ns: AtomicU64,
    /// When the timed poll in progress began; 0 if there is none.
    running_since_ns: AtomicU64,
    /// The runtime's waker of this task.
    waker: OnceLock<Waker>,
    /// Its work at the last snapshot.
    last_work: Lock<TaskWork>,
}

/// The current state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// A thread is polling it.
    Running,
    /// It was woken and waits for a thread.
    Scheduled,
    /// It waits to be woken.
    Idle,
}

impl Task {
    /// Makes a task that waits for its first poll.
    pub(super) fn new(
        kind: &'static TaskKind,
        name: TaskName,
        place: &'static Location<'static>,
        memory_bytes: usize,
    ) -> Self {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let begun_ns = now_ns();
        Self {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            kind,
            place,
            begun_ns,
            work: WorkCounters::new(),
            name: Lock::new(name),
            memory_bytes: AtomicUsize::new(memory_bytes),
            is_running: AtomicBool::new(false),
            is_scheduled: AtomicBool::new(true),
            times_wake: AtomicBool::new(false),
            woken_ns: AtomicU64::new(0),
            running_since_ns: AtomicU64::new(0),
            waker: OnceLock::new(),
            last_work: Lock::default(),
        }
    }

    /// Records the start of a poll. If the wake before it was timed, that wake represents
    /// `wake_weight` wakes. Returns the current time if it was needed.
    pub(super) fn begin_poll(&self, is_timed: bool, wake_weight: u64) -> Option<u64> {
        add_as_single_writer(&self.work.polls, 1);
        self.is_running.store(true, Ordering::Relaxed);
        self.is_scheduled.store(false, Ordering::Relaxed);
        self.times_wake.store(is_timed, Ordering::Relaxed);
        let was_woken = self.woken_ns.load(Ordering::Relaxed) > 0;
        if !is_timed && !was_woken {
            return None;
        }
        let now = now_ns();
        if was_woken {
            let waited = now.saturating_sub(self.woken_ns.swap(0, Ordering::Relaxed));
            add_as_single_writer(&self.work.scheduled_ns, waited.saturating_mul(wake_weight));
        }
        if is_timed {
            self.running_since_ns.store(now, Ordering::Relaxed);
        }
        Some(now)
    }

    /// Records the end of a timed poll that represents `weight` polls.
    pub(super) fn end_timed_poll(&self, begun_ns: u64, weight: u64) {
        let now = now_ns();
        let busy = now.saturating_sub(begun_ns).saturating_mul(weight);
        add_as_single_writer(&self.work.busy_ns, busy);
        self.running_since_ns.store(0, Ordering::Relaxed);
        // If it was woken during the poll, its wait for a thread begins only now.
        if self.woken_ns.load(Ordering::Relaxed) > 0 {
            self.woken_ns.store(now, Ordering::Relaxed);
        }
    }

    /// Records the end of a poll.
    pub(super) fn end_poll(&self) {
        self.is_running.store(false, Ordering::Relaxed);
    }

    /// Times the wait from the task's creation to its first poll.
    pub(super) fn time_first_wait(&self) {
        self.woken_ns.store(self.begun_ns, Ordering::Relaxed);
    }

    /// Returns whether a waker is the runtime's waker of this task. The first call stores its waker
    /// as such.
    pub(super) fn is_woken_by(&self, waker: &Waker) -> bool {
        self.waker.get_or_init(|| waker.clone()).will_wake(waker)
    }

    pub(super) fn name(&self) -> TaskName {
        self.name.lock().clone()
    }

    pub(super) fn set_name(&self, name: TaskName) {
        *self.name.lock() = name;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn set_memory_bytes(&self, bytes: usize) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn state(&self) -> TaskState {
        if self.is_running.load(Ordering::Relaxed) {
            TaskState::Running
        } else if self.is_scheduled.load(Ordering::Relaxed) {
            TaskState::Scheduled
        } else {
            TaskState::Idle
        }
    }

    /// Returns its work up to `now_ns`, including the poll or wait in progress if that is timed.
    pub(super) fn work_at(&self, now_ns: u64) -> TaskWork {
        let since = |begun: &AtomicU64| match begun.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            begun => Duration::from_nanos(now_ns.saturating_sub(begun)),
        };
        let mut work = self.work.read();
        work.busy += since(&self.running_since_ns);
        if self.state() == TaskState::Scheduled {
            work.scheduled += since(&self.woken_ns);
        }
        work
    }

    /// Stores the work for the next snapshot, and returns that of the last one.
    pub(super) fn replace_last_work(&self, work: TaskWork) -> TaskWork {
        mem::replace(&mut self.last_work.lock(), work)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_scheduled.store(true, Ordering::Relaxed);
        if self.times_wake.load(Ordering::Relaxed) && self.woken_ns.load(Ordering::Relaxed) == 0 {
            self.woken_ns.store(now_ns(), Ordering::Relaxed);
        }
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }
}
