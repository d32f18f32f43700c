//! Records of nginx's error log that go on over several lines.
//!
//! nginx logs what a FastCGI server writes to its standard error as it is, line feeds included. Only
//! the end of the record says about which request:
//!
//! ```text
//! 2025/12/17 09:03:01 [error] 12#12: *56 FastCGI sent in stderr: "PHP message: PHP Fatal error: ...
//! Stack trace:
//! #0 {main}
//!   thrown in /srv/a.php on line 19" while reading upstream, client: 192.0.2.1, server: ...
//! ```
//!
//! The joiner replaces the line feeds inside a record by [`JOINT`], in place. So the record is one
//! line for everything after it, and offsets in the source stay those of the bytes.
//!
//! # Where a record ends
//!
//! The text between the quotes may be a client's, and can have any lines: some like the end of a
//! record, and some like the beginning of one. nginx writes its own end after all of it, and nothing
//! but the beginning of another record after that. So a record ends
//!
//! - at the last line with an end before the next line that begins as a record does;
//! - where nginx has cut it off: it ends a message after [`CUT_BYTES`], whatever is in it.
//!
//! A line that begins like a record after neither is inside one. If no end comes within the limit,
//! the lines are not joined.
//!
//! What cannot be decided: a text with an end of its own, and a whole beginning behind it, is the same
//! bytes as two records. A text with only one of them is found out: the parser then takes no client
//! from the record.
//!
//! Source: `ngx_http_fastcgi_process_record` in ngx_http_fastcgi_module.c, and `ngx_log_error_core`
//! and `NGX_MAX_ERROR_STR` of nginx and of OpenResty, which doubles it.

use std::borrow::Cow;

use memchr::{memchr, memmem, memrchr};

use super::head::message_start;

/// The byte in place of a line feed inside a record: the vertical tab, which divides lines and which
/// nothing takes for the end of one.
const JOINT: u8 = 0x0B;

/// The message before the text of the FastCGI server.
const FASTCGI: &[u8] = b"FastCGI sent in stderr: \"";

/// The lengths of a record, its line feed included, at which nginx and OpenResty cut it off.
const CUT_BYTES: [usize; 2] = [2_048, 4_096];

/// The most bytes of a record, and so of its lines: no server writes more.
const RECORD_BYTES_MAX: usize = 4_096;

/// The number of lines in which a source has to have one of nginx's error log. Otherwise it is not
/// searched for records, which costs other logs time.
const FIRST_LINES: usize = 100;

/// What the caller is waiting for, which decides what is kept back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinerWait {
    /// More bytes, which are there already: a record waits for the line after it.
    Bytes,
    /// More bytes, but the source pauses: a record that has an end is complete.
    Pause,
    /// Nothing, because the source has ended or an open record has waited too long.
    Nothing,
}

/// Joins the lines of records, in the bytes of one source.
///
/// # Examples
///
/// ```
/// use weir_core::{JoinerWait, RecordJoiner};
///
/// let mut log = *b"2025/12/17 09:03:01 [error] 1#1: *5 FastCGI sent in stderr: \"a
/// b\" while reading upstream, client: 192.0.2.1
/// ";
/// let length = log.len();
/// let mut joiner = RecordJoiner::new(1 << 20);
/// // The next line may go on with the record.
/// assert_eq!(joiner.join(&mut log, length, JoinerWait::Bytes), 0);
/// assert_eq!(joiner.join(&mut log, length, JoinerWait::Pause), length);
/// assert_eq!(log.iter().filter(|byte| **byte == b'\n').count(), 1);
/// ```
#[derive(Debug)]
pub struct RecordJoiner {
    state: State,
    record_bytes_max: usize,
}

/// Whether the source is searched for records.
#[derive(Debug)]
enum State {
    /// Not known after this many lines.
    Undecided(usize),
    Joins,
    Passes,
}

impl RecordJoiner {
    /// A joiner at the start of a source that is cut into blocks of this size. Longer records than a
    /// block are not joined.
    pub fn new(block_bytes: usize) -> Self {
        Self { state: State::Undecided(0), record_bytes_max: block_bytes.min(RECORD_BYTES_MAX) }
    }

    /// A joiner that joins nothing.
    pub fn passing() -> Self {
        Self { state: State::Passes, record_bytes_max: 0 }
    }

    /// Whether lines of the source may still be joined.
    pub fn may_join(&self) -> bool {
        !matches!(self.state, State::Passes)
    }

    /// Joins lines. `bytes[..lines_end]` are whole lines; the bytes after them are the beginning of
    /// the next one. Returns the number of bytes that may be cut off now. The others have to be
    /// passed again, with those that follow them.
    pub fn join(&mut self, bytes: &mut [u8], lines_end: usize, wait: JoinerWait) -> usize {
        if !self.is_joining(&bytes[..lines_end]) {
            return lines_end;
        }
        let mut at = 0;
        while let Some(start) = next_record(&bytes[at..lines_end]) {
            let start = at + start;
            let (window, after) = self.window(&bytes[start..], lines_end - start, wait);
            let length = match record_end(window, after) {
                RecordEnd::At(length) => length,
                RecordEnd::AtPause(length) if wait == JoinerWait::Pause => length,
                RecordEnd::AtPause(_) | RecordEnd::Open => return start,
                // Its lines stay what they are.
                RecordEnd::None => line_length(&bytes[start..lines_end]),
            };
            at = start + length;
            let inner = &mut bytes[start..at - 1];
            inner.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = JOINT);
        }
        lines_end
    }

    /// The bytes that a record which begins with `bytes` may have, and what follows them.
    fn window<'a>(&self, bytes: &'a [u8], lines_end: usize, wait: JoinerWait) -> (&'a [u8], After) {
        let (bytes, after) = match wait {
            JoinerWait::Nothing => (&bytes[..lines_end], After::Nothing),
            JoinerWait::Bytes | JoinerWait::Pause => (bytes, After::MoreBytes),
        };
        window(bytes, self.record_bytes_max, after)
    }

    /// Whether lines are joined, which the first lines of the source decide.
    fn is_joining(&mut self, lines: &[u8]) -> bool {
        if let State::Undecided(seen) = self.state {
            let first = lines.split_inclusive(|byte| *byte == b'\n').take(FIRST_LINES - seen);
            let mut count = 0;
            let has_head = first.inspect(|_| count += 1).any(is_head);
            self.state = match seen + count {
                _ if has_head => State::Joins,
                FIRST_LINES => State::Passes,
                seen => State::Undecided(seen),
            };
        }
        matches!(self.state, State::Joins)
    }
}

/// Returns the length of the record at the beginning of `bytes`, with its line feed if it has one: of
/// one line, or of those that a [`RecordJoiner`] joins. `None` if more bytes decide. `is_all` states
/// that there are none.
///
/// # Examples
///
/// ```
/// use weir_core::record_length;
///
/// assert_eq!(record_length(b"a line\nanother", false), Some(7));
/// assert_eq!(record_length(b"a line", false), None);
/// assert_eq!(record_length(b"a line", true), Some(6));
/// ```
pub fn record_length(bytes: &[u8], is_all: bool) -> Option<usize> {
    let line = memchr(b'\n', bytes).map(|at| at + 1).or_else(|| is_all.then_some(bytes.len()));
    if !begins_record(bytes) {
        return line;
    }
    let after = if is_all { After::Nothing } else { After::MoreBytes };
    let (window, after) = window(bytes, RECORD_BYTES_MAX, after);
    match record_end(window, after) {
        RecordEnd::At(length) => Some(length),
        RecordEnd::AtPause(_) | RecordEnd::Open => None,
        RecordEnd::None => line,
    }
}

/// Returns a line as it is in its log: a joined record has its line feeds again.
///
/// # Examples
///
/// ```
/// use weir_core::original_lines;
///
/// let record = b"2025/12/17 09:03:01 [error] 1#1: *5 FastCGI sent in stderr: \"a\x0Bb\"";
/// assert!(original_lines(record).ends_with(b"\"a\nb\""));
/// assert_eq!(&*original_lines(b"a\x0Bb"), b"a\x0Bb");
/// ```
pub fn original_lines(line: &[u8]) -> Cow<'_, [u8]> {
    // The fifth byte is that of a date with slashes, which few lines have.
    if line.get(4) != Some(&b'/') || memchr(JOINT, line).is_none() || !begins_record(line) {
        return Cow::Borrowed(line);
    }
    let restore = |byte: &u8| if *byte == JOINT { b'\n' } else { *byte };
    Cow::Owned(line.iter().map(restore).collect())
}

/// Whether the values at the end of a line may be those of a text in it: nginx has cut the line off,
/// or a part of it begins as a record.
pub(super) fn has_doubtful_end(line: &[u8]) -> bool {
    begins_record(line)
        && (CUT_BYTES.contains(&(line.len() + 1))
            || line.split(|byte| *byte == JOINT).skip(1).any(is_head))
}

/// What follows the bytes that a record may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// Bytes that are not there yet.
    MoreBytes,
    /// Bytes over the limit of a record.
    OverLimit,
    Nothing,
}

fn window(bytes: &[u8], record_bytes_max: usize, after: After) -> (&[u8], After) {
    match bytes.get(..record_bytes_max) {
        Some(window) => (window, After::OverLimit),
        None => (bytes, after),
    }
}

/// Where a record ends, with its line feed.
enum RecordEnd {
    At(usize),
    /// There, if no line follows it for now.
    AtPause(usize),
    /// The end is not there yet.
    Open,
    /// Nowhere: the lines are no record.
    None,
}

/// Finds the end of the record at the beginning of `window`.
fn record_end(window: &[u8], after: After) -> RecordEnd {
    let (mut start, mut last_end) = (0, None);
    while start < window.len() {
        let rest = &window[start..];
        let length = match memchr(b'\n', rest) {
            Some(at) => at + 1,
            None if after == After::Nothing => rest.len(),
            None => break,
        };
        let line = &rest[..length];
        if start > 0 && is_head(line) {
            match last_end {
                Some(end) => return RecordEnd::At(end),
                None if CUT_BYTES.contains(&start) => return RecordEnd::At(start),
                None => {}
            }
        }
        start += length;
        if has_end(line) {
            last_end = Some(start);
        }
    }
    let is_cut = CUT_BYTES.contains(&start) && window[..start].ends_with(b"\n");
    match (last_end, after) {
        (Some(end), After::MoreBytes) => RecordEnd::AtPause(end),
        (Some(end), _) => RecordEnd::At(end),
        (None, After::MoreBytes) if is_cut => RecordEnd::AtPause(start),
        (None, After::MoreBytes) => RecordEnd::Open,
        (None, _) if is_cut => RecordEnd::At(start),
        (None, _) => RecordEnd::None,
    }
}

/// The length of the first line, with its line feed.
fn line_length(lines: &[u8]) -> usize {
    memchr(b'\n', lines).map_or(lines.len(), |at| at + 1)
}

/// The offset of the next line that begins a record with a text of a FastCGI server.
fn next_record(lines: &[u8]) -> Option<usize> {
    let message = memmem::Finder::new(FASTCGI);
    let mut line_start = 0;
    loop {
        let rest = &lines[line_start..];
        let found = message.find(rest)?;
        let start = line_start + memrchr(b'\n', &rest[..found]).map_or(0, |at| at + 1);
        if begins_record(&lines[start..]) {
            return Some(start);
        }
        // A line may have the message many times.
        line_start += found + memchr(b'\n', &rest[found..])? + 1;
    }
}

/// Whether a line begins a record with a text of a FastCGI server.
fn begins_record(line: &[u8]) -> bool {
    message_start(line).is_some_and(|at| line[at..].starts_with(FASTCGI))
}

/// Whether a line begins as each record does.
fn is_head(line: &[u8]) -> bool {
    message_start(line).is_some()
}

/// Whether the text of a FastCGI server may end in a line: `" while reading upstream, client: `.
fn has_end(line: &[u8]) -> bool {
    const ACTION: &[u8] = b"\" while ";
    const ACTION_BYTES_MAX: usize = 64;
    let is_of_action = |byte: &u8| byte.is_ascii_alphanumeric() || b" /".contains(byte);
    memmem::find_iter(line, b", client: ").any(|at| {
        let before = &line[at.saturating_sub(ACTION_BYTES_MAX + ACTION.len())..at];
        memmem::rfind(before, ACTION).is_some_and(|start| {
            let action = &before[start + ACTION.len()..];
            !action.is_empty() && action.iter().all(is_of_action)
        })
    })
}

#[cfg(test)]
mod tests;
