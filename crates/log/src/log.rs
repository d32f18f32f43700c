//! The `tracing` subscriber that writes messages.

use std::fmt;
use std::io::Write;
use std::mem::replace;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use tracing::callsite::rebuild_interest_cache;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Metadata, Subscriber};
use weir_sync::{Condition, Lock, ReadWriteLock};
use weir_view::{LogEvent, LogLevel, LogValue};

use crate::filter::LogFilter;
use crate::format::MessageFormat;
use crate::message::{now, to_message, truncate};
use crate::repeats::Repeats;
use crate::ring::Ring;

/// The most detailed level that is compiled into this build: `info` in release builds.
pub const LEVEL_MAX: LevelFilter = STATIC_MAX_LEVEL;

/// How long the counting thread sleeps if there is nothing to count. It is woken when there is.
const IDLE: Duration = Duration::from_secs(3_600);

/// A log, which receives the program's `tracing` events and writes them as lines. Clones share all
/// state.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    filter: ReadWriteLock<LogFilter>,
    format: MessageFormat,
    output: Lock<Output>,
    /// The last messages. They have their own lock, so that they can be read while `output` is
    /// blocked.
    ring: Lock<Ring>,
    /// Notified when a message was not written and its repeats have to be counted.
    left_out: Condition,
}

struct Output {
    sink: Box<dyn Write + Send>,
    repeats: Repeats,
    /// Whether the counting thread will wake at the end of the window without a notification.
    has_wake_time: bool,
}

/// The error that the program already has a global `tracing` subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstallError;

impl Log {
    /// Makes a log that writes to `sink`. Callers wait until their event is written.
    pub fn new(
        filter: LogFilter,
        format: MessageFormat,
        sink: impl Write + Send + 'static,
    ) -> Self {
        let (sink, repeats) = (Box::new(sink), Repeats::default());
        let output = Output { sink, repeats, has_wake_time: false };
        Self(Arc::new(Inner {
            filter: ReadWriteLock::new(filter),
            format,
            output: Lock::new(output),
            ring: Lock::default(),
            left_out: Condition::new(),
        }))
    }

    /// Makes this the global subscriber, and starts the thread that writes how often messages were
    /// repeated.
    ///
    /// # Errors
    /// If the program already has a global subscriber.
    pub fn install(&self) -> Result<(), InstallError> {
        set_global_default(self.clone()).map_err(|_| InstallError)?;
        let log = self.clone();
        let counting = std::thread::Builder::new().name("log".to_owned());
        // If the thread cannot start, the counts are written with the next message.
        let _ = counting.spawn(move || log.write_counts());
        Ok(())
    }

    /// Returns the current filter.
    pub fn filter(&self) -> LogFilter {
        self.0.filter.read().clone()
    }

    /// Replaces the filter.
    pub fn set_filter(&self, filter: LogFilter) {
        *self.0.filter.write() = filter;
        // Each call site caches whether it is enabled.
        rebuild_interest_cache();
    }

    /// Writes a message of the command itself, which ignores the filter. The text format writes
    /// `line` unchanged; JSON writes an event with `message`.
    pub fn announce(&self, level: LogLevel, target: &str, message: &str, line: &str) {
        let event = LogEvent::new(now(), level, target, truncate(message.to_owned()));
        let written = match self.0.format {
            MessageFormat::Text => line.to_owned(),
            MessageFormat::Json => MessageFormat::Json.line(&event),
        };
        self.0.ring().push(event);
        // A write error cannot be reported: this is where errors are reported.
        let _ = self.0.output.lock().sink.write_all(written.as_bytes());
    }

    /// Writes a message about the log itself, which ignores the filter.
    pub fn report(&self, level: LogLevel, target: &str, message: &str, fields: &[(&str, &str)]) {
        let mut event = LogEvent::new(now(), level, target, truncate(message.to_owned()));
        for (name, text) in fields {
            let text = LogValue::Text(truncate((*text).to_owned()));
            event.fields.insert((*name).to_owned(), text);
        }
        self.0.write(&mut self.0.output.lock(), event);
    }

    /// Returns the number of the next message, and the kept messages from number `from` on, the
    /// oldest first.
    pub fn last(&self, from: u64) -> (u64, Vec<LogEvent>) {
        self.0.ring().since(from)
    }

    /// Writes the counts of each window at its end. It never returns.
    fn write_counts(&self) {
        let mut output = self.0.output.lock();
        loop {
            self.0.end_windows(&mut output, Instant::now());
            let next = output.repeats.next_end();
            output.has_wake_time = next.is_some();
            let wait = next.map(|end| end.saturating_duration_since(Instant::now()));
            // A spurious wake-up does no harm.
            output = self.0.left_out.wait_timeout(output, wait.unwrap_or(IDLE));
        }
    }

    /// Writes how often messages were repeated so far. Call it before the program exits.
    pub fn flush(&self) {
        let mut output = self.0.output.lock();
        let summaries = output.repeats.end_all();
        self.0.write_all(&mut output, summaries);
    }
}

impl Inner {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock()
    }

    fn write(&self, output: &mut Output, event: LogEvent) {
        let line = self.format.line(&event);
        self.ring().push(event);
        // A write error cannot be reported: this is where errors are reported.
        let _ = output.sink.write_all(line.as_bytes());
    }

    fn end_windows(&self, output: &mut Output, now: Instant) {
        let summaries = output.repeats.end_windows(now);
        self.write_all(output, summaries);
    }

    fn write_all(&self, output: &mut Output, events: Vec<LogEvent>) {
        for event in events {
            self.write(output, event);
        }
    }
}

impl Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let filter = self.0.filter.read();
        metadata.is_event() && filter.allows(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter().level_max())
    }

    fn event(&self, event: &Event<'_>) {
        let message = to_message(event);
        let mut output = self.0.output.lock();
        let now = Instant::now();
        self.0.end_windows(&mut output, now);
        if output.repeats.admit(event.metadata().callsite(), &message, now) {
            self.0.write(&mut output, message);
        } else if !replace(&mut output.has_wake_time, true) {
            drop(output);
            self.0.left_out.notify_one();
        }
    }

    // Spans are never enabled, so the following methods do nothing.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filter, format) = (self.filter().to_string(), self.0.format);
        formatter.debug_struct("Log").field("filter", &filter).field("format", &format).finish()
    }
}

impl fmt::Display for InstallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the program has a receiver of log messages already")
    }
}

impl std::error::Error for InstallError {}
