//! The thread that writes lines to a file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use super::queue::{Queue, Task};
use super::{AccessLogConfig, AccessLogError};

/// The mode of a new log file. It holds personal data, so others may not read it.
#[cfg(unix)]
const MODE: u32 = 0o640;

/// Executes the tasks of a queue.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    file: Option<LogFile>,
}

/// An open log file.
#[derive(Debug)]
pub(super) struct LogFile {
    file: File,
    /// Whether its last line is incomplete, for example because the disk was full.
    is_torn: bool,
}

impl Writer {
    pub(super) fn new(queue: Arc<Queue>) -> Self {
        Self { queue, file: None }
    }

    /// Runs until the queue ends.
    pub(super) fn run(mut self) {
        while let Some(tasks) = self.queue.take() {
            for task in tasks {
                match task {
                    Task::SetFile(file) => self.file = file,
                    Task::Write(lines) => self.write(&lines),
                }
            }
            self.queue.finish();
        }
    }

    fn write(&mut self, lines: &[u8]) {
        // Lines are only added while there is a file.
        let Some(file) = &mut self.file else { return };
        if let Err((written, error)) = file.write(lines) {
            let lost = lines.get(written..).unwrap_or_default();
            let lost = lost.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.queue.note_lost(lost, &error.to_string());
        }
    }
}

impl LogFile {
    /// Opens the file of a configuration and keeps its lines.
    ///
    /// # Errors
    /// If the file cannot be opened for appending, or is a pipe.
    pub(super) fn open(config: &AccessLogConfig) -> Result<Self, AccessLogError> {
        let path = &config.file;
        let cannot = |why: &dyn std::fmt::Display| {
            AccessLogError(format!("{}: the access log cannot be opened: {why}", path.display()))
        };
        if is_pipe(path) {
            return Err(cannot(&"it is a pipe, whose reader would hold up the gateway"));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, MODE);
        let file = options.open(path).map_err(|error| cannot(&error))?;
        Ok(Self { file, is_torn: false })
    }

    /// Writes lines.
    ///
    /// # Errors
    /// If a write fails, with the number of bytes written before it.
    fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        if self.is_torn {
            self.file.write_all(b"\n").map_err(|error| (0, error))?;
            self.is_torn = false;
        }
        let mut written = 0;
        while let Some(rest @ [_, ..]) = lines.get(written..) {
            let error = match self.file.write(rest) {
                Ok(bytes @ 1..) => {
                    written += bytes;
                    continue;
                }
                Ok(0) => ErrorKind::WriteZero.into(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            self.is_torn = written > 0 && lines.get(written - 1) != Some(&b'\n');
            return Err((written, error));
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}
