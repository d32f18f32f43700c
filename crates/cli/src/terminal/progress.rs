//! The progress bar on standard error.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_ingest::{DataSet, SourceSnapshot};

use super::is_dumb;
use super::text::{fit, fit_middle};
use crate::display::{bytes, rate, safe, separated};

/// The pause between two updates. A person would not notice more frequent ones.
const INTERVAL: Duration = Duration::from_millis(100);

/// The time before progress is first shown, so that short tasks show none.
const DELAY: Duration = Duration::from_millis(200);

/// Columns of the bar.
const BAR_COLUMNS: usize = 20;

/// Columns of the name.
const NAME_COLUMNS: usize = 24;

/// Shows progress while it exists, if standard error is a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to show the progress of the sources of a data set.
    pub(crate) fn of_reading(data: Arc<DataSet>, bytes_total: Option<u64>) -> Self {
        Self::start(move |elapsed| {
            let sources = data.sources();
            let snapshots: Vec<_> = sources.iter().map(|source| source.snapshot()).collect();
            reading(&snapshots, bytes_total, elapsed)
        })
    }

    /// Starts to show the progress of writing a file.
    pub(crate) fn of_writing(name: String, done: Arc<AtomicU64>, bytes_total: u64) -> Self {
        Self::start(move |elapsed| {
            let done = done.load(Ordering::Relaxed);
            begin(&name, done, Some(bytes_total), elapsed)
        })
    }

    fn start(line: impl Fn(Duration) -> String + Send + 'static) -> Self {
        // A dumb terminal cannot redraw a line.
        if is_dumb() || !std::io::stderr().is_terminal() {
            return Self { thread: None };
        }
        let (end, ended) = channel::<()>();
        let start = Instant::now();
        let thread = std::thread::spawn(move || {
            let mut wait = DELAY;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = INTERVAL;
                show(&line(start.elapsed()));
            }
            // A short task has shown nothing.
            if wait == INTERVAL {
                write("\r\x1b[K");
            }
        });
        Self { thread: Some((end, thread)) }
    }

    /// Removes the progress from the screen.
    pub(crate) fn end(self) {
        if let Some((end, thread)) = self.thread {
            drop(end);
            // A thread that panicked left nothing to remove.
            let _ = thread.join();
        }
    }
}

fn show(line: &str) {
    let columns = terminal_size::terminal_size_of(std::io::stderr())
        .map_or(80, |(width, _)| usize::from(width.0));
    // The last column stays free, so that the line is not wrapped.
    let line = fit(line, columns.saturating_sub(1));
    write(&format!("\r{line}\x1b[K"));
}

/// The progress of the sources, with their lines and unparsed lines.
fn reading(sources: &[SourceSnapshot], bytes_total: Option<u64>, elapsed: Duration) -> String {
    let sum = |of: fn(&SourceSnapshot) -> u64| sources.iter().map(of).sum::<u64>();
    let name = sources.last().map_or("", |source| source.name.as_str());
    let begin = begin(name, sum(|source| source.bytes_done), bytes_total, elapsed);
    let lines = separated(sum(|source| source.lines));
    match sum(|source| source.unparsed_lines + source.too_long_lines) {
        0 => format!("{begin}, {lines} lines"),
        unparsed => format!("{begin}, {lines} lines, {} unparsed", separated(unparsed)),
    }
}

/// Name, bar, share, bytes and speed.
fn begin(name: &str, done: u64, bytes_total: Option<u64>, elapsed: Duration) -> String {
    let bar = bytes_total.filter(|total| *total > 0).map(|total| {
        let share = (done as f64 / total as f64).min(1.0);
        let filled = (share * BAR_COLUMNS as f64) as usize;
        let bar = "█".repeat(filled) + &"░".repeat(BAR_COLUMNS - filled);
        format!("{bar} {:3.0}%  ", (share * 100.0).floor())
    });
    let speed = rate(done as f64 / elapsed.as_secs_f64().max(0.001));
    let name = fit_middle(&safe(name), NAME_COLUMNS);
    format!("{name}  {}{}, {speed}", bar.unwrap_or_default(), bytes(done))
}

fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Reading continues even if the bar cannot be drawn.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_ingest::{Phase, SourceSnapshot};

    use super::reading;

    #[test]
    fn shows_bytes_lines_and_speed() {
        let source = SourceSnapshot {
            number: 0,
            name: "access\x1b.log".to_owned(),
            bytes_total: Some(4_000_000),
            bytes_done: 2_000_000,
            bytes_parsed: 2_000_000,
            lines: 12_345,
            records: 12_343,
            empty_lines: 0,
            unparsed_lines: 1,
            too_long_lines: 1,
            format: None,
            by_format: Vec::new(),
            parsed_share: None,
            samples: Vec::new(),
            end: None,
            note: None,
            phase: Phase::Reading,
        };
        let second = Duration::from_secs(1);
        assert_eq!(
            reading(std::slice::from_ref(&source), Some(4_000_000), second),
            "access\\x1b.log  ██████████░░░░░░░░░░  50%  2.00 MB, 2.00 MB/s, 12,345 lines, 2 unparsed"
        );
        assert_eq!(
            reading(&[source], None, second),
            "access\\x1b.log  2.00 MB, 2.00 MB/s, 12,345 lines, 2 unparsed"
        );
    }
}
