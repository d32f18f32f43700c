//! Whether most lines of a feed fit its format.

use std::hash::{BuildHasher, RandomState};
use std::iter::once;

use memchr::{memchr, memchr_iter};

/// Lines of a block that are looked at, wherever they are.
const SAMPLES: u64 = 4;

/// A line that fits makes up for so many that do not.
const FIT_WEIGHT: usize = 4;

/// Counts lines here and there in each block: where fewer than one in five fit, the balance grows.
///
/// Lines in a row say sooner that a feed has changed. But one that fits ends a row, so that a sender
/// who has one among fifty could keep the format from the other forty-nine for ever.
#[derive(Debug)]
pub(super) struct Majority {
    /// Lines that do not fit, less what those that do make up for.
    balance: usize,
    /// The last of those that do not, with their line feeds.
    lines: Vec<u8>,
    lines_bytes_max: usize,
    /// Nobody is to know which lines are looked at.
    random: RandomState,
    blocks: u64,
}

impl Majority {
    /// None of the lines seen as yet, of which so many bytes are kept at most.
    pub(super) fn new(lines_bytes_max: usize) -> Self {
        let random = RandomState::new();
        Self { balance: 0, lines: Vec::new(), lines_bytes_max, random, blocks: 0 }
    }

    /// True where so many more lines than the others make up for did not fit.
    pub(super) fn is_lost(&self, needed: usize) -> bool {
        self.balance >= needed
    }

    /// Lines that do not fit, the last of them.
    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Some of the block's lines, each once; all are as likely, however long they are.
    pub(super) fn sample<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        self.blocks += 1;
        let line_count = memchr_iter(b'\n', bytes).count().max(1) as u64;
        let mut chosen: Vec<u64> = (0..SAMPLES)
            .map(|sample| self.random.hash_one((self.blocks, sample)) % line_count)
            .collect();
        chosen.sort_unstable();
        chosen.dedup();
        let starts = once(0).chain(memchr_iter(b'\n', bytes).map(|end| end + 1));
        let mut lines = starts.zip(0..);
        let line = |start: usize| {
            let rest = &bytes[start..];
            &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]
        };
        let start_of = |wanted| lines.find(|(_, number)| *number == wanted).map(|(start, _)| start);
        chosen.into_iter().filter_map(start_of).map(line).collect()
    }

    /// Counts a line that was looked at. The balance does not grow beyond `needed`.
    pub(super) fn count(&mut self, line: &[u8], fits: bool, needed: usize) {
        if fits {
            self.balance = self.balance.saturating_sub(FIT_WEIGHT);
            if self.balance == 0 {
                self.lines.clear();
            }
            return;
        }
        self.balance = needed.min(self.balance + 1);
        if self.lines.len() + line.len() >= self.lines_bytes_max {
            self.lines.clear();
        }
        if line.len() < self.lines_bytes_max {
            self.lines.extend_from_slice(line);
            self.lines.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Majority;

    #[test]
    fn lines_are_whole_and_come_once() {
        let mut majority = Majority::new(100);
        assert_eq!(majority.sample(b""), [b""]);
        assert_eq!(majority.sample(b"only\n"), [b"only"]);
        for _ in 0..100 {
            let lines = majority.sample(b"a\nbb\nccc\n\ndd");
            assert!(lines.iter().all(|line| [&b"a"[..], b"bb", b"ccc", b"", b"dd"].contains(line)));
            assert!(lines.len() <= 4 && !lines.is_empty());
        }
    }

    #[test]
    fn one_in_five_that_fits_is_enough() {
        let mut majority = Majority::new(100);
        for _ in 0..1_000 {
            (0..4).for_each(|_| majority.count(b"other", false, 16));
            majority.count(b"own", true, 16);
            assert!(!majority.is_lost(16));
        }
        for _ in 0..16 {
            (0..5).for_each(|_| majority.count(b"other", false, 16));
            assert!(majority.lines().len() < 100 && majority.lines().ends_with(b"other\n"));
            majority.count(b"own", true, 16);
        }
        (0..4).for_each(|_| majority.count(b"other", false, 16));
        assert!(majority.is_lost(16));
    }
}
