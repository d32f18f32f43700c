//! Detects the known format of a log from its first lines.
//!
//! Each known format tries to read the same lines. There is no guessing from single characters:
//! what counts is how much of the log a format understands, in fields. This favours the format that
//! says most about the lines over one that demands less.
//!
//! All formats together would take most of the time for a directory of small logs. So a line is looked
//! at once, and only formats whose needs it meets read it (`program/needs.rs`). Once one format has
//! matched every line of a good start, the formats that have matched none of them are given up. If
//! their lines come later, they are found as companions. Memory is a parser and a few mismatches for
//! each format, and the marks of a thousand lines.

mod attempt;
mod first_lines;

use std::sync::Arc;

use self::attempt::Attempt;
pub(super) use self::attempt::fields_filled;
use self::first_lines::{FirstLines, Wanted};
use super::compiled::Format;
use super::nearness::{NEARNESS_MIN, nearness_without_start};
use super::placeholder::{is_placeholder, placeholder};
use super::program::mismatch::Mismatch;
use super::program::needs::LineMarks;
use super::read::line_parser::LineParser;
use crate::line::Lines;

/// The number of lines to read: enough that a few broken ones do not decide.
pub(super) const LINES_MAX: u64 = 1_000;
/// The number of bytes to read: few enough that detection takes a few milliseconds.
pub(super) const BYTES_MAX: usize = 256 << 10;
/// Longer lines are skipped: the garbage that a crash or a rotation leaves in a log would
/// otherwise exhaust [`BYTES_MAX`].
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;
/// Mismatches that are kept for each format, to show why lines fail.
const MISMATCHES_MAX: usize = 5;

/// How well each known format matches a log's first lines.
///
/// All known formats are listed, also those that match no line. So a program can show why a log was
/// not recognised: by the formats that matched some lines, or by the nearest ones.
#[derive(Debug, Clone)]
pub struct Detection {
    /// The formats, best first. Those that match no line are ordered by how near they came.
    pub candidates: Vec<Candidate>,
}

/// One format and how well it matches a log's first lines.
///
/// `parsed_lines / lines` is the share of the lines that the format explains, which a program can
/// show with the choice.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The format.
    pub format: Arc<Format>,
    /// The number of lines that were read, without empty lines, directives and lines over
    /// 64 KiB.
    pub lines: u64,
    /// The number of these lines that match the format.
    pub parsed_lines: u64,
    /// The sum of the numbers of fields of the matching lines.
    ///
    /// The rank among candidates.
    pub fields: u64,
    /// The first lines that do not match, five at most.
    pub mismatches: Vec<LineMismatch>,
    /// How near the lines of `mismatches` came to matching: the sum of the part of each line before
    /// the mismatch, in thousandths, and of the number of known JSON keys. If no format matches a
    /// line, what matches without the first words of a line counts as well. 0 if it is little, or
    /// if nothing that was read had a form, such as a time or a status.
    pub closeness: u64,
}

/// A line that does not match a format, with the reason in words.
///
/// The reason is for people. It quotes the format, not the log.
#[derive(Debug, Clone)]
pub struct LineMismatch {
    /// The line's number, from 1.
    pub line: u64,
    /// Where it stops matching, in bytes from 1.
    pub column: usize,
    reason: MismatchReason,
}

/// The reason of a mismatch. It is put into words when someone asks: a log has one for each format and
/// line, and few are shown.
#[derive(Debug, Clone)]
enum MismatchReason {
    /// A line does not match a format.
    Line(Arc<Format>, Mismatch),
    /// The values of the lines contradict the names of a format.
    Labels(&'static str),
}

impl LineMismatch {
    /// The text that the format expects at the place.
    pub fn reason(&self) -> String {
        match &self.reason {
            MismatchReason::Line(format, mismatch) => format.program().explain(*mismatch),
            MismatchReason::Labels(reason) => (*reason).to_owned(),
        }
    }
}

impl Detection {
    /// The format that matches best, or `None` if no line matches any format.
    ///
    /// One matching line is enough: a caller that needs more looks at the counts.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.parsed_lines > 0)
    }
}

/// Reads the first lines of a log with every known format and ranks the formats.
///
/// At most 1,000 lines or 256 KiB are read. `bytes` begin at a line start and should end at a
/// line end: a line that is cut off counts as one that does not match. If one format matches each
/// of the first 64 lines, a format that matches none of them is not tried with more.
///
/// The best format is the one with the most fields in all lines together, not the one with the
/// most lines: a format that demands less matches more lines. Of equal ones the earlier in
/// [`crate::known_formats`] is better.
///
/// If most of the first lines are in a [`crate::Wrapper`], the formats are also tried inside it. They
/// rank first if the best of them matches more than half as many lines as any format without the
/// wrapper: COMBINED accepts any text as the user, so it also matches some wrapped lines.
///
/// # Examples
///
/// ```
/// use weir_core::detect;
///
/// let log = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\nbroken\n";
/// let detection = detect(log);
/// let best = detection.best().unwrap();
/// assert_eq!(best.format.name(), "COMMON");
/// assert_eq!((best.lines, best.parsed_lines), (2, 1));
/// assert_eq!((best.mismatches[0].line, best.mismatches[0].column), (2, 1));
/// ```
pub fn detect(bytes: &[u8]) -> Detection {
    let mut candidates = FirstLines::new(bytes, Wanted::Reasons).candidates();
    if candidates.iter().all(|candidate| candidate.parsed_lines == 0) {
        rank_by_nearness(&mut candidates, bytes);
    }
    Detection { candidates }
}

/// The format that [`detect`] ranks first, if it matches a line. This takes less time, because it is not
/// found out why lines do not match.
///
/// # Examples
///
/// ```
/// use weir_core::detect_format;
///
/// let log = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5\n";
/// assert_eq!(detect_format(log).unwrap().name(), "COMMON");
/// assert!(detect_format(b"broken\n").is_none());
/// ```
pub fn detect_format(bytes: &[u8]) -> Option<Arc<Format>> {
    best_of(matching_formats(bytes)).map(|best| best.format)
}

/// The candidates of [`detect`], best first, without mismatches. Those that match no line are in any order.
pub(super) fn matching_formats(bytes: &[u8]) -> Vec<Candidate> {
    FirstLines::new(bytes, Wanted::Formats).candidates()
}

/// The first of some candidates, if it matches a line.
pub(super) fn best_of(candidates: Vec<Candidate>) -> Option<Candidate> {
    candidates.into_iter().next().filter(|candidate| candidate.parsed_lines > 0)
}

/// Ranks candidates that match no line. The first are those that match without the first words of a
/// line, or up to a mismatch. If all are far, the first is COMBINED, which most logs are in.
fn rank_by_nearness(candidates: &mut [Candidate], bytes: &[u8]) {
    let lines = Lines::new(bytes).map(|line| line.bytes).filter(is_read).take(MISMATCHES_MAX);
    let lines: Vec<_> = lines.map(|line| (line, LineMarks::of(line))).collect();
    for candidate in candidates.iter_mut() {
        let mut parser = LineParser::new(candidate.format.clone());
        let needs = candidate.format.needs();
        let may_match = lines.iter().filter(|(_, marks)| marks.have_bytes(&needs));
        let nearness = may_match.map(|(line, _)| nearness_without_start(&mut parser, line)).sum();
        candidate.closeness = candidate.closeness.max(nearness);
        if candidate.closeness < NEARNESS_MIN * candidate.mismatches.len() as u64 {
            candidate.closeness = 0;
        }
    }
    candidates.sort_by_key(|candidate| {
        (rank(candidate), candidate.format.name() != placeholder().name())
    });
}

/// The place of a candidate among others: by fields, then by closeness, the largest first.
fn rank(candidate: &Candidate) -> std::cmp::Reverse<(u64, u64)> {
    let closeness = if candidate.fields > 0 { 0 } else { candidate.closeness };
    std::cmp::Reverse((candidate.fields, closeness))
}

/// Whether a line is read: not if it is empty, or too long.
fn is_read(line: &&[u8]) -> bool {
    !line.trim_ascii().is_empty() && line.len() <= LINE_BYTES_MAX
}

/// Where and why a line does not match the format of `parser`, after the name of the format.
///
/// If the format of the log is not known, they are those of the format that comes nearest.
pub(crate) fn unparsed_reason(
    parser: &LineParser,
    line: &[u8],
    mismatch: Mismatch,
) -> (usize, String) {
    if is_placeholder(parser.format())
        && let Some(nearest) = detect(line).candidates.first()
        && let Some(found) = nearest.mismatches.first()
    {
        if nearest.closeness == 0 {
            return (0, "no known format fits the start of the line".to_owned());
        }
        return (found.column - 1, format!("{}: {}", nearest.format.name(), found.reason()));
    }
    (mismatch.at, format!("{}: {}", parser.format().name(), parser.explain(mismatch)))
}

/// Reads the first lines of a log with one format. The limits are those of [`detect`].
///
/// ```
/// use weir_core::{Format, try_format};
///
/// let format = Format::parse("$remote_addr $status")?;
/// let candidate = try_format(&format, b"192.0.2.7 404\nbroken\n");
/// assert_eq!((candidate.lines, candidate.parsed_lines), (2, 1));
/// assert_eq!(candidate.mismatches[0].line, 2);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// For a format that the user has given: to show how well it fits before the log is read.
pub fn try_format(format: &Format, bytes: &[u8]) -> Candidate {
    let format = Format::with_any_user(&Arc::new(format.clone()));
    let mut attempt = Attempt::new(&format, bytes, 0, Wanted::Reasons);
    attempt.read_up_to(LINES_MAX, &[]);
    attempt.into_tried()
}
