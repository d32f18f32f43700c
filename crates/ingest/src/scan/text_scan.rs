//! Scans the lines of a text, a large plain file in several parts at once.

use std::io::{self, Read};

use super::file_ranges::FileRanges;
use super::line_blocks::LineBlocks;
use super::ordered::{OrderedOutput, run_in_order};
use crate::source::{Input, Text};

/// The stream of a part of a text.
type PartStream<'a> = Box<dyn Read + 'a>;

/// Calls `work` with the lines of each part of a text, and writes its output in the order of the
/// text. A large plain file has several parts, which are read on this number of threads; with `None`
/// it has one, because the work on a line depends on earlier lines.
///
/// # Errors
/// If `work` fails, which it should only if the output cannot be written. Errors of the text belong
/// in the results, so that the lines before them count.
pub fn scan_text<T: Send>(
    input: &Input,
    text: &mut Text<'_>,
    threads: Option<usize>,
    output: &mut OrderedOutput<'_>,
    work: impl Fn(&mut LineBlocks<PartStream<'_>>, &mut OrderedOutput<'_>) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let ranges = threads.and_then(|threads| Some((threads, FileRanges::of(input, text)?)));
    let Some((threads, ranges)) = ranges else {
        return Ok(vec![work(&mut LineBlocks::new(Box::new(text)), output)?]);
    };
    run_in_order(threads, ranges.count(), output, |index, output| {
        work(&mut LineBlocks::new(Box::new(ranges.lines(index))), output)
    })
}
