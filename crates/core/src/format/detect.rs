//! Detects the known format of a log from its first lines.
//!
//! Each known format tries to read the same lines. There is no guessing from single characters:
//! what counts is how much of the log a format understands, in fields. This favours the format that
//! says most about the lines over one that demands less.
//!
//! Most formats refuse a foreign line within its first bytes. Still, all of them together cost
//! fifteen times what parsing costs, which would be most of the time for a directory of small logs.
//! So once one format has matched every line of a good start, the formats that have matched none of
//! them are given up. If their lines come later, they are found as companions. Memory is a parser
//! and a few mismatches for each format.

use std::sync::Arc;

use super::catalog::detected_formats;
use super::compiled::{ENVELOPES_MAX, Format};
use super::members::{InsideFormat, enveloped_formats, header_format, with_members};
use super::nearness::{NEARNESS_MIN, nearness, nearness_without_start};
use super::placeholder::{is_placeholder, placeholder};
use super::program::mismatch::Mismatch;
use super::program::wrapper::Wrapper;
use super::read::line_parser::LineParser;
use super::read::log_reader::{LineOutcome, LogReader};
use super::surroundings::{Finder, Labels, SAMPLE_LINES_MAX, outline_format};
use crate::field::Field;
use crate::line::Lines;
use crate::record::Record;

/// The number of lines to read: enough that a few broken ones do not decide.
const LINES_MAX: u64 = 1_000;
/// If one format matches all of this many first lines, formats that match none are given up.
const SURE_LINES: u64 = 64;
/// The number of bytes to read: few enough that detection takes a few milliseconds.
pub(super) const BYTES_MAX: usize = 256 << 10;
/// Longer lines are skipped: the garbage that a crash or a rotation leaves in a log would
/// otherwise exhaust [`BYTES_MAX`].
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;
/// Lines with something around them are a format of their own if they are one in this many.
const SURROUNDED_SHARE: u64 = 20;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMismatch {
    /// The line's number, from 1.
    pub line: u64,
    /// Where it stops matching, in bytes from 1.
    pub column: usize,
    /// The text that the format expects there.
    pub reason: String,
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
/// If most of the first lines are in a [`Wrapper`], the formats are also tried inside it. They
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
    detect_inside(bytes, 0)
}

/// Does what [`detect`] does for lines inside so many JSON objects.
fn detect_inside(bytes: &[u8], objects: usize) -> Detection {
    // Skipped once and not for every format: a file may begin with millions of empty lines.
    let empty_lines = bytes.iter().take_while(|byte| **byte == b'\n').count();
    let bytes = &bytes[empty_lines..];
    let formats = detected_formats(None);
    if bytes.is_empty() {
        return Detection { candidates: formats.iter().map(Candidate::new).collect() };
    }
    let mut candidates = ranked(formats, bytes, empty_lines as u64);
    let wrapper = wrapper_of(bytes);
    if let Some(wrapper) = wrapper {
        let mut inside = ranked(detected_formats(Some(wrapper)), bytes, empty_lines as u64);
        inside.retain(|candidate| candidate.parsed_lines > 0);
        let most = candidates.iter().map(|candidate| candidate.parsed_lines).max().unwrap_or(0);
        if inside.first().is_some_and(|best| best.parsed_lines * 2 > most) {
            inside.append(&mut candidates);
            candidates = inside;
        }
    }
    let surrounded = candidates
        .first()
        .map(|best| surrounded_candidates(best, bytes, wrapper, empty_lines as u64));
    insert_by_rank(&mut candidates, surrounded.unwrap_or_default());
    let enveloped = enveloped_candidates(&candidates, bytes, objects, empty_lines as u64);
    insert_by_rank(&mut candidates, enveloped);
    if candidates.first().is_some_and(|best| best.parsed_lines * 2 < best.lines)
        && let Some(format) = header_format(first_lines(bytes))
    {
        let mut found = ranked(&[format], bytes, empty_lines as u64);
        found.retain(|candidate| candidate.parsed_lines > 0);
        insert_by_rank(&mut candidates, found);
    }
    if let Some(best) = candidates.first_mut().filter(|best| best.parsed_lines > 0)
        && let Some(format) = with_members(&best.format, first_lines(bytes))
    {
        best.format = Arc::new(format);
    }
    if candidates.iter().all(|candidate| candidate.parsed_lines == 0) {
        rank_by_nearness(&mut candidates, bytes);
    }
    Detection { candidates }
}

/// The formats of lines with a known line inside, if the best of the known formats leaves such
/// lines: one in [`SURROUNDED_SHARE`] of all, unless it matches none.
///
/// `wrapper` is around most lines, and `lines_before` empty lines are before `bytes`.
fn surrounded_candidates(
    best: &Candidate,
    bytes: &[u8],
    wrapper: Option<Wrapper>,
    lines_before: u64,
) -> Vec<Candidate> {
    if !leaves_lines(best) {
        return Vec::new();
    }
    let sample = sample_lines(best, bytes);
    let mut finder = Finder::default();
    // What shows in the form of lines alone counts only if no format knows them.
    let is_unknown = best.parsed_lines * 2 < best.lines;
    let wrappers = wrapper.map(Some).into_iter().chain([None]);
    let tries = wrappers.flat_map(|wrapper| [(wrapper, false), (wrapper, true)]);
    let mut tries =
        tries.filter(|(_, by_form)| is_unknown || !by_form).map(|(wrapper, by_form)| {
            let formats = formats_in(wrapper, &sample, |lines| match by_form {
                true if are_read_with_any_user(lines) => Vec::new(),
                true => outline_format(lines, !wrapper.is_some_and(Wrapper::has_time))
                    .into_iter()
                    .collect(),
                false => finder.formats(lines.iter().copied()),
            });
            let mut found = ranked(&formats, bytes, lines_before);
            found.retain(|candidate| candidate.parsed_lines > 0);
            found
        });
    tries.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Whether a known format reads half of the lines if clients may choose any user.
///
/// Else the requests of one client, with a user of several words, could give the log another format.
fn are_read_with_any_user(lines: &[&[u8]]) -> bool {
    let mut formats = detected_formats(None).iter().filter(|format| format.has_user());
    formats.any(|format| {
        let mut reader = LogReader::new(Format::with_any_user(format));
        let mut is_read =
            |line: &[u8]| reader.read(line, |_, outcome| matches!(outcome, LineOutcome::Record(_)));
        lines.iter().filter(|line| is_read(line)).count() * 2 >= lines.len()
    })
}

/// The formats of lines in members of JSON objects, if the best of the others leaves lines.
fn enveloped_candidates(
    candidates: &[Candidate],
    bytes: &[u8],
    objects: usize,
    lines_before: u64,
) -> Vec<Candidate> {
    let is_unwrapped = |best: &Candidate| {
        best.parsed_lines > 0 && best.format.wrapper().is_some_and(Wrapper::is_escaped)
    };
    let may_be_inside = |best: &Candidate| leaves_lines(best) && !is_unwrapped(best);
    if objects == ENVELOPES_MAX || !candidates.first().is_some_and(may_be_inside) {
        return Vec::new();
    }
    let inside = |bytes: &[u8]| {
        let detection = detect_inside(bytes, objects + 1);
        detection.best().map(|best| InsideFormat {
            format: best.format.clone(),
            fields: best.fields,
            lines: best.parsed_lines,
        })
    };
    let formats = enveloped_formats(first_lines(bytes), BYTES_MAX, inside);
    let mut found = ranked(&formats, bytes, lines_before);
    found.retain(|candidate| candidate.parsed_lines > 0);
    found
}

/// Whether a format leaves enough lines that something may stand around them.
fn leaves_lines(best: &Candidate) -> bool {
    let left = best.lines - best.parsed_lines;
    left > 0 && (best.parsed_lines == 0 || left * SURROUNDED_SHARE >= best.lines)
}

/// The lines that detection reads.
fn first_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = Lines::new(&bytes[..bytes.len().min(BYTES_MAX)]).map(|line| line.bytes);
    lines.filter(|line| !line.is_empty() && line.len() <= LINE_BYTES_MAX).take(LINES_MAX as usize)
}

/// The formats that `find` finds in lines, inside a wrapper or without one.
fn formats_in(
    wrapper: Option<Wrapper>,
    lines: &[&[u8]],
    find: impl FnOnce(&[&[u8]]) -> Vec<Format>,
) -> Vec<Arc<Format>> {
    let Some(wrapper) = wrapper else {
        return find(lines).into_iter().map(Arc::new).collect();
    };
    let inside: Vec<Vec<u8>> = lines.iter().filter_map(|line| wrapper.inside(line)).collect();
    let inside: Vec<&[u8]> = inside.iter().map(Vec::as_slice).collect();
    let formats = find(&inside);
    formats.iter().filter_map(|format| format.wrapped_in(wrapper)).map(Arc::new).collect()
}

/// The first lines that a candidate does not match, and as many of all.
fn sample_lines<'a>(candidate: &Candidate, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut reader = LogReader::new(Arc::clone(&candidate.format));
    let is_unread = |line: &&[u8]| {
        candidate.parsed_lines == 0
            || reader.read(line, |_, outcome| matches!(outcome, LineOutcome::Unparsed(_)))
    };
    let is_read = |line: &&[u8]| !line.trim_ascii().is_empty() && line.len() <= LINE_BYTES_MAX;
    let lines = || Lines::new(&bytes[..bytes.len().min(BYTES_MAX)]).map(|line| line.bytes);
    let unread = lines().filter(is_read).filter(is_unread).take(SAMPLE_LINES_MAX / 2);
    unread.chain(lines().filter(is_read).take(SAMPLE_LINES_MAX / 2)).collect()
}

/// Puts candidates among others, each before those that read fewer fields.
fn insert_by_rank(candidates: &mut Vec<Candidate>, found: Vec<Candidate>) {
    for candidate in found {
        let is_worse = |other: &Candidate| other.fields < candidate.fields;
        let at = candidates.iter().position(is_worse).unwrap_or(candidates.len());
        candidates.insert(at, candidate);
    }
}

/// Ranks candidates that match no line. The first are those that match without the first words of a
/// line, or up to a mismatch. If all are far, the first is COMBINED, which most logs are in.
fn rank_by_nearness(candidates: &mut [Candidate], bytes: &[u8]) {
    let is_read = |line: &&[u8]| !line.trim_ascii().is_empty() && line.len() <= LINE_BYTES_MAX;
    let lines = || Lines::new(bytes).map(|line| line.bytes).filter(is_read).take(MISMATCHES_MAX);
    for candidate in candidates.iter_mut() {
        let mut parser = LineParser::new(candidate.format.clone());
        let nearness = lines().map(|line| nearness_without_start(&mut parser, line)).sum();
        candidate.closeness = candidate.closeness.max(nearness);
        if candidate.closeness < NEARNESS_MIN * candidate.mismatches.len() as u64 {
            candidate.closeness = 0;
        }
    }
    candidates.sort_by_key(|candidate| {
        (rank(candidate), candidate.format.name() != placeholder().name())
    });
}

/// Reads the first lines of a log, which follow `lines_before` empty ones, with some formats.
fn ranked(formats: &[Arc<Format>], bytes: &[u8], lines_before: u64) -> Vec<Candidate> {
    let attempt = |format| Attempt::new(format, bytes, lines_before);
    let mut attempts: Vec<Attempt<'_>> = formats.iter().map(attempt).collect();
    for attempt in &mut attempts {
        attempt.read_up_to(SURE_LINES);
    }
    let is_sure = |candidate: &Candidate| {
        candidate.lines >= SURE_LINES && candidate.parsed_lines == candidate.lines
    };
    let is_one_sure = attempts.iter().any(|attempt| is_sure(&attempt.candidate));
    for attempt in &mut attempts {
        if !is_one_sure || attempt.candidate.parsed_lines > 0 {
            attempt.read_up_to(LINES_MAX);
        }
    }
    let mut candidates: Vec<Candidate> =
        attempts.into_iter().map(Attempt::into_candidate).collect();
    // The sort is stable.
    candidates.sort_by_key(rank);
    candidates
}

/// The place of a candidate among others: by fields, then by closeness, the largest first.
fn rank(candidate: &Candidate) -> std::cmp::Reverse<(u64, u64)> {
    let closeness = if candidate.fields > 0 { 0 } else { candidate.closeness };
    std::cmp::Reverse((candidate.fields, closeness))
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
        return (found.column - 1, format!("{}: {}", nearest.format.name(), found.reason));
    }
    (mismatch.at, format!("{}: {}", parser.format().name(), parser.explain(mismatch)))
}

/// The wrapper around most of the first lines.
fn wrapper_of(bytes: &[u8]) -> Option<Wrapper> {
    const LINES: usize = 20;
    let lines = || {
        let lines = Lines::new(bytes).map(|line| line.bytes);
        lines
            .filter(|line| !line.trim_ascii().is_empty() && line.len() <= LINE_BYTES_MAX)
            .take(LINES)
    };
    Wrapper::ALL.into_iter().find(|wrapper| {
        let (mut wrapped, mut all) = (0, 0);
        for line in lines() {
            all += 1;
            wrapped += usize::from(wrapper.is_around(line));
        }
        wrapped > 0 && wrapped * 2 >= all
    })
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
    let mut attempt = Attempt::new(&format, bytes, 0);
    attempt.read_up_to(LINES_MAX);
    attempt.candidate
}

/// The reading of a log's first lines with one format.
struct Attempt<'a> {
    candidate: Candidate,
    reader: LogReader,
    /// The lines that the format refuses for their users alone.
    refused: RefusedUsers,
    labels: Labels,
    /// The lines that have not been read.
    lines: Lines<'a>,
    /// The number of the next line, from 1.
    number: u64,
    /// The bytes of the lines so far.
    bytes_read: usize,
}

impl<'a> Attempt<'a> {
    /// Begins to read `bytes`, which follow `lines_before` other lines.
    fn new(format: &Arc<Format>, bytes: &'a [u8], lines_before: u64) -> Self {
        let reader = LogReader::new(Arc::clone(format));
        let (candidate, lines) = (Candidate::new(format), Lines::new(bytes));
        let labels = Labels::of(format);
        let number = lines_before + 1;
        Self {
            candidate,
            reader,
            refused: RefusedUsers::default(),
            labels,
            lines,
            number,
            bytes_read: 0,
        }
    }

    /// The candidate, which matches no line if the values contradict the names of its fields.
    fn into_candidate(self) -> Candidate {
        let mut candidate = self.candidate;
        let refused = self.refused;
        if candidate.parsed_lines > refused.parsed_lines {
            candidate.format = Format::with_any_user(&candidate.format);
            candidate.parsed_lines += refused.parsed_lines;
            candidate.fields += refused.fields;
            candidate.mismatches.retain(|mismatch| !refused.first_lines.contains(&mismatch.line));
        }
        if let Some(reason) = self.labels.contradiction() {
            (candidate.parsed_lines, candidate.fields) = (0, 0);
            let reason = reason.to_owned();
            candidate.mismatches = vec![LineMismatch { line: 1, column: 1, reason }];
        }
        candidate
    }

    /// Reads on until this many lines have been counted, or [`BYTES_MAX`] have been read.
    fn read_up_to(&mut self, lines: u64) {
        while self.candidate.lines < lines {
            let Some(line) = self.lines.next() else { break };
            let number = self.number;
            self.number += 1;
            if line.bytes.trim_ascii().is_empty() || line.bytes.len() > LINE_BYTES_MAX {
                continue;
            }
            self.bytes_read += line.bytes.len();
            if self.bytes_read > BYTES_MAX {
                break;
            }
            self.read_line(line.bytes, number);
        }
    }

    fn read_line(&mut self, line: &[u8], number: u64) {
        let (candidate, labels) = (&mut self.candidate, &mut self.labels);
        let refused = &mut self.refused;
        let is_directive = self.reader.read(line, |parser, outcome| {
            if let LineOutcome::Unparsed(mismatch) = &outcome {
                if parser.format().refuses_user(*mismatch) {
                    refused.read(parser.format(), line, number);
                }
                if candidate.mismatches.len() < MISMATCHES_MAX {
                    candidate.closeness += nearness(parser, line, *mismatch);
                }
            }
            if let LineOutcome::Record(record) = &outcome {
                labels.add(record);
            }
            candidate.count(number, parser, outcome)
        });
        // A `#Fields:` directive identifies the format even if no line follows it yet.
        if is_directive && self.reader.is_field_list(line) {
            candidate.lines += 1;
            candidate.parsed_lines += 1;
            candidate.fields += 1;
        }
    }
}

/// Lines that a format refuses for their users alone. If they are fewer than the others, clients have
/// chosen these users; otherwise they show that the lines have another format.
#[derive(Default)]
struct RefusedUsers {
    reader: Option<LogReader>,
    parsed_lines: u64,
    fields: u64,
    /// The numbers of the first lines.
    first_lines: Vec<u64>,
}

impl RefusedUsers {
    /// Reads a line as the format of a log reads it.
    fn read(&mut self, format: &Arc<Format>, line: &[u8], number: u64) {
        let new = || LogReader::new(Format::with_any_user(format));
        let fields =
            self.reader.get_or_insert_with(new).read(line, |parser, outcome| match outcome {
                LineOutcome::Record(record) => {
                    Some(fields_filled(record, parser.format().extra_fields().len()))
                }
                _ => None,
            });
        let Some(fields) = fields else { return };
        self.parsed_lines += 1;
        self.fields += fields;
        if self.first_lines.len() < MISMATCHES_MAX {
            self.first_lines.push(number);
        }
    }
}

impl Candidate {
    fn new(format: &Arc<Format>) -> Self {
        Self {
            format: Arc::clone(format),
            lines: 0,
            parsed_lines: 0,
            fields: 0,
            mismatches: Vec::new(),
            closeness: 0,
        }
    }

    /// Counts a line. Returns whether it is a directive, which is not counted.
    fn count(&mut self, number: u64, parser: &LineParser, outcome: LineOutcome<'_, '_>) -> bool {
        match outcome {
            LineOutcome::Directive => return true,
            LineOutcome::Record(record) => {
                self.parsed_lines += 1;
                self.fields += fields_filled(record, parser.format().extra_fields().len());
            }
            LineOutcome::Unparsed(mismatch) if self.mismatches.len() < MISMATCHES_MAX => {
                self.mismatches.push(LineMismatch {
                    line: number,
                    column: mismatch.at + 1,
                    reason: parser.explain(mismatch),
                });
            }
            LineOutcome::Unparsed(_) => {}
        }
        self.lines += 1;
        false
    }
}

/// The number of fields of the record, those logged as `-` included.
pub(super) fn fields_filled(record: &Record<'_>, extra_fields: usize) -> u64 {
    let texts = Field::TEXT.iter().filter(|field| record.text(**field).is_some()).count();
    let extras = (0..extra_fields).filter(|index| record.extra(*index).is_some()).count();
    let numbers = Field::NUMBERS.iter().filter(|field| record.number(**field).is_some()).count();
    (texts + extras + numbers + usize::from(record.time.is_some())) as u64
}
