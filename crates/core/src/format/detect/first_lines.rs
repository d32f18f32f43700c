//! The formats of a log's first lines: the known ones, and those that are made for the lines.
//!
//! Known formats come first, alone and inside a wrapper. If the best of them leaves lines, a format is
//! looked for that is a known one with something around it, then one in a member of JSON objects, then
//! one whose names stand in a header.

use std::sync::Arc;

use super::attempt::Attempt;
use super::{BYTES_MAX, Candidate, LINE_BYTES_MAX, LINES_MAX, best_of, is_read, rank};
use crate::format::catalog::{detected_formats, formats_with_any_user};
use crate::format::compiled::{ENVELOPES_MAX, Format};
use crate::format::members::{InsideFormat, enveloped_formats, header_format, with_members};
use crate::format::program::needs::LineMarks;
use crate::format::program::wrapper::Wrapper;
use crate::format::read::log_reader::{LineOutcome, LogReader};
use crate::format::surroundings::{Finder, SAMPLE_LINES_MAX, outline_format};
use crate::line::Lines;

/// If one format matches all of this many first lines, formats that match none are given up.
const SURE_LINES: u64 = 64;
/// Lines with something around them are a format of their own if they are one in this many.
const SURROUNDED_SHARE: u64 = 20;
/// The number of lines in which a wrapper is looked for.
const WRAPPED_LINES_MAX: usize = 20;

/// What a detection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The formats.
    Formats,
    /// Also why lines do not match them, and how near they come.
    Reasons,
}

/// The beginning of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstLines<'a> {
    /// Without the empty lines at the start. They are skipped once and not for every format: a file may
    /// begin with millions of them.
    bytes: &'a [u8],
    /// The number of these empty lines.
    lines_before: u64,
    /// The number of JSON objects that the lines were inside.
    objects: usize,
    wanted: Wanted,
}

impl<'a> FirstLines<'a> {
    pub(super) fn new(bytes: &'a [u8], wanted: Wanted) -> Self {
        let empty_lines = bytes.iter().take_while(|byte| **byte == b'\n').count();
        let bytes = &bytes[empty_lines..];
        Self { bytes, lines_before: empty_lines as u64, objects: 0, wanted }
    }

    /// The candidates, best first, but those that match no line in any order.
    pub(super) fn candidates(self) -> Vec<Candidate> {
        let formats = detected_formats(None);
        if self.bytes.is_empty() {
            return formats.iter().map(Candidate::new).collect();
        }
        let wrapper = self.wrapper();
        let mut candidates = self.ranked(formats);
        if let Some(wrapper) = wrapper {
            let mut inside = self.matching(detected_formats(Some(wrapper)));
            let most = candidates.iter().map(|candidate| candidate.parsed_lines).max().unwrap_or(0);
            if inside.first().is_some_and(|best| best.parsed_lines * 2 > most) {
                inside.append(&mut candidates);
                candidates = inside;
            }
        }
        let surrounded = candidates.first().map(|best| self.surrounded(best, wrapper));
        insert_by_rank(&mut candidates, surrounded.unwrap_or_default());
        let enveloped = candidates.first().map(|best| self.enveloped(best));
        insert_by_rank(&mut candidates, enveloped.unwrap_or_default());
        if candidates.first().is_some_and(|best| best.parsed_lines * 2 < best.lines)
            && let Some(format) = header_format(self.lines())
        {
            insert_by_rank(&mut candidates, self.matching(&[format]));
        }
        if let Some(best) = candidates.first_mut().filter(|best| best.parsed_lines > 0)
            && let Some(format) = with_members(&best.format, self.lines())
        {
            best.format = Arc::new(format);
        }
        candidates
    }

    /// The lines that detection reads.
    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        let bytes = &self.bytes[..self.bytes.len().min(BYTES_MAX)];
        let lines = Lines::new(bytes).map(|line| line.bytes);
        let is_line = |line: &&[u8]| !line.is_empty() && line.len() <= LINE_BYTES_MAX;
        lines.filter(is_line).take(LINES_MAX as usize)
    }

    /// Reads the lines with some formats and ranks these.
    fn ranked(self, formats: &[Arc<Format>]) -> Vec<Candidate> {
        let attempt = |format| Attempt::new(format, self.bytes, self.lines_before, self.wanted);
        let mut attempts: Vec<Attempt<'_>> = formats.iter().map(attempt).collect();
        let lines = Lines::new(self.bytes).map(|line| line.bytes).filter(is_read);
        let mut marks = lines.map(LineMarks::of);
        let mut marks_read: Vec<_> = marks.by_ref().take(SURE_LINES as usize).collect();
        for attempt in &mut attempts {
            attempt.read_up_to(SURE_LINES, &marks_read);
        }
        let is_one_sure = attempts.iter().any(|attempt| attempt.matches_all(SURE_LINES));
        if !is_one_sure {
            marks_read.extend(marks.take((LINES_MAX - SURE_LINES) as usize));
        }
        for attempt in &mut attempts {
            if !is_one_sure || attempt.matches_any() {
                attempt.read_up_to(LINES_MAX, &marks_read);
            }
        }
        let mut candidates: Vec<Candidate> =
            attempts.into_iter().map(Attempt::into_candidate).collect();
        // The sort is stable.
        candidates.sort_by_key(rank);
        candidates
    }

    /// Does what [`Self::ranked`] does, without formats that match no line.
    fn matching(self, formats: &[Arc<Format>]) -> Vec<Candidate> {
        let mut candidates = self.ranked(formats);
        candidates.retain(|candidate| candidate.parsed_lines > 0);
        candidates
    }

    /// The wrapper around most of the first lines.
    fn wrapper(self) -> Option<Wrapper> {
        let lines = || {
            let lines = Lines::new(self.bytes).map(|line| line.bytes);
            lines.filter(is_read).take(WRAPPED_LINES_MAX)
        };
        Wrapper::ALL.into_iter().find(|wrapper| {
            let wrapped = lines().filter(|line| wrapper.is_around(line)).count();
            wrapped > 0 && wrapped * 2 >= lines().count()
        })
    }

    /// The formats of lines with a known line inside, if the best of the known formats leaves such
    /// lines: one in [`SURROUNDED_SHARE`] of all, unless it matches none. `wrapper` is around most lines.
    fn surrounded(self, best: &Candidate, wrapper: Option<Wrapper>) -> Vec<Candidate> {
        if !leaves_lines(best) {
            return Vec::new();
        }
        let sample = self.sample(best);
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
                self.matching(&formats)
            });
        tries.find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// The first lines that a candidate does not match, and as many of all.
    fn sample(self, candidate: &Candidate) -> Vec<&'a [u8]> {
        let mut reader = LogReader::new(Arc::clone(&candidate.format));
        let is_unread = |line: &&[u8]| {
            candidate.parsed_lines == 0
                || reader.read(line, |_, outcome| matches!(outcome, LineOutcome::Unparsed(_)))
        };
        let bytes = &self.bytes[..self.bytes.len().min(BYTES_MAX)];
        let lines = || Lines::new(bytes).map(|line| line.bytes).filter(is_read);
        let unread = lines().filter(is_unread).take(SAMPLE_LINES_MAX / 2);
        unread.chain(lines().take(SAMPLE_LINES_MAX / 2)).collect()
    }

    /// The formats of lines in members of JSON objects, if the best of the others leaves lines.
    fn enveloped(self, best: &Candidate) -> Vec<Candidate> {
        let is_unwrapped =
            best.parsed_lines > 0 && best.format.wrapper().is_some_and(Wrapper::is_escaped);
        if self.objects == ENVELOPES_MAX || !leaves_lines(best) || is_unwrapped {
            return Vec::new();
        }
        let inside = |bytes: &[u8]| {
            let lines = FirstLines::new(bytes, Wanted::Formats);
            let best = best_of(FirstLines { objects: self.objects + 1, ..lines }.candidates())?;
            let (fields, lines) = (best.fields, best.parsed_lines);
            Some(InsideFormat { format: best.format, fields, lines })
        };
        self.matching(&enveloped_formats(self.lines(), BYTES_MAX, inside))
    }
}

/// Whether a format leaves enough lines that something may stand around them.
fn leaves_lines(best: &Candidate) -> bool {
    let left = best.lines - best.parsed_lines;
    left > 0 && (best.parsed_lines == 0 || left * SURROUNDED_SHARE >= best.lines)
}

/// Whether a known format reads half of the lines if clients may choose any user.
///
/// Else the requests of one client, with a user of several words, could give the log another format.
fn are_read_with_any_user(lines: &[&[u8]]) -> bool {
    formats_with_any_user().iter().any(|format| {
        let mut reader = LogReader::new(format.clone());
        let mut is_read =
            |line: &[u8]| reader.read(line, |_, outcome| matches!(outcome, LineOutcome::Record(_)));
        lines.iter().filter(|line| is_read(line)).count() * 2 >= lines.len()
    })
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

/// Puts candidates among others, each before those that read fewer fields.
fn insert_by_rank(candidates: &mut Vec<Candidate>, found: Vec<Candidate>) {
    for candidate in found {
        let is_worse = |other: &Candidate| other.fields < candidate.fields;
        let at = candidates.iter().position(is_worse).unwrap_or(candidates.len());
        candidates.insert(at, candidate);
    }
}
