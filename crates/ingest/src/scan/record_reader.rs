//! Reads the lines of a scanned text as records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use weir_core::{
    BlockLimits, Format, FormatChoice, FormatTracker, LineOutcome, LogReader, Record,
    TrackerOptions,
};

use super::drift_splitter::DriftSplitter;
use super::format_search::FormatSearch;
use super::late_search::LateSearch;
use super::text_formats::TextFormats;
use crate::clock::{Clock, SystemClock, seconds_since_1970};

/// Reads the lines of one text, in the format that a report would use.
#[derive(Debug)]
pub struct RecordReader {
    log: LogReader,
    formats: TextFormats,
    /// `None` once the format is known, or will not be found.
    search: Option<FormatSearch>,
    /// Finds changes of the format in a live stream; `None` for files, which have one format.
    drift: Option<DriftSplitter>,
    /// Finds companions that appear later; `None` if the format is forced.
    late: Option<LateSearch>,
    is_format_known: bool,
    unparsed_lines: u64,
    too_long_lines: u64,
    /// The number of lines before the next block that were too long for one.
    skipped_lines: u64,
    line_bytes_max: usize,
}

impl RecordReader {
    /// Creates a reader at the start of a text. `written` is when the text was last written, which
    /// determines the year of times without one. `patience` is how long a live stream may take to
    /// deliver the lines in which the format is detected; `None` for a file. The format of a live
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
        let (own, companions) = (tracker.format().clone(), tracker.companions().clone());
        let formats = TextFormats { own, companions };
        let is_format_known = tracker.is_decided();
        let search = (!is_format_known).then(|| FormatSearch::new(tracker, patience));
        let drift = patience.map(|_| DriftSplitter::new(choice, written_s));
        let log = formats.reader();
        let is_forced = matches!(choice, FormatChoice::Forced(_));
        Self {
            log,
            formats,
            search,
            drift,
            late: (!is_forced).then(|| LateSearch::new(written_s)),
            is_format_known,
            unparsed_lines: 0,
            too_long_lines: 0,
            skipped_lines: 0,
            line_bytes_max: BlockLimits::LINE_BYTES_MAX,
        }
    }

    /// Creates a reader of a part of a text whose formats are known.
    pub(super) fn of_part(formats: &TextFormats, late: Option<LateSearch>) -> Self {
        let mut reader = Self {
            log: formats.reader(),
            formats: formats.clone(),
            search: None,
            drift: None,
            late,
            is_format_known: true,
            unparsed_lines: 0,
            too_long_lines: 0,
            skipped_lines: 0,
            line_bytes_max: BlockLimits::LINE_BYTES_MAX,
        };
        reader.set_formats(formats.clone());
        reader
    }

    /// Continues with these formats, and with the companions that have joined before.
    fn set_formats(&mut self, formats: TextFormats) {
        self.log = formats.reader();
        if let Some(late) = &self.late {
            late.add_joined(&mut self.log, &formats.own, &formats.companions);
        }
        self.formats = formats;
        self.is_format_known = true;
    }

    /// Whether records in another format may follow: directives in the text may change its format,
    /// or a companion may join.
    pub fn may_change(&self) -> bool {
        let may_join = |late: &LateSearch| late.may_join(&self.formats);
        !self.formats.are_steady() || self.late.as_ref().is_some_and(may_join)
    }

    /// The formats in which lines that do not match the text's own format are tried.
    pub fn companions(&self) -> &[Arc<Format>] {
        &self.formats.companions
    }

    /// The number of lines before the last returned block that are in no block because they are
    /// over the limit of 1 MiB.
    pub fn skipped_lines(&self) -> u64 {
        self.skipped_lines
    }

    /// Counts a line over the limit, which is in no block.
    pub(super) fn skip_line(&mut self) {
        self.skipped_lines += 1;
        self.too_long_lines += 1;
    }

    /// Whether the format of the lines is known. While it is not, lines are read as COMBINED.
    pub fn is_format_known(&self) -> bool {
        self.is_format_known
    }

    /// The format in which the next line is tried first. It changes when a format is detected, at
    /// directives in the text that name other fields, and where the format of a live stream
    /// changes.
    pub fn format(&self) -> &Arc<Format> {
        self.log.parser().format()
    }

    /// The number of lines that could not be parsed; empty lines, directives and lines over the
    /// limit of 1 MiB are not counted.
    pub fn unparsed_lines(&self) -> u64 {
        self.unparsed_lines
    }

    /// The number of lines over the limit of 1 MiB, which are not parsed.
    pub fn too_long_lines(&self) -> u64 {
        self.too_long_lines
    }

    /// Reads the next line, without its line feed, and passes its record to `then`, with the
    /// record's format. `then` receives `None` if the line is empty, a directive, or cannot be
    /// parsed.
    pub fn read<T>(
        &mut self,
        line: &[u8],
        then: impl FnOnce(Option<(&Arc<Format>, &Record<'_>)>) -> T,
    ) -> T {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A byte order mark, as in `weir_core::Lines`.
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.len() > self.line_bytes_max {
            self.too_long_lines += 1;
            return then(None);
        }
        let read = self.log.read(line, |parser, outcome| match outcome {
            LineOutcome::Record(record) => Ok(then(Some((parser.format(), record)))),
            LineOutcome::Directive => Ok(then(None)),
            LineOutcome::Unparsed(_) => Err(then),
        });
        match read {
            Ok(value) => value,
            Err(then) => self.read_unmatched(line, then),
        }
    }

    /// Reads a line that no format of the text so far matches.
    #[cold]
    fn read_unmatched<T>(
        &mut self,
        line: &[u8],
        then: impl FnOnce(Option<(&Arc<Format>, &Record<'_>)>) -> T,
    ) -> T {
        if line.is_empty() {
            return then(None);
        }
        let late = self.late.as_mut().filter(|_| self.is_format_known);
        if late
            .is_some_and(|late| late.find_companion(line, &mut self.log, &self.formats.companions))
        {
            return self.log.read(line, |parser, outcome| match outcome {
                LineOutcome::Record(record) => then(Some((parser.format(), record))),
                _ => then(None),
            });
        }
        self.unparsed_lines += 1;
        then(None)
    }

    /// The search for the format, while there is one.
    pub(super) fn search(&mut self) -> Option<&mut FormatSearch> {
        self.search.as_mut()
    }

    /// Examines the window of the search if that is due. Returns whether the lines read so far can
    /// be parsed.
    pub(super) fn examine_window(&mut self, has_paused: bool, has_ended: bool) -> bool {
        let Some(search) = &mut self.search else { return true };
        if !has_ended && !search.is_due(has_paused) {
            return false;
        }
        let found = search.examine(has_ended);
        if search.is_decided() {
            self.search = None;
        }
        if let Some(formats) = found {
            // The window may end with a line that is in no block yet, so the first block alone
            // could seem to have another format.
            if let Some(drift) = &mut self.drift {
                drift.begin_with(&formats);
            }
            self.set_formats(formats);
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
        let begun_formats = drift.take_formats(start);
        let end = drift.next_start().unwrap_or(block_length);
        if let Some(formats) = begun_formats {
            self.set_formats(formats);
        }
        end
    }

    /// The formats, if they are known and nothing in the text can change them.
    pub(super) fn steady_formats(&self) -> Option<TextFormats> {
        let is_steady = self.is_format_known && self.formats.are_steady();
        is_steady.then(|| self.formats.clone())
    }
}

/// A value that depends on the format of a text's lines, such as its resolved fields. It is
/// computed again when the format changes, and once for each companion.
#[derive(Debug)]
pub struct FormatBinding<T> {
    format: Option<Arc<Format>>,
    value: Option<T>,
    /// The values for the companions, the formats of lines that do not match the text's own.
    companions: Vec<(Arc<Format>, Option<T>)>,
    /// Whether a known format was bound.
    has_bound: bool,
}

impl<T> FormatBinding<T> {
    /// A binding before the first line.
    pub fn new() -> Self {
        Self { format: None, value: None, companions: Vec::new(), has_bound: false }
    }

    /// Computes the value with `bind` if the format of the next line has changed. The flag for
    /// `bind` is whether the format is the only one of its text. Otherwise other formats or lists
    /// of fields may occur, and if this format lacks a field, that field is merely absent from its
    /// records.
    ///
    /// # Errors
    /// If `bind` fails for the first format of the text. If it fails for a later format, that
    /// format has no value.
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
        // A log that lists its fields has none before the first list.
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

    /// Whether the format of a record was bound, with or without success. If not,
    /// [`Self::bind_companion`] has to be called.
    pub fn is_bound(&self, format: &Arc<Format>) -> bool {
        let is_own = self.format.as_ref().is_some_and(|own| Arc::ptr_eq(own, format));
        is_own || self.companions.iter().any(|(known, _)| Arc::ptr_eq(known, format))
    }

    /// The value for the format of a record; `None` if there is none.
    pub fn value_of(&self, format: &Arc<Format>) -> Option<&T> {
        if self.format.as_ref().is_some_and(|own| Arc::ptr_eq(own, format)) {
            return self.value.as_ref();
        }
        let known = self.companions.iter().find(|(known, _)| Arc::ptr_eq(known, format));
        known.and_then(|(_, value)| value.as_ref())
    }

    /// [`Self::value_of`], mutable.
    pub fn value_of_mut(&mut self, format: &Arc<Format>) -> Option<&mut T> {
        if self.format.as_ref().is_some_and(|own| Arc::ptr_eq(own, format)) {
            return self.value.as_mut();
        }
        let known = self.companions.iter_mut().find(|(known, _)| Arc::ptr_eq(known, format));
        known.and_then(|(_, value)| value.as_mut())
    }

    /// Computes the value for a companion. If that fails, because the format lacks a field, the
    /// format has no value.
    pub fn bind_companion<E>(
        &mut self,
        format: &Arc<Format>,
        bind: impl FnOnce(&Format) -> Result<T, E>,
    ) {
        self.companions.push((format.clone(), bind(format).ok()));
    }
}

impl<T> Default for FormatBinding<T> {
    fn default() -> Self {
        Self::new()
    }
}
