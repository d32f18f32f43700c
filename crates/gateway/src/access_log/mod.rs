//! The access log: a file with one line for each request.
//!
//! Requests never wait for the disk. Lines are buffered in memory, and a dedicated thread writes
//! them in blocks, at the latest after half a second. If the disk cannot keep up, lines beyond 16
//! MiB are dropped and counted.
//!
//! | step | file |
//! |---|---|
//! | format a record as a line | `line.rs`, `escape.rs`, `clock.rs` |
//! | buffer lines and file changes in their order | `queue.rs` |
//! | write lines to a file | `writer.rs` |

mod clock;
mod escape;
mod line;
mod queue;
mod settings;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weir_core::Record;
use weir_observe::mark;
use weir_sync::Lock;

use self::queue::Queue;
pub use self::settings::{AccessLogConfig, AccessLogFormat};
use self::writer::{LogFile, Writer};

/// How long [`AccessLog::flush`] waits for the disk.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(5);

/// The access log of a gateway. It is off until [`Self::set`] names a file.
#[derive(Debug)]
pub struct AccessLog {
    queue: Arc<Queue>,
    /// The present file, and whether the writer thread runs. It starts with the first file.
    state: Lock<State>,
}

#[derive(Debug, Default)]
struct State {
    config: Option<AccessLogConfig>,
    has_writer: bool,
}

/// Why an access log cannot be written.
#[derive(Debug)]
pub struct AccessLogError(String);

impl AccessLog {
    /// Creates a log that is off. `extra_fields` names the records' extra fields, which the JSON
    /// format includes.
    pub(crate) fn new(extra_fields: &'static [&'static str]) -> Self {
        Self { queue: Arc::new(Queue::new(extra_fields)), state: Lock::default() }
    }

    /// Adds the line of a request. Does nothing if the log is off.
    #[inline]
    pub(crate) fn put(&self, record: &Record<'_>) {
        if self.queue.is_on() {
            let _call = mark!("AccessLog::put").enter();
            self.queue.put(record);
        }
    }

    /// The number of lines missing from the file because the disk was too slow or a write failed.
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// Changes the file and format of all following lines; `None` turns the log off. Earlier lines
    /// still go to the previous file.
    ///
    /// # Errors
    /// If the file cannot be opened for appending. Nothing changes then.
    pub fn set(&self, config: Option<&AccessLogConfig>) -> Result<(), AccessLogError> {
        let mut state = self.state.lock();
        if state.config.as_ref() == config {
            return Ok(());
        }
        self.change_file(&mut state, config)
    }

    /// Reopens the file by its name, after log rotation has renamed it. Earlier lines go to the
    /// renamed file, all others to the new one.
    ///
    /// # Errors
    /// If the file cannot be opened for appending. The log then continues in the renamed file.
    pub fn reopen(&self) -> Result<(), AccessLogError> {
        let mut state = self.state.lock();
        let config = state.config.clone();
        self.change_file(&mut state, config.as_ref())
    }

    fn change_file(
        &self,
        state: &mut State,
        config: Option<&AccessLogConfig>,
    ) -> Result<(), AccessLogError> {
        let file = config.map(LogFile::open).transpose()?;
        if file.is_some() && !state.has_writer {
            let writer = Writer::new(self.queue.clone());
            let thread = std::thread::Builder::new().name("access-log".to_owned());
            let started = thread.spawn(move || writer.run());
            started.map_err(|error| {
                AccessLogError(format!("the writer thread cannot be started: {error}"))
            })?;
            state.has_writer = true;
        }
        self.queue.set_file(file, config.map(|config| config.format));
        state.config = config.cloned();
        Ok(())
    }

    /// Waits until all lines so far are in the file, for at most 5 s.
    pub fn flush(&self) {
        self.queue.flush(FLUSH_TIME_MAX);
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.queue.end();
        self.flush();
    }
}

impl fmt::Display for AccessLogError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for AccessLogError {}
