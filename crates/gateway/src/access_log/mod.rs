//! The access log: a line for each request in a file, beside the picture.
//!
//! Requests never wait for the disk. A line is written into memory, and a thread of its own writes what has
//! gathered, in blocks and at the latest after half a second. If the disk cannot keep up, lines beyond
//! 16 MiB are dropped and counted.
//!
//! | step | file |
//! |---|---|
//! | a record becomes a line | `line.rs`, `escape.rs`, `clock.rs` |
//! | lines gather, and what else there is to do in their order | `queue.rs` |
//! | they are written to a file | `writer.rs` |

mod clock;
mod escape;
mod line;
mod queue;
mod settings;
mod writer;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use weir_core::Record;
use weir_observe::mark;

use self::queue::Queue;
pub use self::settings::{AccessLogConfig, AccessLogFormat};
use self::writer::{LogFile, Writer};
use crate::notices::Notices;

/// How long [`AccessLog::flush`] waits for the disk.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(5);

/// The access log of a gateway. It is off until [`Self::set`] names a file.
#[derive(Debug)]
pub struct AccessLog {
    queue: Arc<Queue>,
    /// What the file is; and whether the thread runs, which is begun with the first file.
    state: Mutex<State>,
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
    /// A log that is off. `extra_fields` are the names of the records' own fields, which the JSON form has too.
    pub(crate) fn new(extra_fields: &'static [&'static str], notices: Notices) -> Self {
        Self { queue: Arc::new(Queue::new(extra_fields, notices)), state: Mutex::default() }
    }

    /// Adds the line of a request. Does nothing if the log is off.
    #[inline]
    pub(crate) fn put(&self, record: &Record<'_>) {
        if self.queue.is_on() {
            let _call = mark!("AccessLog::put").enter();
            self.queue.put(record);
        }
    }

    /// The number of lines that are missing in the file, because the disk was too slow or refused them.
    pub fn lost(&self) -> u64 {
        self.queue.lost()
    }

    /// Writes all following lines as `config` says: to another file, in another form, or nowhere. The lines
    /// before go where they would have gone.
    ///
    /// # Errors
    /// If the file cannot be opened for appending. Then nothing changes.
    pub fn set(&self, config: Option<&AccessLogConfig>) -> Result<(), AccessLogError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.config.as_ref() == config {
            return Ok(());
        }
        self.turn(&mut state, config)
    }

    /// Opens the file anew, after it was renamed: the lines so far go to the renamed one, all others to a new
    /// file of its name.
    ///
    /// # Errors
    /// If the file cannot be opened for appending. Then the log goes on with the renamed file.
    pub fn reopen(&self) -> Result<(), AccessLogError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let config = state.config.clone();
        self.turn(&mut state, config.as_ref())
    }

    fn turn(
        &self,
        state: &mut State,
        config: Option<&AccessLogConfig>,
    ) -> Result<(), AccessLogError> {
        let file = config.map(LogFile::open).transpose()?;
        if file.is_some() && !state.has_writer {
            let writer = Writer::new(self.queue.clone());
            let thread = std::thread::Builder::new().name("access-log".to_owned());
            let started = thread.spawn(move || writer.run());
            started
                .map_err(|error| AccessLogError(format!("no thread can be started: {error}")))?;
            state.has_writer = true;
        }
        self.queue.turn_to(file, config.map(|config| config.format));
        state.config = config.cloned();
        Ok(())
    }

    /// Waits until the lines so far are in the file, or for a few seconds.
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
