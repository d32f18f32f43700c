//! How many lines an input has.

use std::io::{self, Read};

use memchr::memchr_iter;
use weir_ingest::Input;

use super::Counted;
use crate::lines::{Failed, Pieces, each_text, in_order, is_passing};

/// What is read at once: it is still in the cache when its line feeds are counted.
const READ_BYTES: usize = 128 << 10;

/// Counts the lines of an input, on so many threads where it is large.
pub(super) fn count(input: &Input, jobs: usize) -> Counted<u64> {
    let mut counted = Counted::default();
    let complaints = each_text(input, |text| {
        if let Some(pieces) = Pieces::of(input, text) {
            return in_pieces(&pieces, jobs, &mut counted.count);
        }
        // What was counted before an error stands.
        let mut lines = LineCount::default();
        let result = lines.read(text).map_err(Failed::Input);
        counted.count += lines.finish();
        result
    });
    // Nothing is written, so that nothing can fail but reading.
    counted.complaints = complaints.unwrap_or_default();
    counted
}

/// Adds the lines of a file, of which several threads read pieces.
fn in_pieces(pieces: &Pieces, jobs: usize, count: &mut u64) -> Result<(), Failed> {
    let counted = in_order(jobs, pieces.count(), &mut io::sink(), |index, _| {
        let mut lines = LineCount::default();
        let result = lines.read(pieces.bytes(index));
        Ok((lines, result))
    });
    let mut all = LineCount::default();
    let result = counted.unwrap_or_default().into_iter().try_for_each(|(lines, result)| {
        all.append(&lines);
        result.map_err(Failed::Input)
    });
    *count += all.finish();
    result
}

/// Line feeds, and whether a line has begun behind the last one.
#[derive(Debug, Default)]
struct LineCount {
    line_feeds: u64,
    /// Whether something other than NULs stands behind the last line feed; `None` where there
    /// were NULs alone.
    has_begun: Option<bool>,
}

impl LineCount {
    fn read(&mut self, mut stream: impl Read) -> io::Result<()> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(length) => self.add(&buffer[..length]),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.line_feeds += memchr_iter(b'\n', bytes).count() as u64;
        // From the end, which is near; a run of NULs is looked through a vector at a time.
        let is_some = |chunk: &&[u8]| chunk.iter().fold(0, |any, byte| any | byte) != 0;
        let chunk = bytes.rchunks(64).find(is_some).unwrap_or_default();
        let last = chunk.iter().rev().find(|byte| **byte != 0);
        self.has_begun = match last {
            Some(byte) => Some(*byte != b'\n'),
            None => self.has_begun,
        };
    }

    /// Adds what comes behind.
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

    use super::LineCount;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_what_the_core_gives(
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
