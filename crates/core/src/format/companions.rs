//! Formats that stand among the lines of a log beside its own.
//!
//! Logs are mixed: a container writes its access log and its error log to one stream, a server
//! writes some lines in `common` and some in `combined`, sites with different formats share a log.
//! A line that the log's format does not match is read by the first companion that it matches.
//!
//! Companions are a small set, which is chosen from the first lines: a format joins if it reads
//! lines that the others leave. Formats that appear later join by the same rule, line by line
//! (`companion_search`). The known formats of error logs are always in the set of an access log,
//! because its first errors often come late, and no access line matches them.
//!
//! Lines of the log's own format never meet a companion, so a log in one format costs what it cost
//! without them.

use std::sync::Arc;

use memchr::memmem;

use super::catalog::known_formats;
use super::compiled::Format;
use super::detect::{BYTES_MAX, Candidate, matching_formats};
use super::program::Program;
use super::read::followed_format::FollowedFormat;
use super::read::log_reader::{LineOutcome, LogReader};
use crate::line::Lines;
use crate::schema::RecordKind;

/// The most formats in which the lines of one block are read beside the log's own, the error logs
/// included. A line in a further format stays unparsed.
pub(super) const COMPANIONS_MAX: usize = 7;

/// A format joins if it reads this many of the lines that the others leave, and each of them may be
/// a torn line of the log's own format.
const TORN_LINES_MIN: u64 = 2;

/// The companions of `own`, which was detected in the first lines of a log, in the order in which
/// they are tried.
pub(super) fn companions_of(own: &Arc<Format>, first_lines: &[u8]) -> Vec<Arc<Format>> {
    let mut companions = Vec::new();
    let mut left = unread_lines(own, first_lines);
    while !left.is_empty() && companions.len() < detected_max(own) {
        let joining = matching_formats(&left).into_iter().find(|candidate| {
            joins(candidate, own, &companions)
                && !is_after_users(candidate, own, &companions, &left)
        });
        let Some(Candidate { format, .. }) = joining else { break };
        left = unread_lines(&format, &left);
        companions.push(format);
    }
    add_error_logs(own, &mut companions);
    companions
}

/// The companions of a log in format `own` that continues another one with these companions.
pub(super) fn known_companions(own: &Format, before: Vec<Arc<Format>>) -> Vec<Arc<Format>> {
    let is_companion = |format: &Arc<Format>| !format.is_same_as(own) && can_join(format);
    let mut companions: Vec<Arc<Format>> = before.into_iter().filter(is_companion).collect();
    add_error_logs(own, &mut companions);
    companions.truncate(COMPANIONS_MAX);
    companions
}

/// The most companions beside the error logs that [`add_error_logs`] adds.
pub(super) fn detected_max(own: &Format) -> usize {
    COMPANIONS_MAX - error_logs(own).count()
}

/// The known error logs that may be written to the same stream as a log.
fn error_logs(own: &Format) -> impl Iterator<Item = &'static Format> {
    let is_access_log = own.kind() == RecordKind::Request;
    known_formats()
        .iter()
        .filter(move |format| is_access_log && format.kind() == RecordKind::ErrorLogLine)
}

/// Adds the known error logs that may be written to the same stream as an access log.
pub(super) fn add_error_logs(own: &Format, companions: &mut Vec<Arc<Format>>) {
    for format in error_logs(own) {
        let format = format.surrounded_as(own);
        let is_new = |format: &Format| companions.iter().all(|one| one.name() != format.name());
        companions.extend(format.filter(is_new).map(Arc::new));
    }
}

/// Whether a format joins the set.
fn joins(candidate: &Candidate, own: &Format, companions: &[Arc<Format>]) -> bool {
    let Candidate { format, parsed_lines, .. } = candidate;
    *parsed_lines >= lines_min(format, own)
        && !format.is_same_as(own)
        && !companions.iter().any(|companion| format.is_same_as(companion))
        && can_join(format)
}

/// Whether what stands before the known lines of a format may be the users of other lines: with the user
/// `203.0.113.5 - -` a client could write a line that seems to have two words before another client.
fn is_after_users(
    candidate: &Candidate,
    own: &Format,
    companions: &[Arc<Format>],
    left: &[u8],
) -> bool {
    let format = &candidate.format;
    let has_users = || own.has_user() || companions.iter().any(|companion| companion.has_user());
    if format.head().is_none() || !has_users() {
        return false;
    }
    let is_after_user = |line: &[u8]| {
        let inside = format.wrapper().and_then(|wrapper| wrapper.inside(line));
        let line = inside.as_deref().unwrap_or(line);
        let start = memmem::find(line, b" [").unwrap_or(line.len());
        memmem::find_iter(&line[..start], b" - ").count() > 1
    };
    let mut reader = LogReader::new(format.clone());
    let mut is_read =
        |line: &[u8]| reader.read(line, |_, outcome| matches!(outcome, LineOutcome::Record(_)));
    let lines = Lines::new(left).filter(|line| is_read(line.bytes) && !is_after_user(line.bytes));
    (lines.count() as u64) < lines_min(format, own)
}

/// How many lines of a format have to be seen before it joins. One is enough unless it may be a
/// torn line of `own`: then the format reads nothing that `own` does not read as well.
pub(super) fn lines_min(format: &Format, own: &Format) -> u64 {
    let are_lines = [format, own].iter().all(|one| matches!(one.program(), Program::Line(_)));
    let may_be_torn = are_lines
        && format.fields().iter().all(|field| own.fields().contains(field))
        && format.extra_fields().iter().all(|name| own.extra_fields().contains(name));
    // What stands around a known line may be a torn line too.
    if may_be_torn || format.is_surrounded() { TORN_LINES_MIN } else { 1 }
}

/// Whether a format may be a companion at all. The directives of one that they change would have to
/// be followed among lines of other formats.
pub(super) fn can_join(format: &Arc<Format>) -> bool {
    !FollowedFormat::new(format.clone()).may_change()
}

/// The lines that a format does not match, each with a line feed, of the first [`BYTES_MAX`].
fn unread_lines(format: &Arc<Format>, bytes: &[u8]) -> Vec<u8> {
    let mut reader = LogReader::new(format.clone());
    let (mut left, mut bytes_read) = (Vec::new(), 0);
    for line in Lines::new(bytes).filter(|line| !line.bytes.is_empty()) {
        bytes_read += line.bytes.len();
        if bytes_read > BYTES_MAX {
            break;
        }
        let is_left =
            reader.read(line.bytes, |_, outcome| matches!(outcome, LineOutcome::Unparsed(_)));
        if is_left {
            left.extend_from_slice(line.bytes);
            left.push(b'\n');
        }
    }
    left
}
