//! The queue between requests and the writer thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weir_core::Record;
use weir_sync::{Condition, Lock};

use super::clock::Clock;
use super::line::{push_combined, push_object};
use super::settings::AccessLogFormat;
use super::writer::LogFile;

/// The longest time that a line waits before it is written.
const INTERVAL: Duration = Duration::from_millis(500);

/// This many waiting bytes are written before the interval ends.
const BLOCK_BYTES: usize = 256 << 10;

/// Lines beyond this many waiting bytes are dropped and counted: requests must not wait for the
/// disk.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// The least time between two reports of lost lines, each with the number so far.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The state that requests and the writer thread share.
#[derive(Debug)]
pub(super) struct Queue {
    /// Whether there is a file. It is read for each request, so that a disabled log costs no lock.
    is_on: AtomicBool,
    lost: AtomicU64,
    /// When lost lines were last reported.
    reported: Lock<Option<Instant>>,
    extra_fields: &'static [&'static str],
    waiting: Lock<Waiting>,
    /// Signalled when the thread has work.
    work: Condition,
    /// Signalled when the thread has finished the tasks it took.
    done: Condition,
}

#[derive(Debug, Default)]
struct Waiting {
    format: Option<AccessLogFormat>,
    clock: Clock,
    /// The lines added since the last task.
    lines: Vec<u8>,
    /// The tasks that come before these lines.
    tasks: Vec<Task>,
    /// Bytes of the tasks, including those that the thread has taken.
    task_bytes: usize,
    /// Counts of steps added, taken by the thread, and finished by it. A step is a line or a file
    /// change.
    steps_added: u64,
    steps_taken: u64,
    steps_finished: u64,
    /// Whether a [`flush`](Queue::flush) is waiting.
    is_urgent: bool,
    has_ended: bool,
}

/// A task of the writer thread.
#[derive(Debug)]
pub(super) enum Task {
    /// Writes lines to the present file.
    Write(Vec<u8>),
    /// Changes the file of the following lines; `None` turns the log off.
    SetFile(Option<LogFile>),
}

impl Queue {
    pub(super) fn new(extra_fields: &'static [&'static str]) -> Self {
        Self {
            is_on: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            reported: Lock::default(),
            extra_fields,
            waiting: Lock::default(),
            work: Condition::new(),
            done: Condition::new(),
        }
    }

    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The number of lines that were not written.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Adds the line of a record.
    pub(super) fn put(&self, record: &Record<'_>) {
        let mut locked = self.waiting.lock();
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
        waiting.steps_added += 1;
        if before < BLOCK_BYTES && waiting.lines.len() >= BLOCK_BYTES {
            drop(locked);
            self.work.notify_one();
        }
    }

    /// Uses another file for the following lines.
    pub(super) fn set_file(&self, file: Option<LogFile>, format: Option<AccessLogFormat>) {
        let mut waiting = self.waiting.lock();
        waiting.seal_lines();
        waiting.tasks.push(Task::SetFile(file));
        waiting.format = format;
        waiting.steps_added += 1;
        self.is_on.store(format.is_some(), Ordering::Relaxed);
        drop(waiting);
        self.work.notify_one();
    }

    /// Counts lines that were not written, and reports them.
    pub(super) fn note_lost(&self, lines: u64, reason: &str) {
        let lost = self.lost.fetch_add(lines, Ordering::Relaxed) + lines;
        let mut reported = self.reported.lock();
        if reported.is_none_or(|reported| reported.elapsed() >= REPORT_INTERVAL) {
            *reported = Some(Instant::now());
            drop(reported);
            tracing::warn!(
                target: "weir_gateway",
                lines_lost = lost,
                "{lost} lines are missing in the access log so far: {reason}"
            );
        }
    }

    /// Waits for tasks. Returns `None` after the queue has ended and is empty.
    pub(super) fn take(&self) -> Option<Vec<Task>> {
        let mut waiting = self.waiting.lock();
        let deadline = Instant::now() + INTERVAL;
        while !waiting.is_due() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            waiting = self.work.wait_timeout(waiting, left);
        }
        waiting.seal_lines();
        if waiting.has_ended && waiting.tasks.is_empty() {
            return None;
        }
        waiting.steps_taken = waiting.steps_added;
        waiting.is_urgent = false;
        Some(std::mem::take(&mut waiting.tasks))
    }

    /// Marks the tasks that were taken as finished.
    pub(super) fn finish(&self) {
        let mut waiting = self.waiting.lock();
        waiting.steps_finished = waiting.steps_taken;
        // Later lines are in `lines`, or in tasks that are counted again here.
        waiting.task_bytes = waiting.tasks.iter().map(Task::bytes).sum();
        drop(waiting);
        self.done.notify_all();
    }

    /// Ends the thread after it has finished all tasks.
    pub(super) fn end(&self) {
        self.waiting.lock().has_ended = true;
        self.work.notify_one();
    }

    /// Waits until all steps so far are finished, for at most `time_max`.
    pub(super) fn flush(&self, time_max: Duration) {
        let deadline = Instant::now() + time_max;
        let mut waiting = self.waiting.lock();
        let goal = waiting.steps_added;
        while waiting.steps_finished < goal {
            waiting.is_urgent = true;
            self.work.notify_one();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            waiting = self.done.wait_timeout(waiting, left);
        }
    }
}

impl Waiting {
    /// Whether there is work that must not wait for the interval.
    fn is_due(&self) -> bool {
        self.has_ended
            || self.is_urgent
            || !self.tasks.is_empty()
            || self.lines.len() >= BLOCK_BYTES
    }

    /// Turns the buffered lines into a task.
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
            Self::SetFile(_) => 0,
        }
    }
}
