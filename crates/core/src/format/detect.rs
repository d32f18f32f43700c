//! Which known format a log is in.

use std::sync::Arc;

use super::catalog::known_formats;
use super::compiled::Format;
use super::program::wrapper::Wrapper;
use super::read::line_parser::LineParser;
use super::read::log_reader::{LineOutcome, LogReader};
use crate::field::Field;
use crate::line::Lines;
use crate::record::Record;

/// Lines that are looked at: enough that a few broken ones do not decide.
const LINES_MAX: u64 = 1_000;
/// Bytes of lines that are looked at: a page shows something after a few milliseconds.
const BYTES_MAX: usize = 256 << 10;
/// Lines longer than this are passed over: what a crash or a rotation leaves in a log would
/// otherwise use up the bytes.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Mismatches that are kept of each format, to show why lines fail.
const MISMATCHES_MAX: usize = 5;

/// How well each known format fits a log's first lines.
#[derive(Debug, Clone)]
pub struct Detection {
    /// The formats, best first.
    pub candidates: Vec<Candidate>,
}

/// One format and how it fits.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The format.
    pub format: Arc<Format>,
    /// Lines that were read; empty lines and very long ones are not.
    pub lines: u64,
    /// Lines that fit.
    pub fitting: u64,
    /// Fields that the fitting lines have, all added up.
    pub fields: u64,
    /// The first lines that do not fit.
    pub mismatches: Vec<LineMismatch>,
}

/// A line that does not fit, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMismatch {
    /// The line's number, from 1.
    pub line: u64,
    /// Where it stops fitting, in bytes from 1.
    pub column: usize,
    /// What was expected there.
    pub reason: String,
}

impl Detection {
    /// The format that fits best; `None` where no line fits any.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.fitting > 0)
    }
}

/// Reads the first lines of a log, at most 1,000 or 256 KiB of them, with every known
/// format.
///
/// `bytes` starts at a line start; a last line that is cut off counts as one that does not
/// fit, so give whole lines where there are more. Best is the format that gets most fields
/// out of the lines: one that fits a few lines more, but only because it asks for less,
/// does not win over the right one. Where that is equal, the earlier of [`known_formats`]
/// is the better.
///
/// Where most of the first lines stand in a [`Wrapper`], the formats are tried inside it too,
/// and the best of those goes before the others if it fits more than half as many lines: behind
/// a prefix of syslog, what COMBINED takes for a user may be anything.
pub fn detect(bytes: &[u8]) -> Detection {
    // Once and not for every format: a file may begin with millions of empty lines.
    let empty_lines = bytes.iter().take_while(|byte| **byte == b'\n').count();
    let bytes = &bytes[empty_lines..];
    let fit = |format: &Format| fit_from(format, bytes, empty_lines as u64);
    let mut candidates: Vec<Candidate> = known_formats().iter().map(&fit).collect();
    // The sort is stable.
    candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.fields));
    if let Some(wrapper) = wrapper_of(bytes) {
        let inside = known_formats().iter().filter_map(|format| format.wrapped_in(wrapper));
        let mut inside: Vec<Candidate> = inside.map(|format| fit(&format)).collect();
        inside.retain(|candidate| candidate.fitting > 0);
        inside.sort_by_key(|candidate| std::cmp::Reverse(candidate.fields));
        let most = candidates.iter().map(|candidate| candidate.fitting).max().unwrap_or(0);
        if inside.first().is_some_and(|best| best.fitting * 2 > most) {
            inside.append(&mut candidates);
            candidates = inside;
        }
    }
    Detection { candidates }
}

/// What most of the first lines are wrapped in.
fn wrapper_of(bytes: &[u8]) -> Option<Wrapper> {
    const LINES: usize = 20;
    let lines = || {
        let lines = Lines::new(bytes).map(|line| line.bytes);
        lines.filter(|line| !line.is_empty() && line.len() <= LINE_BYTES_MAX).take(LINES)
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

/// Reads the first lines of a log as [`detect`] does, with this format.
pub fn fit(format: &Format, bytes: &[u8]) -> Candidate {
    fit_from(format, bytes, 0)
}

/// As [`fit`], behind so many lines.
fn fit_from(format: &Format, bytes: &[u8], lines_before: u64) -> Candidate {
    let format = Arc::new(format.clone());
    let mut candidate =
        Candidate { format, lines: 0, fitting: 0, fields: 0, mismatches: Vec::new() };
    let mut reader = LogReader::new(Arc::clone(&candidate.format));
    let mut bytes_read = 0;
    for (line, number) in Lines::new(bytes).zip(lines_before + 1..) {
        if line.bytes.is_empty() || line.bytes.len() > LINE_BYTES_MAX {
            continue;
        }
        bytes_read += line.bytes.len();
        if candidate.lines == LINES_MAX || bytes_read > BYTES_MAX {
            break;
        }
        let is_directive =
            reader.read(line.bytes, |parser, outcome| candidate.count(number, parser, outcome));
        // A log may say what its fields are long before it has a line of them.
        if is_directive && reader.is_list(line.bytes) {
            candidate.lines += 1;
            candidate.fitting += 1;
            candidate.fields += 1;
        }
    }
    candidate
}

impl Candidate {
    /// Counts a line; true where it is a directive, which does not count.
    fn count(&mut self, number: u64, parser: &LineParser, outcome: LineOutcome<'_, '_>) -> bool {
        match outcome {
            LineOutcome::Directive => return true,
            LineOutcome::Record(record) => {
                self.fitting += 1;
                self.fields += fields_filled(record, parser.format().extra_fields().len());
            }
            LineOutcome::Unmatched(mismatch) if self.mismatches.len() < MISMATCHES_MAX => {
                self.mismatches.push(LineMismatch {
                    line: number,
                    column: mismatch.at + 1,
                    reason: parser.explain(mismatch),
                });
            }
            LineOutcome::Unmatched(_) => {}
        }
        self.lines += 1;
        false
    }
}

/// How many fields the record has, those logged as `-` included.
fn fields_filled(record: &Record<'_>, extra_fields: usize) -> u64 {
    let texts = Field::TEXT.iter().filter(|field| record.text(**field).is_some()).count();
    let extras = (0..extra_fields).filter(|index| record.extra(*index).is_some()).count();
    let numbers = Field::NUMBERS.iter().filter(|field| record.number(**field).is_some()).count();
    let numbers = numbers + usize::from(record.time.is_some());
    (texts + extras + numbers) as u64
}
