//! Reads the lines of a scanned text as records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_core::{
    BlockLimits, FollowedFormat, Format, FormatChoice, FormatTracker, LineOutcome, LogReader,
    Record, TrackerOptions,
};

use super::drift_splitter::DriftSplitter;
use super::format_search::FormatSearch;
use crate::clock::{Clock, SystemClock, seconds_since_1970};

/// Reads the lines of one text, in the format that a report would read them in.
#[derive(Debug)]
pub struct RecordReader {
    log: LogReader,
    /// `None` once the format is known, or will not be found.
    search: Option<FormatSearch>,
    /// Finds changes of the format in a live stream; `None` for files, which have one format.
    drift: Option<DriftSplitter>,
    is_format_known: bool,
    unparsed_lines: u64,
    /// The lines before the next block that were too long for one.
    skipped_lines: u64,
    line_bytes_max: usize,
}

impl RecordReader {
    /// A reader at the start of a text that was last `written` then, which determines the year of
    /// times without one. `patience` is how long a live stream may take to bring
    /// the lines in which the format is searched for, and `None` for a file. The format of a live
    /// stream may also change later.
    pub(super) fn new(
        choice: &FormatChoice,
        written: Option<SystemTime>,
        patience: Option<Duration>,
    ) -> Self {
        let written_s = written.map(seconds_since_1970);
        let options = TrackerOptions { written_s, watches_drift: false };
        let now_s = SystemClock::default().unix_s();
        let tracker = FormatTracker::new(choice.clone(), options, now_s);
        let log = LogReader::new(tracker.format().clone());
        let is_format_known = tracker.is_decided();
        let search = (!is_format_known).then(|| FormatSearch::new(tracker, patience));
        let drift = patience.map(|_| DriftSplitter::new(choice, written_s));
        Self {
            log,
            search,
            drift,
            is_format_known,
            unparsed_lines: 0,
            skipped_lines: 0,
            line_bytes_max: BlockLimits::LINE_BYTES_MAX,
        }
    }

    /// Whether directives in the text may change its format.
    pub fn may_change(&self) -> bool {
        FollowedFormat::new(self.format().clone()).may_change()
    }

    /// The number of lines before the block that was returned last that are in no block, because
    /// they are over the limit of 1 MiB. They count as unparsed.
    pub fn skipped_lines(&self) -> u64 {
        self.skipped_lines
    }

    /// Counts a line over the limit, which is in no block.
    pub(super) fn skip_line(&mut self) {
        self.skipped_lines += 1;
        self.unparsed_lines += 1;
    }

    /// Whether the format of the lines is known. While it is not, lines are read as COMBINED.
    pub fn is_format_known(&self) -> bool {
        self.is_format_known
    }

    /// The format of the next line. It changes when a format is found, at directives in the
    /// text that name other fields, and where the lines of a live stream change.
    pub fn format(&self) -> &Arc<Format> {
        self.log.parser().format()
    }

    /// The number of lines that could not be parsed, those over the limit of 1 MiB included; empty
    /// lines and directives are not counted.
    pub fn unparsed_lines(&self) -> u64 {
        self.unparsed_lines
    }

    /// Reads the next line, without its line feed, and passes its record to `then`. `None` stands
    /// for a line that is empty, a directive, or cannot be parsed.
    pub fn read<T>(&mut self, line: &[u8], then: impl FnOnce(Option<&Record<'_>>) -> T) -> T {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let unparsed = &mut self.unparsed_lines;
        if line.len() > self.line_bytes_max {
            *unparsed += 1;
            return then(None);
        }
        self.log.read(line, |_, outcome| match outcome {
            LineOutcome::Record(record) => then(Some(record)),
            LineOutcome::Directive => then(None),
            LineOutcome::Unparsed(_) => {
                *unparsed += u64::from(!line.is_empty());
                then(None)
            }
        })
    }

    /// The search for the format, while there is one.
    pub(super) fn search(&mut self) -> Option<&mut FormatSearch> {
        self.search.as_mut()
    }

    /// Examines the window of the search if it is due. Returns whether the lines that were read
    /// so far can be parsed.
    pub(super) fn examine_window(&mut self, has_paused: bool, has_ended: bool) -> bool {
        let Some(search) = &mut self.search else { return true };
        if !has_ended && !search.is_due(has_paused) {
            return false;
        }
        if let Some(format) = search.examine(has_ended) {
            self.log = LogReader::new(format);
            self.is_format_known = true;
        }
        if search.is_decided() {
            self.search = None;
        }
        true
    }

    /// Examines a block before its lines are read.
    pub(super) fn examine_block(&mut self, block: &[u8]) {
        if let Some(drift) = &mut self.drift {
            drift.examine(block);
        }
    }

    /// Begins to read the examined block at `start`. Returns the offset up to which its lines have
    /// one format.
    pub(super) fn begin_part(&mut self, start: usize, block_length: usize) -> usize {
        let Some(drift) = &mut self.drift else { return block_length };
        if let Some(format) = drift.take_format(start) {
            self.log = LogReader::new(format);
            self.is_format_known = true;
        }
        drift.next_start().unwrap_or(block_length)
    }

    /// The format, if it is known and nothing in the text can change it.
    pub(super) fn steady_format(&self) -> Option<Arc<Format>> {
        let format = self.format();
        let is_steady = self.is_format_known && !self.may_change();
        is_steady.then(|| format.clone())
    }
}

/// A value that depends on the format of a text's lines, such as its resolved fields. It is made
/// again when the format changes.
#[derive(Debug)]
pub struct FormatBinding<T> {
    format: Option<Arc<Format>>,
    value: Option<T>,
    /// Whether a known format was bound.
    has_bound: bool,
}

impl<T> FormatBinding<T> {
    /// A binding before the first line.
    pub fn new() -> Self {
        Self { format: None, value: None, has_bound: false }
    }

    /// Makes the value with `bind` if the format of the next line is not the one it was made for.
    /// `bind` is told whether the format is the only one of its text. Otherwise another list of
    /// fields or another format may come or has come, and a field that this one lacks is a value
    /// that its records lack.
    ///
    /// # Errors
    /// If `bind` fails for the first format of the text. If it fails for a later one, there is no
    /// value for that.
    pub fn update<E>(
        &mut self,
        reader: &RecordReader,
        bind: impl FnOnce(&Format, bool) -> Result<T, E>,
    ) -> Result<(), E> {
        let format = reader.format();
        if self.format.as_ref().is_some_and(|bound| Arc::ptr_eq(bound, format)) {
            return Ok(());
        }
        self.format = Some(format.clone());
        self.value = None;
        // A log with lists of fields has none before the first list.
        if format.fields().is_empty() && format.extra_fields().is_empty() {
            return Ok(());
        }
        let is_first = reader.is_format_known() && !self.has_bound;
        self.has_bound |= reader.is_format_known();
        match bind(format, is_first && !reader.may_change()) {
            Ok(value) => self.value = Some(value),
            Err(error) if is_first => return Err(error),
            Err(_) => {}
        }
        Ok(())
    }

    /// The value for the format of the next line; `None` if there is none.
    pub fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }
}

impl<T> Default for FormatBinding<T> {
    fn default() -> Self {
        Self::new()
    }
}
