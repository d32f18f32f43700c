//! Estimates from a few lines of each block whether most lines of a feed match its format.
//!
//! The balance is that of a ballot: a line that does not match adds one, a line that matches takes
//! four. It stays near zero while more than a fifth of the lines match, and otherwise grows by a
//! line or more with each block. Its value is bounded by what is needed for a decision, so that a
//! change back is noticed as quickly.
//!
//! Lines are chosen at random, with a seed that no sender knows: otherwise a sender could place its
//! lines where they are looked at. Choosing costs two searches for line feeds over the block and
//! allocates a few words.

use std::hash::{BuildHasher, RandomState};
use std::iter::once;

use memchr::{memchr, memchr_iter};

/// Lines that are sampled of each block.
const SAMPLES: u64 = 4;

/// A matching line outweighs this many others.
const PARSED_WEIGHT: usize = 4;

/// Samples lines of each block. Its balance grows while fewer than one line in five matches.
///
/// A run of lines that do not match shows a new format sooner. But each matching line ends a run,
/// so one sender in fifty could keep the old format for the other forty-nine.
#[derive(Debug)]
pub(super) struct MismatchSampler {
    /// Lines that do not match, less those that matching lines outweigh.
    balance: usize,
    /// The last lines that did not match, with their line feeds.
    lines: Vec<u8>,
    lines_bytes_max: usize,
    /// Chooses the lines, so that no sender can know which ones are sampled.
    random: RandomState,
    blocks: u64,
}

impl MismatchSampler {
    /// A sampler that keeps fewer than `lines_bytes_max` bytes of lines that do not match.
    pub(super) fn new(lines_bytes_max: usize) -> Self {
        let random = RandomState::new();
        Self { balance: 0, lines: Vec::new(), lines_bytes_max, random, blocks: 0 }
    }

    /// Whether the balance has reached `needed` lines.
    pub(super) fn has_majority(&self, needed: usize) -> bool {
        self.balance >= needed
    }

    /// The last lines that did not match, with their line feeds.
    pub(super) fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Chooses lines of a block, without their line feeds. Each line is equally likely, whatever
    /// its length, and none is chosen twice.
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

    /// Counts a sampled line. The balance does not grow beyond `needed`.
    pub(super) fn count(&mut self, line: &[u8], is_parsed: bool, needed: usize) {
        if is_parsed {
            self.balance = self.balance.saturating_sub(PARSED_WEIGHT);
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
    use super::MismatchSampler;

    #[test]
    fn samples_are_whole_lines_and_distinct() {
        let mut sampler = MismatchSampler::new(100);
        assert_eq!(sampler.sample(b""), [b""]);
        assert_eq!(sampler.sample(b"only\n"), [b"only"]);
        for _ in 0..100 {
            let lines = sampler.sample(b"a\nbb\nccc\n\ndd");
            assert!(lines.iter().all(|line| [&b"a"[..], b"bb", b"ccc", b"", b"dd"].contains(line)));
            assert!(lines.len() <= 4 && !lines.is_empty());
        }
    }

    #[test]
    fn one_fitting_line_in_five_is_enough() {
        let mut sampler = MismatchSampler::new(100);
        for _ in 0..1_000 {
            (0..4).for_each(|_| sampler.count(b"other", false, 16));
            sampler.count(b"own", true, 16);
            assert!(!sampler.has_majority(16));
        }
        for _ in 0..16 {
            (0..5).for_each(|_| sampler.count(b"other", false, 16));
            assert!(sampler.lines().len() < 100 && sampler.lines().ends_with(b"other\n"));
            sampler.count(b"own", true, 16);
        }
        (0..4).for_each(|_| sampler.count(b"other", false, 16));
        assert!(sampler.has_majority(16));
    }
}
