//! Recognises copies of followed files, as rotation by `copytruncate` makes them.
//!
//! Such a copy is another file, so nothing but its bytes shows that its lines were read. A file of
//! the same rotated set with a longer name is a copy as long as it has the same bytes as the followed
//! file, as far as both go. What it has beyond the lines that were read before the truncation was lost otherwise.
//! Logs that share no more than a header are not copies of each other.

use std::fs::File;

use super::log_file::{LogFile, Truncated};
use super::read_place::ReadPlace;
use crate::file_parts::FileContents;
use crate::file_reads::read_at;

/// The number of bytes that are compared at the start of what is known of a file that is gone.
pub(super) const COMPARED_BYTES: usize = 256;

/// The number of bytes that are compared at the end of a file that is there. Some lines are alike but for
/// a time in their middle.
const SHARED_BYTES_MAX: u64 = 256 << 10;

/// The number of bytes at the start of a file in which a line is looked for that is no header.
const TELLING_BYTES: usize = 4 << 10;

/// How a file is like a followed one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// So far it has the same bytes.
    SoFar(Original),
    /// It has bytes that the followed file does not have: those before it was truncated, or others.
    Beyond(Original),
}

/// What a file is a copy of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Original {
    /// The place up to which the followed file was read.
    pub(super) place: ReadPlace,
    /// What the followed file has, or had before it was truncated; `None` if its lines are joined.
    pub(super) contents: Option<FileContents>,
}

/// Returns how a file is like a followed one; `None` if it is not.
pub(super) fn likeness(followed: &LogFile, other: &File) -> Option<Likeness> {
    let length = other.metadata().ok()?.len();
    let is_copy = |truncated: &&Truncated| {
        let Truncated { head, place, .. } = truncated;
        length >= place.offset
            && has_bytes(other, 0, head)
            && has_bytes_before(other, place)
            && is_telling(other, place.offset)
    };
    if let Some(truncated) = followed.truncated().iter().rev().find(is_copy) {
        let place = truncated.place.clone();
        return Some(Likeness::Beyond(Original { place, contents: truncated.contents.clone() }));
    }
    let (head, place) = (followed.head(), followed.place());
    let end = length.min(place.offset);
    if place.offset == 0 || !has_bytes(other, 0, &head[..head.len().min(end as usize)]) {
        return None;
    }
    // The next poll notices that.
    let was_truncated = !has_bytes_before(followed.file(), place);
    let is_same = match was_truncated {
        true => length < place.offset || has_bytes_before(other, place),
        false => is_shared(followed.file(), other, end),
    };
    let has_more = !was_truncated && followed.file().metadata().ok()?.len() < length;
    let original = || Original { place: place.clone(), contents: followed.contents() };
    (is_same && is_telling(other, end)).then(|| match has_more {
        true => Likeness::Beyond(original()),
        false => Likeness::SoFar(original()),
    })
}

/// Whether two files have the same bytes before an offset.
fn is_shared(one: &File, other: &File, end: u64) -> bool {
    let start = end.saturating_sub(SHARED_BYTES_MAX);
    let bytes = |file| {
        let mut bytes = vec![0; (end - start) as usize];
        let read = read_at(file, &mut bytes, start).ok()?;
        (read == bytes.len()).then_some(bytes)
    };
    bytes(one).is_some_and(|expected| bytes(other).is_some_and(|found| found == expected))
}

fn has_bytes_before(file: &File, place: &ReadPlace) -> bool {
    has_bytes(file, place.offset - place.before().len() as u64, place.before())
}

/// Whether a file has more before an offset than the lines of a header, which many logs share: a
/// directive, or names of columns. A record has digits.
pub(super) fn is_telling(file: &File, end: u64) -> bool {
    let mut bytes = vec![0; TELLING_BYTES.min(end as usize)];
    let Ok(read) = read_at(file, &mut bytes, 0) else { return false };
    let mut lines = bytes[..read].split(|byte| *byte == b'\n');
    lines.any(|line| !line.starts_with(b"#") && line.iter().any(u8::is_ascii_digit))
}

/// Whether a file has these bytes at an offset.
fn has_bytes(file: &File, offset: u64, expected: &[u8]) -> bool {
    let mut bytes = [0; COMPARED_BYTES];
    let bytes = &mut bytes[..expected.len()];
    // A short read of a regular file ends it.
    read_at(file, bytes, offset).is_ok_and(|read| read == expected.len()) && bytes == expected
}
