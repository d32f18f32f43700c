//! Tracks the format of a source's lines: detection, directives, drift and years.
//!
//! Five things decide the format of a line:
//!
//! 1. **Detection.** Until a format is found, the first lines of each block are tried with every
//!    known format. After [`DETECTION_BYTES_MAX`] the source is not a log.
//! 2. **Companions.** Lines that are not in the source's format may be in one of a small set of
//!    others, which is detected in the same first lines (`companions`).
//! 3. **Directives.** In the W3C extended log format a `#Fields:` line changes the format of the
//!    lines after it, so it splits the block.
//! 4. **Drift.** A feed may change its format without a directive. `drift` watches the last lines
//!    of each block, and `sampler` a few random ones. The format before becomes a companion, so that
//!    senders with different formats are all read.
//! 5. **Years.** Times without a year get one from the time of the log (`year`).
//!
//! The tracker sees each block once, in order, before it is parsed. It returns spans, each with a
//! format; parsers then need not know that formats change. The result depends on the bytes, on how
//! they are cut into blocks, and on the clock that the caller passes: a caller that collects
//! [`FormatTracker::DETECTION_BYTES`] first makes the detection independent of the blocks. Only the
//! choice of the drift detector's samples is random.
//!
//! | state | `is_decided` | format |
//! |---|---|---|
//! | detecting | no | a placeholder that matches what it can |
//! | detected or forced | yes | that one, and those that directives bring |
//! | given up after 16 MiB | yes | the placeholder, unless drift finds one later |

mod block_formats;
mod choice;
mod drift;
mod sampler;
mod year;

use std::sync::Arc;

pub use self::block_formats::{BlockFormats, FormatFinding, FormatSpan};
pub use self::choice::{FormatChoice, TrackerOptions};
use self::year::YearOrder;
pub(super) use self::year::reference_of_year;
pub use self::year::with_log_year;

use self::drift::{FormatChange, FormatDrift};
use super::companions::{add_error_logs, companions_of, detected_max, known_companions};
use super::compiled::line_options::{LineOptions, with_options};
use super::compiled::{Format, YearOrigin};
use super::detect::{Candidate, LINES_MAX, best_of, matching_formats};
use super::line_detector::LineDetector;
use super::placeholder::{placeholder, placeholder_with};
use super::read::followed_format::FollowedFormat;
use crate::line::Lines;
use crate::schema::RecordKind;

/// Follows the format of one source, block by block.
///
/// It detects the format in the first lines, follows directives that change it, and, if asked,
/// notices that lines no longer match. It has no clock: the current time is an argument.
///
/// ```
/// use weir_core::{FormatChoice, FormatTracker, TrackerOptions};
///
/// let mut tracker = FormatTracker::new(FormatChoice::Detect, TrackerOptions::default(), 0);
/// let line = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\n";
/// let formats = tracker.track(line, 0);
/// assert_eq!(formats.spans[0].format.name(), "COMMON");
/// assert_eq!(formats.findings[0].parsed_share, 1.0);
/// assert!(tracker.is_decided());
/// ```
///
/// A directive inside a block splits it. The parser of the second span has the new format:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{FormatChoice, FormatTracker, TrackerOptions, format_by_name};
///
/// let choice = FormatChoice::Forced(Arc::new(format_by_name("W3C").unwrap()));
/// let mut tracker = FormatTracker::new(choice, TrackerOptions::default(), 0);
/// let block = b"#Fields: time c-ip\n09:03:01 192.0.2.7\n#Fields: c-ip sc-status\n";
/// let formats = tracker.track(block, 0);
/// let definitions: Vec<&str> =
///     formats.spans.iter().map(|span| span.format.definition()).collect();
/// assert_eq!(definitions, ["#Fields: time c-ip", "#Fields: c-ip sc-status"]);
/// assert_eq!(formats.spans[1].start, 38);
/// ```
///
/// The cost is bounded for any input: detection stops after 16 MiB, at most 10,000 directives are
/// followed in a log, and a block whose lines match costs the drift detector a few lines.
#[derive(Debug)]
pub struct FormatTracker {
    state: State,
    is_forced: bool,
    companions: Arc<[Arc<Format>]>,
    options: TrackerOptions,
    /// What was stated about all lines.
    line_options: Option<Arc<LineOptions>>,
    /// The years of the lines, if that of the first was stated or is in the name of the log.
    years: Option<YearOrder>,
    drift: Option<FormatDrift>,
    /// Formats that the source had before a drift. If one returns, it resumes here, so that its
    /// directives yield the same compiled formats again and their number stays bounded.
    earlier: Vec<FollowedFormat>,
}

/// Whether a format has been found.
#[derive(Debug)]
enum State {
    /// Not detected in this many bytes. The format is a placeholder.
    Unknown(Arc<Format>, usize),
    /// Detected or forced.
    Known(FollowedFormat),
}

/// After this many bytes without a format, whatever the size of their blocks, the source is not a
/// log, and further detection would only slow it down.
const DETECTION_BYTES_MAX: usize = 16 << 20;

/// Detects the format of a block. If no line among its first is in a known format, the block is searched for
/// the first one that is: a program may write thousands of other lines before its requests.
fn detect_late(bytes: &[u8]) -> Option<Candidate> {
    best_of(matching_formats(bytes)).or_else(|| {
        let mut detector = LineDetector::default();
        let mut later = Lines::new(bytes).skip(LINES_MAX as usize);
        let first = later.find(|line| detector.detect(line.bytes).is_some())?;
        best_of(matching_formats(&bytes[first.start..]))
    })
}

/// The most formats that are remembered after a drift.
const EARLIER_MAX: usize = 32;

impl FormatTracker {
    /// The bytes that a format is detected in. Callers collect as many before they call
    /// [`Self::track`], so that the result does not depend on the pieces in which they arrive.
    ///
    /// As many as [`crate::detect`] reads.
    pub const DETECTION_BYTES: usize = 256 << 10;

    /// The bytes that are left to collect after `pending_bytes`, never 0. If a full window holds
    /// no line end, another window is collected.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::FormatTracker;
    ///
    /// assert_eq!(FormatTracker::detection_room(0), FormatTracker::DETECTION_BYTES);
    /// assert_eq!(FormatTracker::detection_room(FormatTracker::DETECTION_BYTES - 10), 10);
    /// ```
    pub const fn detection_room(pending_bytes: usize) -> usize {
        Self::DETECTION_BYTES - pending_bytes % Self::DETECTION_BYTES
    }

    /// A tracker at the start of a source. `now_s` is the current time in seconds since 1970.
    pub fn new(choice: FormatChoice, options: TrackerOptions, now_s: i64) -> Self {
        let line_options = choice.line_options();
        let stated = line_options.as_ref().and_then(|options| options.year);
        let year = stated.and_then(reference_of_year).or(options.year);
        let options = TrackerOptions { year, ..options };
        let with_year = |format| {
            let format = with_options(format, line_options.as_ref());
            with_log_year(format, options.year, now_s)
        };
        let known = |format| State::Known(FollowedFormat::new(with_year(format)));
        let is_forced = matches!(choice, FormatChoice::Forced(_) | FormatChoice::Unread);
        let (state, companions) = match choice {
            FormatChoice::Detect | FormatChoice::DetectWith(_) => {
                (State::Unknown(placeholder_with(line_options.as_ref()), 0), Vec::new())
            }
            FormatChoice::Unread => {
                (State::Unknown(placeholder(), DETECTION_BYTES_MAX), Vec::new())
            }
            FormatChoice::Forced(format) => (known(Format::with_any_user(&format)), Vec::new()),
            FormatChoice::Known { format, companions } => {
                let companions = known_companions(&format, companions);
                (known(format), companions)
            }
        };
        let companions = companions.into_iter().map(with_year).collect();
        let watches_drift = options.watches_drift && !is_forced;
        let options = TrackerOptions { watches_drift, ..options };
        let (drift, earlier) = (None, Vec::new());
        let named = options.year.filter(|year| year.origin == YearOrigin::Name);
        let years = match stated {
            Some(year) => YearOrder::stated(year),
            None => named.map(YearOrder::before),
        };
        Self { state, is_forced, companions, options, line_options, years, drift, earlier }
    }

    /// Whether lines that are not in the format may be in others: it is known and not forced.
    pub fn may_be_mixed(&self) -> bool {
        !self.is_forced && self.is_known()
    }

    /// Whether a format is known: forced or detected.
    pub fn is_known(&self) -> bool {
        matches!(self.state, State::Known(_))
    }

    /// Whether the format is decided: forced, detected, or not found in 16 MiB.
    ///
    /// Until then, a caller should collect [`Self::DETECTION_BYTES`] before each block.
    pub fn is_decided(&self) -> bool {
        match self.state {
            State::Known(_) => true,
            State::Unknown(_, bytes) => bytes >= DETECTION_BYTES_MAX,
        }
    }

    /// Whether the formats of the lines to come do not depend on their bytes: the format is decided,
    /// no directive changes it, and no drift is watched. [`Self::track`] then returns the same for
    /// any bytes.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{FormatChoice, FormatTracker, TrackerOptions, format_by_name};
    ///
    /// let tracker = |name| {
    ///     let format = Arc::new(format_by_name(name).unwrap());
    ///     FormatTracker::new(FormatChoice::Forced(format), TrackerOptions::default(), 0)
    /// };
    /// assert!(tracker("COMBINED").is_settled() && !tracker("W3C").is_settled());
    /// ```
    pub fn is_settled(&self) -> bool {
        let may_change = match &self.state {
            State::Known(followed) => followed.may_change(),
            State::Unknown(..) => false,
        };
        let follows_years = self.years.is_some() && self.format().lacks_year();
        self.is_decided() && !may_change && !self.options.watches_drift && !follows_years
    }

    /// The format of the next line. Before one is known it is a placeholder, `COMBINED`, whose
    /// mismatches show why lines fail.
    pub fn format(&self) -> &Arc<Format> {
        match &self.state {
            State::Unknown(format, _) => format,
            State::Known(followed) => followed.format(),
        }
    }

    /// The formats in which lines that do not match [`Self::format`] are to be tried.
    pub fn companions(&self) -> &Arc<[Arc<Format>]> {
        &self.companions
    }

    /// Determines the formats of the next block's lines. `bytes` are whole lines, and `now_s` is
    /// the current time in seconds since 1970.
    ///
    /// Blocks must come in their order. An empty block has one span, in the current format.
    pub fn track(&mut self, bytes: &[u8], now_s: i64) -> BlockFormats {
        let mut findings = Vec::new();
        if !self.is_decided() && !bytes.is_empty() {
            findings.extend(self.detect(bytes, now_s));
        }
        let mut spans = self.follow_years(bytes, now_s);
        if self.options.watches_drift
            && self.is_decided()
            && let Some(last) = spans.pop()
        {
            let (rest, finding) = self.follow_drift(bytes, last, now_s);
            spans.extend(rest);
            findings.extend(finding);
        }
        BlockFormats { spans, findings }
    }

    /// Detects the format in a block's first lines. If none matches, the next block is tried: some
    /// logs begin with a page of other text.
    fn detect(&mut self, bytes: &[u8], now_s: i64) -> Option<FormatFinding> {
        let Some(best) = detect_late(bytes) else {
            if let State::Unknown(_, tried_bytes) = &mut self.state {
                *tried_bytes += bytes.len();
            }
            return None;
        };
        let parsed_share = best.parsed_lines as f64 / best.lines.max(1) as f64;
        let companions = companions_of(&best.format, bytes);
        self.companions = self.prepared(companions, now_s);
        let format = self.prepare(best.format, now_s);
        if let (None, true, Some(year)) = (&self.years, format.lacks_year(), format.year()) {
            self.years = YearOrder::of_leap_day(&format, bytes, year);
        }
        if self.options.watches_drift {
            self.drift = Some(FormatDrift::new(Some(&format), best.parsed_lines as usize));
        }
        self.state = State::Known(FollowedFormat::new(format.clone()));
        Some(FormatFinding { start: 0, format, parsed_share, is_change: false })
    }

    /// The spans of the bytes from `start` on, as directives among them change the format.
    fn follow_directives(&mut self, bytes: &[u8], start: usize) -> Vec<FormatSpan> {
        let companions = self.companions.clone();
        let span = |start, format| FormatSpan { start, format, companions: companions.clone() };
        let mut spans = vec![span(start, self.format().clone())];
        if let State::Known(followed) = &mut self.state {
            for (at, format) in followed.follow_block(&bytes[start..]) {
                if at == 0 {
                    // No line is in the format before.
                    spans.clear();
                }
                spans.push(span(start + at, format));
            }
        }
        spans
    }

    /// The last span of a block, split where its format has changed.
    fn follow_drift(
        &mut self,
        bytes: &[u8],
        last: FormatSpan,
        now_s: i64,
    ) -> (Vec<FormatSpan>, Option<FormatFinding>) {
        let known = matches!(self.state, State::Known(_)).then_some(&last.format);
        let drift = self.drift.get_or_insert_with(|| FormatDrift::new(known, 0));
        drift.set_companions(&self.companions);
        let Some(change) = drift.examine(known, &bytes[last.start..]) else {
            return (vec![last], None);
        };
        let FormatChange { start, format, parsed_share } = change;
        let at = last.start + start;
        let format = self.prepare(format, now_s);
        self.change_format(&format, now_s);
        let mut spans = Vec::new();
        if start > 0 {
            spans.push(last);
        }
        spans.extend(self.follow_directives(bytes, at));
        (spans, Some(FormatFinding { start: at, format, parsed_share, is_change: true }))
    }

    /// Continues in another format, which may be one that the source had before.
    /// The format before becomes a companion, the first of all; if there are too many, the last
    /// one is given up.
    fn change_format(&mut self, format: &Arc<Format>, now_s: i64) {
        let is_same = |followed: &FollowedFormat| followed.base().is_same_as(format);
        let next = match self.earlier.iter().position(is_same) {
            Some(at) => self.earlier.swap_remove(at),
            None => FollowedFormat::new(format.clone()),
        };
        let mut companions = Vec::new();
        if let State::Known(before) = std::mem::replace(&mut self.state, State::Known(next)) {
            if !before.may_change() {
                companions.push(before.base().clone());
            }
            // The fields of a format are found in its lines, so there may be any number of formats.
            if self.earlier.len() == EARLIER_MAX {
                self.earlier.remove(0);
            }
            self.earlier.push(before);
        }
        let is_other = |companion: &&Arc<Format>| {
            companion.name() != format.name() && companion.kind() != RecordKind::ErrorLogLine
        };
        companions.extend(self.companions.iter().filter(is_other).cloned());
        companions.truncate(detected_max(format));
        add_error_logs(format, &mut companions);
        self.companions = self.prepared(companions, now_s);
    }

    /// The spans of a block, as directives change the format and lines of other years their
    /// reference.
    fn follow_years(&mut self, bytes: &[u8], now_s: i64) -> Vec<FormatSpan> {
        let changes = match (&mut self.years, &self.state) {
            (Some(years), State::Known(followed)) if followed.format().lacks_year() => {
                years.follow(followed.format(), bytes)
            }
            _ => Vec::new(),
        };
        let mut spans = Vec::new();
        let mut start = 0;
        for (at, reference) in changes {
            if at > start {
                spans.extend(self.follow_directives(&bytes[..at], start));
            }
            start = at;
            self.options.year = Some(reference);
            let format = self.prepare(self.format().clone(), now_s);
            self.state = State::Known(FollowedFormat::new(format));
            self.companions = self.prepared(self.companions.to_vec(), now_s);
        }
        spans.extend(self.follow_directives(bytes, start));
        spans
    }

    /// The format with the options of all lines, and with its year.
    fn prepare(&self, format: Arc<Format>, now_s: i64) -> Arc<Format> {
        let format = with_options(format, self.line_options.as_ref());
        with_log_year(format, self.options.year, now_s)
    }

    fn prepared(&self, formats: Vec<Arc<Format>>, now_s: i64) -> Arc<[Arc<Format>]> {
        formats.into_iter().map(|format| self.prepare(format, now_s)).collect()
    }
}
