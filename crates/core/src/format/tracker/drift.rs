//! Detects that the format of a feed has changed: the first line was a stray one, or the server
//! was reconfigured.
//!
//! There are two signs of a change. A **run** of lines at the end of the blocks, none of which
//! matches, is sure and quick if there is one sender. A **majority** of sampled lines that do not
//! match is for several senders, one of which still uses the old format: its lines end every run.
//!
//! A log has lines that match nothing now and then, so neither sign is enough to change the format.
//! It starts a detection over the lines that do not match, and only a format that matches three
//! quarters of them is taken. Detection is expensive, so it is rationed: after one in vain, 32
//! times its bytes must pass.
//!
//! When the format changes, the block is split at the line that separates best: the fewest unparsed
//! lines before it, and the fewest lines in the old format after it.

use std::sync::Arc;

use memchr::memchr;

use super::sampler::MismatchSampler;
use crate::format::compiled::Format;
use crate::format::detect::{best_of, matching_formats};
use crate::format::read::log_reader::{LineOutcome, LogReader};
use crate::line::Lines;

/// Watches a feed for lines that no longer match its format, and detects their format.
///
/// It reads the last lines of each block and a few sampled ones. A long enough run of lines that
/// do not match, or a majority among the samples, starts a detection.
///
/// The cost is bounded for any input. A block whose lines match costs five lines. Any other costs
/// [`LOOK_BYTES`], or one pass over the block if the format seems to change. Detection runs on at
/// most one byte in [`PAUSE_FACTOR`], except for the first few detections that succeed.
///
/// Memory is twice [`LOOK_BYTES`]: the lines of the run and those of the sampler.
#[derive(Debug)]
pub(super) struct FormatDrift {
    /// The reader of the current format; `None` before a format is known.
    reader: Option<(LogReader, Arc<Format>)>,
    /// The formats of lines that the current one does not match.
    companions: Arc<[Arc<Format>]>,
    /// Lines that are known to match, counted up to [`RUN_MAX`].
    parsed_lines: usize,
    /// How often the format has changed.
    changes: u32,
    /// Consecutive lines that do not match, up to the end of the last block.
    run: usize,
    /// The last lines of that run, with their line feeds.
    run_lines: Vec<u8>,
    sampler: MismatchSampler,
    /// Bytes that have to pass before the next detection.
    pause_bytes: usize,
}

/// A change of the format inside a block.
#[derive(Debug)]
pub(super) struct FormatChange {
    /// The offset in the block of the first line in the new format.
    pub(super) start: usize,
    /// The new format.
    pub(super) format: Arc<Format>,
    /// The share of the examined lines that match it, 0 to 1.
    ///
    /// At least three quarters.
    pub(super) parsed_share: f64,
}

/// Bytes at the end of a block that are examined, and bytes of lines that are kept.
const LOOK_BYTES: usize = 16 << 10;

/// After a detection in vain, this many times its bytes pass before the next one.
///
/// So at most one byte in 32 of a feed that matches nothing is read with all known formats.
const PAUSE_FACTOR: usize = 32;

/// The length of a run that starts a detection: the number of lines known to match the current
/// format, within these limits. Many logs have a line or two that do not match.
const RUN_MIN: usize = 2;
/// The longest run that is needed before the first change.
const RUN_MAX: usize = 16;

/// Each change doubles the length of the run, this many times at most. So of two senders with
/// different formats on one listener, neither keeps changing the format.
const DOUBLINGS_MAX: u32 = 6;

impl FormatDrift {
    /// Watches a feed in `format`, which `parsed_lines` lines are known to match. `None` stands
    /// for a feed whose format is not known.
    pub(super) fn new(format: Option<&Arc<Format>>, parsed_lines: usize) -> Self {
        Self {
            reader: format.map(|format| (LogReader::new(format.clone()), format.clone())),
            companions: Arc::default(),
            parsed_lines: parsed_lines.min(RUN_MAX),
            changes: 0,
            run: 0,
            run_lines: Vec::new(),
            sampler: MismatchSampler::new(LOOK_BYTES),
            pause_bytes: 0,
        }
    }

    /// Sets the companions of the format. A line that one of them matches is no sign of a change.
    pub(super) fn set_companions(&mut self, companions: &Arc<[Arc<Format>]>) {
        if !Arc::ptr_eq(&self.companions, companions) {
            self.companions = companions.clone();
            let format = self.reader.take().map(|(_, format)| format);
            self.reader = self.reader_of(format.as_ref());
        }
    }

    /// A reader of lines in `format` or a companion, and the format, to restart it.
    fn reader_of(&self, format: Option<&Arc<Format>>) -> Option<(LogReader, Arc<Format>)> {
        let format = format?.clone();
        Some((LogReader::with_companions(format.clone(), &self.companions), format))
    }

    /// Examines a block whose lines are in `format`. Returns where another format begins.
    pub(super) fn examine(
        &mut self,
        format: Option<&Arc<Format>>,
        bytes: &[u8],
    ) -> Option<FormatChange> {
        let known = self.reader.as_ref().map(|(_, format)| format);
        if known.map(Arc::as_ptr) != format.map(Arc::as_ptr) {
            // A directive has changed the format.
            self.reader = self.reader_of(format);
        }
        self.pause_bytes = self.pause_bytes.saturating_sub(bytes.len());
        self.examine_tail(bytes);
        self.examine_sample(bytes);
        let has_majority = self.sampler.has_majority(self.needed());
        if self.pause_bytes > 0 || !(has_majority || self.run >= self.needed()) {
            return None;
        }
        let start = split_point(bytes, |line| self.parses(line));
        if has_majority && start == bytes.len() {
            // The new format begins in a later block. Until then, not every block is read twice.
            self.pause_bytes = bytes.len();
            return None;
        }
        if start > 0 && !has_majority && !self.is_long_run(&bytes[start..]) {
            return None;
        }
        self.detect(start, bytes, has_majority)
    }

    /// Detects the format of the lines from `start` on.
    fn detect(&mut self, start: usize, bytes: &[u8], has_majority: bool) -> Option<FormatChange> {
        let evidence = self.evidence(&bytes[start..], has_majority);
        let known_bytes = self.run_lines.len() + bytes.len() - start;
        let tried_bytes = LOOK_BYTES.min(known_bytes.max(evidence.len()));
        // Three quarters have to match, so that a stray line does not decide again.
        let best = best_of(matching_formats(evidence))
            .filter(|best| best.parsed_lines * 4 >= best.lines * 3);
        let Some(best) = best else {
            self.pause_bytes = tried_bytes * PAUSE_FACTOR;
            return None;
        };
        let parsed_share = best.parsed_lines as f64 / best.lines.max(1) as f64;
        let pause_bytes = tried_bytes << self.changes.min(DOUBLINGS_MAX);
        let changes = self.changes + 1;
        *self = Self { changes, pause_bytes, ..Self::new(Some(&best.format), 0) };
        Some(FormatChange { start, format: best.format, parsed_share })
    }

    /// The lines to detect a format in: the first of `unparsed`, which may include a directive,
    /// or lines kept from several blocks if those are more.
    fn evidence<'a>(&'a self, unparsed: &'a [u8], has_majority: bool) -> &'a [u8] {
        let first = head(unparsed);
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        if has_majority && self.run < self.needed() {
            return self.sampler.lines();
        }
        if lines(first) >= lines(&self.run_lines) { first } else { &self.run_lines }
    }

    /// The length of a run that starts a detection.
    fn needed(&self) -> usize {
        self.parsed_lines.clamp(RUN_MIN, RUN_MAX) << self.changes.min(DOUBLINGS_MAX)
    }

    /// Reads the last lines backwards, until one matches or the run is long enough.
    fn examine_tail(&mut self, bytes: &[u8]) {
        let tail = tail(bytes);
        let needed = self.needed();
        let mut start = tail.len();
        let mut unparsed = 0;
        for line in Lines::new(tail).collect::<Vec<_>>().into_iter().rev() {
            match self.parses(line.bytes) {
                None => continue,
                Some(true) => {
                    self.parsed_lines = RUN_MAX.min(self.parsed_lines + 1);
                    self.run = 0;
                    self.run_lines.clear();
                    break;
                }
                Some(false) => {}
            }
            (start, unparsed) = (line.start, unparsed + 1);
            if unparsed == needed {
                break;
            }
        }
        self.run += unparsed;
        if self.run_lines.len() + tail.len() - start > LOOK_BYTES {
            self.run_lines.clear();
        }
        self.run_lines.extend_from_slice(&tail[start..]);
    }

    /// Whether a line matches. Returns `None` for an empty line. Directives match.
    fn parses(&mut self, line: &[u8]) -> Option<bool> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Some((reader, format)) = &mut self.reader else { return Some(false) };
        let (is_parsed, is_directive) = reader.read(line, |_, outcome| match outcome {
            LineOutcome::Record(_) => (true, false),
            LineOutcome::Directive => (true, true),
            LineOutcome::Unparsed(_) => (false, false),
        });
        if is_directive {
            // Lines are not read in order here, so the directive must not change the reader.
            *reader = LogReader::with_companions(format.clone(), &self.companions);
        }
        Some(is_parsed)
    }

    /// Reads a few lines of the whole block.
    fn examine_sample(&mut self, bytes: &[u8]) {
        for line in self.sampler.sample(bytes) {
            if let Some(is_parsed) = self.parses(line) {
                self.sampler.count(line, is_parsed, self.needed());
            }
        }
    }

    /// Whether the lines after the last matching ones are a long enough run by themselves. If not,
    /// they become the run: the matching lines were too far from the end of the block to be seen.
    fn is_long_run(&mut self, unparsed: &[u8]) -> bool {
        let lines = Lines::new(unparsed).filter(|line| !line.bytes.trim_ascii().is_empty()).count();
        if lines >= self.needed() {
            return true;
        }
        self.run = lines;
        self.run_lines.clear();
        self.run_lines.extend_from_slice(tail(unparsed));
        false
    }
}

/// The start of a line that splits a block best: with the fewest lines that do not match before it
/// plus lines that match from there on. Of several, the first. `parses` returns `None` for a line
/// that does not count.
///
/// One pass: the split is after the line at which matching lines outnumber the others most.
fn split_point(bytes: &[u8], mut parses: impl FnMut(&[u8]) -> Option<bool>) -> usize {
    // Lines that match less those that do not, before the current place.
    let (mut balance, mut most, mut end) = (0_i64, 0, 0);
    for line in Lines::new(bytes) {
        match parses(line.bytes) {
            Some(true) => balance += 1,
            Some(false) => balance -= 1,
            None => {}
        }
        if balance > most {
            (most, end) = (balance, line.start + line.bytes.len());
        }
    }
    match end {
        0 => 0,
        end => memchr(b'\n', &bytes[end..]).map_or(bytes.len(), |feed| end + feed + 1),
    }
}

/// The whole lines in the last [`LOOK_BYTES`] of a block; none if the last line is longer.
fn tail(bytes: &[u8]) -> &[u8] {
    let Some(from) = bytes.len().checked_sub(LOOK_BYTES) else { return bytes };
    match bytes[from..].iter().position(|byte| *byte == b'\n') {
        Some(end) => &bytes[from + end + 1..],
        None => &[],
    }
}

/// The whole lines in the first [`LOOK_BYTES`].
fn head(bytes: &[u8]) -> &[u8] {
    let Some(look) = bytes.get(..LOOK_BYTES) else { return bytes };
    let end = look.iter().rposition(|byte| *byte == b'\n');
    &look[..end.map_or(0, |end| end + 1)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, proptest};
    use proptest::{prop_assert_eq, prop_oneof};

    use super::split_point;

    fn parses(line: &[u8]) -> Option<bool> {
        (!line.is_empty()).then(|| line[0] == b'+')
    }

    /// Every split is tried, and its wrong lines are counted.
    fn naive(lines: &[&str]) -> usize {
        let wrong = |split: usize| {
            let count = |lines: &[&str], unwanted| {
                lines.iter().filter(|line| parses(line.as_bytes()) == Some(unwanted)).count()
            };
            count(&lines[..split], false) + count(&lines[split..], true)
        };
        let best = (0..=lines.len()).min_by_key(|split| wrong(*split)).unwrap_or(0);
        lines[..best].iter().map(|line| line.len() + 1).sum()
    }

    fn line() -> impl Strategy<Value = &'static str> {
        prop_oneof![Just("+"), Just("-"), Just("+ a line that parses"), Just("- another"), Just("")]
    }

    proptest! {
        #[test]
        fn the_split_point_is_the_naive_one(
            lines in proptest::collection::vec(line(), 0..40),
            is_terminated in any::<bool>(),
        ) {
            let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut expected = naive(&lines);
            if !is_terminated && lines.last().is_some_and(|line| !line.is_empty()) {
                text.pop();
                expected = expected.min(text.len());
            }
            prop_assert_eq!(split_point(text.as_bytes(), parses), expected);
        }
    }
}
