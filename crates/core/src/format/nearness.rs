//! How near a format comes to lines that it does not match, to show why a log was not recognised.
//!
//! A format is near if much of a line matches before the first mismatch, and near too if the line
//! matches without its first words. Values that any text could be prove nothing: a sentence is no
//! S3 log because it has two words where S3 has an owner and a bucket.

use super::program::mismatch::Mismatch;
use super::program::sink::is_address;
use super::read::line_parser::LineParser;
use crate::value::Client;

/// The nearness of a line that matches up to its end.
const LINE_NEARNESS: u64 = 1_000;

/// The mean nearness of a line below which a format is far from it.
pub(super) const NEARNESS_MIN: u64 = 150;

/// The most words that are left out at the start of a line.
const WORDS_MAX: usize = 6;

/// The part of the line before its mismatch, in thousandths, if something in it was more than text;
/// and the number of known JSON keys.
pub(super) fn nearness(parser: &LineParser, line: &[u8], mismatch: Mismatch) -> u64 {
    let first_word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
    let has_address = || Client::parse(first_word).is_some_and(|client| is_address(client.host));
    // A separator may stand after an empty value.
    let begins_empty = matches!(line.first(), Some(b'\t' | b','));
    let program = parser.format().program();
    let has_checked = !begins_empty && program.has_checked(mismatch, has_address);
    let at = if has_checked { mismatch.at.min(line.len()) } else { 0 };
    share(at, line) + parser.keys_found() as u64
}

/// The part of the line that matches without its first words, in thousandths; 0 if it does not.
pub(super) fn nearness_without_start(parser: &mut LineParser, line: &[u8]) -> u64 {
    let mut text = Vec::new();
    let starts = memchr::memchr_iter(b' ', line).take(WORDS_MAX).map(|space| space + 1);
    starts
        .map(|start| &line[start..])
        .find(|rest| parser.matches(rest, &mut text))
        .map_or(0, |rest| share(rest.len(), line))
}

fn share(bytes: usize, line: &[u8]) -> u64 {
    bytes as u64 * LINE_NEARNESS / (line.len() as u64).max(1)
}
