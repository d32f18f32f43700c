//! The reading of a log's first lines with one format.

use std::sync::Arc;

use super::first_lines::Wanted;
use super::{BYTES_MAX, Candidate, LineMismatch, MISMATCHES_MAX, MismatchReason, is_read};
use crate::field::Field;
use crate::format::compiled::Format;
use crate::format::nearness::nearness;
use crate::format::program::needs::LineMarks;
use crate::format::read::line_parser::LineParser;
use crate::format::read::log_reader::{LineOutcome, LogReader};
use crate::format::surroundings::Labels;
use crate::line::Lines;
use crate::record::Record;

/// The reading of a log's first lines with one format.
pub(super) struct Attempt<'a> {
    candidate: Candidate,
    wanted: Wanted,
    /// Made for the first line that is read.
    reader: Option<LogReader>,
    /// The lines that the format refuses for their users alone.
    refused: RefusedUsers,
    labels: Labels,
    /// The lines that have not been read.
    lines: Lines<'a>,
    /// The number of the next line, from 1.
    number: u64,
    /// The number of the lines so far, without those that are left out, and their bytes.
    lines_read: usize,
    bytes_read: usize,
}

impl<'a> Attempt<'a> {
    /// Begins to read `bytes`, which follow `lines_before` other lines.
    pub(super) fn new(
        format: &Arc<Format>,
        bytes: &'a [u8],
        lines_before: u64,
        wanted: Wanted,
    ) -> Self {
        let (candidate, lines) = (Candidate::new(format), Lines::new(bytes));
        let labels = Labels::of(format);
        let number = lines_before + 1;
        Self {
            candidate,
            wanted,
            reader: None,
            refused: RefusedUsers::default(),
            labels,
            lines,
            number,
            lines_read: 0,
            bytes_read: 0,
        }
    }

    /// The candidate, which matches no line if the values contradict the names of its fields.
    pub(super) fn into_candidate(self) -> Candidate {
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
            let reason = MismatchReason::Labels(reason);
            candidate.mismatches = vec![LineMismatch { line: 1, column: 1, reason }];
        }
        candidate
    }

    /// The candidate, whatever its values are.
    pub(super) fn into_tried(self) -> Candidate {
        self.candidate
    }

    /// Whether the format matches each of the lines so far, and these are so many.
    pub(super) fn matches_all(&self, lines: u64) -> bool {
        let candidate = &self.candidate;
        candidate.lines >= lines && candidate.parsed_lines == candidate.lines
    }

    /// Whether the format matches one of the lines so far.
    pub(super) fn matches_any(&self) -> bool {
        self.candidate.parsed_lines > 0
    }

    /// Reads on until this many lines have been counted, or [`BYTES_MAX`] have been read. `marks` are
    /// those of the first lines.
    pub(super) fn read_up_to(&mut self, lines: u64, marks: &[LineMarks]) {
        let format = self.candidate.format.clone();
        let needs = format.needs();
        while self.candidate.lines < lines {
            let Some(line) = self.lines.next() else { break };
            let number = self.number;
            self.number += 1;
            if !is_read(&line.bytes) {
                continue;
            }
            self.bytes_read += line.bytes.len();
            if self.bytes_read > BYTES_MAX {
                break;
            }
            let marks = marks.get(self.lines_read);
            self.lines_read += 1;
            if self.explains() || marks.is_none_or(|marks| marks.meet(&needs)) {
                self.read_line(line.bytes, number);
            } else {
                self.candidate.lines += 1;
            }
        }
    }

    /// Whether it has to be found out why the next line does not match, if it does not.
    fn explains(&self) -> bool {
        self.wanted == Wanted::Reasons && self.candidate.mismatches.len() < MISMATCHES_MAX
    }

    fn read_line(&mut self, line: &[u8], number: u64) {
        let explains = self.explains();
        let (candidate, labels) = (&mut self.candidate, &mut self.labels);
        let (refused, format) = (&mut self.refused, candidate.format.clone());
        let reader = self.reader.get_or_insert_with(|| LogReader::new(format));
        let is_directive = reader.read(line, |parser, outcome| {
            if let LineOutcome::Unparsed(mismatch) = &outcome {
                if parser.format().refuses_user(*mismatch) {
                    refused.read(parser.format(), line, number);
                }
                if explains {
                    candidate.closeness += nearness(parser, line, *mismatch);
                    candidate.mismatches.push(LineMismatch {
                        line: number,
                        column: mismatch.at + 1,
                        reason: MismatchReason::Line(parser.format().clone(), *mismatch),
                    });
                }
            }
            if let LineOutcome::Record(record) = &outcome {
                labels.add(record);
            }
            candidate.count(parser, outcome)
        });
        // A `#Fields:` directive identifies the format even if no line follows it yet.
        if is_directive && reader.is_field_list(line) {
            labels.are_those_of_the_log();
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
    pub(super) fn new(format: &Arc<Format>) -> Self {
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
    fn count(&mut self, parser: &LineParser, outcome: LineOutcome<'_, '_>) -> bool {
        match outcome {
            LineOutcome::Directive => return true,
            LineOutcome::Record(record) => {
                self.parsed_lines += 1;
                self.fields += fields_filled(record, parser.format().extra_fields().len());
            }
            LineOutcome::Unparsed(_) => {}
        }
        self.lines += 1;
        false
    }
}

/// The number of fields of the record, those logged as `-` included.
pub(in crate::format) fn fields_filled(record: &Record<'_>, extra_fields: usize) -> u64 {
    let texts = Field::TEXT.iter().filter(|field| record.text(**field).is_some()).count();
    let extras = (0..extra_fields).filter(|index| record.extra(*index).is_some()).count();
    let numbers = Field::NUMBERS.iter().filter(|field| record.number(**field).is_some()).count();
    (texts + extras + numbers + usize::from(record.time.is_some())) as u64
}
