//! Counts the lines of an input.

use std::io::{self, Read};

use memchr::memchr_iter;
use weir_ingest::{FileRanges, Input, ReadError, is_retryable, run_in_order, table_rows};

use super::InputCount;
use crate::scan::{ScanError, for_each_text};
use crate::sources::Complaint;

/// The size of a read: the bytes are still in the cache when their line feeds are counted.
const READ_BYTES: usize = 128 << 10;

/// Counts the lines of an input, or the rows that a table states. A large plain file is read on
/// `threads` threads, in ranges that may begin within a line.
pub(super) fn count(input: &Input, threads: usize) -> InputCount<u64> {
    let mut result = InputCount::default();
    match table_rows(input) {
        Ok(Some(rows)) => return InputCount { count: rows, was_read: true, ..result },
        // What cannot be opened is reported below.
        Ok(None) | Err(ReadError::Open(_)) => {}
        Err(error) => {
            let (name, sentence) = (input.name(), error.to_string());
            result.complaints = vec![Complaint { name, sentence }];
            return result;
        }
    }
    let complaints = for_each_text(input, |text| {
        result.was_read = true;
        if let Some(ranges) = FileRanges::of(input, text) {
            return count_ranges(&ranges, threads, &mut result.count);
        }
        // Lines that were counted before an error stay counted.
        let mut lines = LineCount::default();
        let read = lines.read(text).map_err(ScanError::Input);
        result.count += lines.finish();
        read
    });
    // Nothing is written, so only reading can fail; those errors are in the list.
    result.complaints = complaints.unwrap_or_default();
    result
}

fn count_ranges(ranges: &FileRanges, threads: usize, count: &mut u64) -> Result<(), ScanError> {
    let counted = run_in_order(threads, ranges.count(), &mut io::sink(), |index, _| {
        let mut lines = LineCount::default();
        let read = lines.read(ranges.bytes(index));
        Ok((lines, read))
    });
    let (lines, read) = sum(counted.unwrap_or_default());
    *count += lines;
    read.map_err(ScanError::Input)
}

/// The lines of consecutive ranges, and the first error of reading them. Ranges after one with an
/// error count too.
fn sum(ranges: Vec<(LineCount, io::Result<()>)>) -> (u64, io::Result<()>) {
    let mut all = LineCount::default();
    let mut read = Ok(());
    for (lines, result) in ranges {
        all.append(&lines);
        read = read.and(result);
    }
    (all.finish(), read)
}

/// The line feeds of some bytes, and whether a line begins after the last one.
#[derive(Debug, Default)]
struct LineCount {
    line_feeds: u64,
    /// Whether bytes other than NULs follow the last line feed; `None` if there were only NULs.
    has_begun: Option<bool>,
}

impl LineCount {
    fn read(&mut self, mut stream: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => self.add(&buffer[..length]),
                Err(error) if is_retryable(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.line_feeds += memchr_iter(b'\n', bytes).count() as u64;
        // The search begins at the end, because the last byte that is not NUL is usually near. A
        // run of NULs is searched a vector at a time.
        let is_some = |chunk: &&[u8]| chunk.iter().fold(0, |any, byte| any | byte) != 0;
        let chunk = bytes.rchunks(64).find(is_some).unwrap_or_default();
        let last = chunk.iter().rev().find(|byte| **byte != 0);
        self.has_begun = match last {
            Some(byte) => Some(*byte != b'\n'),
            None => self.has_begun,
        };
    }

    /// Adds the count of the following bytes.
    fn append(&mut self, other: &Self) {
        self.line_feeds += other.line_feeds;
        self.has_begun = other.has_begun.or(self.has_begun);
    }

    fn finish(&self) -> u64 {
        self.line_feeds + u64::from(self.has_begun == Some(true))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::Lines;

    use super::{LineCount, sum};

    #[test]
    fn ranges_after_an_error_count() {
        let range = |bytes: &[u8], result| {
            let mut lines = LineCount::default();
            lines.add(bytes);
            (lines, result)
        };
        let failed = |text: &str| Err(std::io::Error::other(text));
        let ranges =
            vec![range(b"a\n", Ok(())), range(b"b\n", failed("one")), range(b"c", failed("two"))];
        let (lines, read) = sum(ranges);
        assert_eq!(lines, 3);
        assert_eq!(read.expect_err("the second range failed").to_string(), "one");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_are_those_of_the_core(
            log in prop::collection::vec(prop::sample::select(&b"a\n\n\0\0\0\r"[..]), 0..300),
            piece in 1usize..150,
        ) {
            let mut count = LineCount::default();
            log.chunks(piece).for_each(|piece| count.add(piece));
            prop_assert_eq!(count.finish(), Lines::new(&log).count() as u64);
            let mut all = LineCount::default();
            for piece in log.chunks(piece) {
                let mut count = LineCount::default();
                count.add(piece);
                all.append(&count);
            }
            prop_assert_eq!(all.finish(), count.finish());
        }
    }
}
