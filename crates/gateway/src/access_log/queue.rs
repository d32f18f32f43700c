//! Lines that wait for the thread that writes them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_core::Record;

use super::clock::Clock;
use super::line::{push_combined, push_object};
use super::settings::AccessLogFormat;
use super::writer::LogFile;
use crate::notices::{Notice, Notices};

/// How long lines wait for others.
const INTERVAL: Duration = Duration::from_millis(500);

/// Waiting lines that are written before the end of the interval.
const BLOCK_BYTES: usize = 256 << 10;

/// Lines beyond this are dropped and counted: requests must not wait for the disk.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// What requests and the writing thread share.
#[derive(Debug)]
pub(super) struct Queue {
    /// Whether there is a file. Read for each request, so that a log that is off costs no lock.
    is_on: AtomicBool,
    lost: AtomicU64,
    notices: Notices,
    extra_fields: &'static [&'static str],
    waiting: Mutex<Waiting>,
    /// There is something to do for the thread.
    work: Condvar,
    /// The thread has done what it took.
    done: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    format: Option<AccessLogFormat>,
    clock: Clock,
    /// The lines since the last task.
    lines: Vec<u8>,
    /// What has to be done before these lines are written.
    tasks: Vec<Task>,
    /// Bytes of the tasks, also of those that the thread is about.
    task_bytes: usize,
    /// Steps that were added, taken by the thread, and done by it. A line is a step, and so is a file.
    added: u64,
    taken: u64,
    finished: u64,
    /// Somebody waits for the lines so far.
    is_urgent: bool,
    has_ended: bool,
}

/// A step of the thread.
#[derive(Debug)]
pub(super) enum Task {
    /// Lines for the present file.
    Write(Vec<u8>),
    /// The file of the lines from now on; none if the log is off.
    Use(Option<LogFile>),
}

impl Queue {
    pub(super) fn new(extra_fields: &'static [&'static str], notices: Notices) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            notices,
            extra_fields,
            waiting: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The number of lines that are in no file.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Adds the line of a record.
    pub(super) fn put(&self, record: &Record<'_>) {
        let mut locked = self.lock();
        let waiting = &mut *locked;
        let Some(format) = waiting.format else { return };
        let before = waiting.lines.len();
        if waiting.task_bytes + before > WAITING_BYTES_MAX {
            drop(locked);
            return self.note_lost(1, "the disk is too slow");
        }
        match format {
            AccessLogFormat::Combined => {
                push_combined(&mut waiting.lines, record, &mut waiting.clock);
            }
            AccessLogFormat::Json => {
                push_object(&mut waiting.lines, record, self.extra_fields, &mut waiting.clock);
            }
        }
        waiting.added += 1;
        if before < BLOCK_BYTES && waiting.lines.len() >= BLOCK_BYTES {
            drop(locked);
            self.work.notify_one();
        }
    }

    /// Uses another file for the lines from now on.
    pub(super) fn turn_to(&self, file: Option<LogFile>, format: Option<AccessLogFormat>) {
        let mut waiting = self.lock();
        waiting.seal_lines();
        waiting.tasks.push(Task::Use(file));
        waiting.format = format;
        waiting.added += 1;
        self.is_on.store(format.is_some(), Ordering::Relaxed);
        drop(waiting);
        self.work.notify_one();
    }

    /// Notes lines that are in no file.
    pub(super) fn note_lost(&self, lines: u64, reason: &str) {
        let lost = self.lost.fetch_add(lines, Ordering::Relaxed) + lines;
        self.notices.say("access log", || Notice {
            lines_lost: Some(lost),
            ..Notice::new(format!("{lost} lines are missing in the access log so far: {reason}"))
        });
    }

    /// Waits for tasks. Returns `None` at the end.
    pub(super) fn take(&self) -> Option<Vec<Task>> {
        let mut waiting = self.lock();
        let deadline = Instant::now() + INTERVAL;
        while !waiting.is_due() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.work.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.seal_lines();
        if waiting.has_ended && waiting.tasks.is_empty() {
            return None;
        }
        waiting.taken = waiting.added;
        waiting.is_urgent = false;
        Some(std::mem::take(&mut waiting.tasks))
    }

    /// The tasks that were taken are done.
    pub(super) fn finish(&self) {
        let mut waiting = self.lock();
        waiting.finished = waiting.taken;
        // What came meanwhile is in `lines`, or in tasks that are counted anew.
        waiting.task_bytes = waiting.tasks.iter().map(Task::bytes).sum();
        drop(waiting);
        self.done.notify_all();
    }

    /// The thread shall end when it has done everything.
    pub(super) fn end(&self) {
        self.lock().has_ended = true;
        self.work.notify_one();
    }

    /// Waits until everything so far is done, for at most this time.
    pub(super) fn flush(&self, time_max: Duration) {
        let deadline = Instant::now() + time_max;
        let mut waiting = self.lock();
        let goal = waiting.added;
        while waiting.finished < goal {
            waiting.is_urgent = true;
            self.work.notify_one();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.done.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Whether there is something that must not wait.
    fn is_due(&self) -> bool {
        self.has_ended
            || self.is_urgent
            || !self.tasks.is_empty()
            || self.lines.len() >= BLOCK_BYTES
    }

    /// Makes a task of the lines.
    fn seal_lines(&mut self) {
        if !self.lines.is_empty() {
            let room = self.lines.len().min(2 * BLOCK_BYTES);
            let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(room));
            self.task_bytes += lines.len();
            self.tasks.push(Task::Write(lines));
        }
    }
}

impl Task {
    fn bytes(&self) -> usize {
        match self {
            Self::Write(lines) => lines.len(),
            Self::Use(_) => 0,
        }
    }
}
