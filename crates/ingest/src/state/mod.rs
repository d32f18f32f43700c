//! A data set that survives the end of its process: `--state`.
//!
//! A thread writes what has changed in the data set to a file, at most ten times a second. Each time
//! it is one record, which has the segments, the values that they refer to, and how far each source was
//! read: any prefix of the records is the data set at one moment. So a process that is killed at any
//! time goes on from a moment at which every line was either counted or is still to be read.
//!
//! Only sources whose writers ask for it are kept ([`SourceOptions::keep`](crate::SourceOptions)).
//! Of others, such as uploads, nothing is written: neither records nor values nor names.

mod folder;
mod moment;
mod places;
mod saver;
mod written;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use weir_store::Writer;

use self::folder::Folder;
pub use self::folder::StateError;
use self::saver::Saver;
use crate::pipeline::DataSet;

/// The pause between two changes of the file.
const PAUSE: Duration = Duration::from_millis(100);

/// The time after which what was written also survives a loss of power.
const SYNC_PERIOD: Duration = Duration::from_secs(5);

/// The pause after an error, such as a full disk.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// Keeps the state of a data set in a folder, until it is dropped.
#[derive(Debug)]
pub struct State {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl State {
    /// Fills an empty data set with what the folder has, and begins to keep it there. Also returns
    /// notes about files that could not be read. `report` is called when the state can no longer be
    /// written, and when it can be again.
    ///
    /// # Errors
    /// If another process uses the folder, or if it cannot be read and written.
    pub fn open(
        path: &Path,
        data: Arc<DataSet>,
        report: impl Fn(String) + Send + 'static,
    ) -> Result<(Self, Vec<String>), StateError> {
        let folder = Folder::lock(path)?;
        let values_max = data.retention().values_bytes_max(data.memory_bytes_max());
        let (stored, notes) = folder.read(values_max, data.memory_bytes_max())?;
        let file = folder.data_path();
        let fail = |error: io::Error| StateError::Io(file.clone(), error);
        let saver = Saver::new(data.clone(), folder);
        let mut saver = match stored {
            None => saver,
            Some(stored) => {
                let (writer, bytes) = (Writer::after(&stored), stored.committed_bytes);
                let may_append = stored.has_own_columns();
                let numbers = stored.segments.keys().copied().collect();
                data.restore(stored);
                match may_append {
                    true => saver.after(writer, bytes, numbers).map_err(&fail)?,
                    false => saver,
                }
            }
        };
        // A folder that cannot be written to is noticed at once.
        saver.save().map_err(&fail)?;
        let (end, ended) = channel();
        let run = move || run(saver, &data, &ended, &report);
        let thread = thread::Builder::new().name("weir-state".to_owned()).spawn(run);
        let thread = thread.map_err(|error| StateError::Io(path.to_owned(), error))?;
        Ok((Self { thread: Some((end, thread)) }, notes))
    }
}

impl Drop for State {
    /// Writes what has changed, and waits until it survives a loss of power.
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            // After a panic, the file has the last change before it.
            let _ = thread.join();
        }
    }
}

/// Saves the data set whenever it has changed.
fn run(mut saver: Saver, data: &DataSet, ended: &Receiver<()>, report: &dyn Fn(String)) {
    let version = data.version();
    let (mut seen, mut synced, mut has_failed) = (None, Instant::now(), false);
    loop {
        let pause = if has_failed { ERROR_PAUSE } else { PAUSE };
        let is_end = ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
        let current = *version.borrow();
        let mut result = Ok(());
        if seen != Some(current) || is_end {
            result = saver.save();
        }
        if result.is_ok() && (synced.elapsed() >= SYNC_PERIOD || is_end) {
            result = saver.sync();
            synced = Instant::now();
        }
        match &result {
            Ok(()) => seen = Some(current),
            Err(error) if !has_failed => report(format!(
                "--state: what is read from now on cannot be kept: {error}; make room, weir tries again"
            )),
            Err(_) => {}
        }
        if has_failed && result.is_ok() {
            report("--state: the state is kept again".to_owned());
        }
        has_failed = result.is_err();
        if is_end {
            return;
        }
    }
}
