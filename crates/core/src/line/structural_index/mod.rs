//! The structural index of a block: the positions of its quotes and line feeds, found in one
//! pass. The name and the idea are those of simdjson (Langdale and Lemire, "Parsing Gigabytes
//! of JSON per Second").
//!
//! It is the result of this loop:
//!
//! ```text
//! for (position, byte) in block:
//!     if byte == '"':  quotes.push(position)
//!     if byte == '\n': line_feeds.push(position)
//! ```
//!
//! The code differs from it in three ways:
//!
//! 1. It compares 64 bytes at a time with each of the two bytes, which yields two masks with a bit
//!    per byte: with AVX2 if the processor has it, otherwise eight bytes at a time in general
//!    registers.
//! 2. It reads the positions from a mask by its lowest set bit. It always writes the usual number
//!    of positions, four quotes and one line feed, and then advances by the true number. A loop
//!    over the true number would end at a branch that cannot be predicted.
//! 3. The last bytes of the block are padded to 64 with zeros, which are neither of the two bytes.
//!
//! Positions are 32 bits wide, so a block must be shorter than 4 GiB; one position costs four
//! bytes, and the index of a block of 1 MiB of combined lines (six quotes and a line feed in about
//! 200 bytes) takes about 150 kB, or up to twice that with spare room. The index is kept for the
//! next block, and so allocates only while it grows.
//!
//! Quotes are indexed without regard to escapes: `\"` is a quote too. A format decides whether the
//! quotes of a line are in the expected places, and reads the line in another way if they are not.

mod vector;

use super::Line;

/// The positions of quotes and line feeds in a block.
///
/// A search for each of them costs a call and a mispredicted branch. One pass over the block
/// that compares many bytes at once costs less than two such searches per line.
///
/// Both lists belong to the bytes of the last [`Self::scan`]. A line must not be looked up with the
/// index of another block.
#[derive(Debug, Clone, Default)]
pub(crate) struct StructuralIndex {
    /// The position of every `"`, in order.
    pub(crate) quotes: Positions,
    /// The position of every LF, in order.
    pub(crate) line_feeds: Positions,
}

/// Positions in a block, which is shorter than 4 GiB.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions {
    /// At least `length` long; see [`Positions::push`].
    positions: Vec<u32>,
    length: usize,
}

/// A line and the positions of its quotes.
///
/// The quotes are relative to the block and end with it, not with the line: cutting them off for
/// each line would cost a search, and a parser stops at the end of the line anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedLine<'a> {
    pub(crate) line: Line<'a>,
    /// The positions in the block of all quotes from the line's start on, those of later lines
    /// included.
    quotes: &'a [u32],
}

impl<'a> IndexedLine<'a> {
    /// A line without positions of quotes.
    pub(crate) fn without_index(line: Line<'a>) -> Self {
        Self { line, quotes: &[] }
    }

    /// The offset of quote number `index` in the line. If the line has fewer quotes, the result
    /// is not an offset in the line.
    #[inline]
    pub(crate) fn quote(&self, index: usize) -> usize {
        let position = self.quotes.get(index).map(|position| *position as usize - self.line.start);
        position.unwrap_or(self.line.bytes.len())
    }
}

/// The same lines as those of [`super::Lines`], with the positions of their quotes.
///
/// Each item costs two steps in the lists of positions instead of a search. `usual_quotes` is the
/// number of quotes in a line of the format: the iterator skips that many at once and then tests
/// whether it was right, so a line with more or fewer costs a short loop and is never read wrongly.
#[derive(Debug)]
pub(crate) struct IndexedLines<'a> {
    bytes: &'a [u8],
    at: usize,
    line_feeds: &'a [u32],
    quotes: &'a [u32],
    usual_quotes: usize,
}

impl<'a> Iterator for IndexedLines<'a> {
    type Item = IndexedLine<'a>;

    #[inline]
    fn next(&mut self) -> Option<IndexedLine<'a>> {
        let start = self.at;
        let end = match self.line_feeds.split_first() {
            Some((end, rest)) => {
                self.line_feeds = rest;
                *end as usize
            }
            None if start < self.bytes.len() => self.bytes.len(),
            None => return None,
        };
        self.at = end + 1;
        let line = Line::between(self.bytes, start, end)?;
        self.skip_quotes_before(line.start as u32);
        Some(IndexedLine { line, quotes: self.quotes })
    }
}

impl IndexedLines<'_> {
    /// Drops the quotes of the lines before `start`.
    #[inline]
    fn skip_quotes_before(&mut self, start: u32) {
        // The line before nearly always has the usual number of quotes.
        if let Some(last) = self.usual_quotes.checked_sub(1)
            && self.quotes.get(last).is_some_and(|position| *position < start)
        {
            self.quotes = &self.quotes[self.usual_quotes..];
        }
        while let Some((position, rest)) = self.quotes.split_first()
            && *position < start
        {
            self.quotes = rest;
        }
    }
}

/// The bytes whose positions are indexed.
const INDEXED_BYTES: [u8; 2] = [b'"', b'\n'];

/// The number of bytes that one mask describes.
///
/// 64 is the number of bits in a word, and two AVX2 registers.
const CHUNK: usize = 64;

impl StructuralIndex {
    /// Replaces the index by that of `bytes`.
    pub(crate) fn scan(&mut self, bytes: &[u8]) {
        if !vector::scan(self, bytes) {
            self.scan_with(bytes, plain_masks);
        }
    }

    /// The lines of the scanned `bytes`. Most of them have `usual_quotes` quotes.
    pub(crate) fn lines<'a>(&'a self, bytes: &'a [u8], usual_quotes: usize) -> IndexedLines<'a> {
        let (line_feeds, quotes) = (self.line_feeds.as_slice(), self.quotes.as_slice());
        IndexedLines { bytes, at: 0, line_feeds, quotes, usual_quotes }
    }

    /// Does what [`Self::scan`] does, with masks from the function `masks`.
    ///
    /// A parameter instead of a branch: each version of `masks` is compiled together with the loop,
    /// so that its masks stay in registers.
    #[inline(always)]
    fn scan_with(&mut self, bytes: &[u8], masks: impl Fn(&[u8; CHUNK], [u8; 2]) -> [u64; 2]) {
        self.quotes.clear();
        self.line_feeds.clear();
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for (index, chunk) in chunks.iter().enumerate() {
            self.push(masks(chunk, INDEXED_BYTES), (index * CHUNK) as u32);
        }
        // The padding is neither a quote nor a line feed.
        let mut last = [0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.push(masks(&last, INDEXED_BYTES), (chunks.len() * CHUNK) as u32);
    }

    /// Adds the positions of one chunk, which begins at `start`.
    #[inline(always)]
    fn push(&mut self, [quotes, line_feeds]: [u64; 2], start: u32) {
        self.quotes.push::<4>(quotes, start);
        self.line_feeds.push::<1>(line_feeds, start);
    }
}

impl Positions {
    /// Removes all positions and keeps the memory.
    fn clear(&mut self) {
        self.length = 0;
    }

    /// The positions.
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.positions[..self.length]
    }

    /// Adds the positions of the set bits of a mask whose lowest bit is at `start`.
    ///
    /// A chunk seldom has more than `USUAL` of them. So `USUAL` positions are always written,
    /// and `length` grows only by the actual count: there is no branch to mispredict.
    #[inline(always)]
    fn push<const USUAL: usize>(&mut self, mut mask: u64, start: u32) {
        if self.positions.len() < self.length + CHUNK {
            self.positions.resize((self.length + CHUNK) * 2, 0);
        }
        let count = mask.count_ones() as usize;
        let positions = &mut self.positions[self.length..self.length + CHUNK];
        for position in &mut positions[..USUAL] {
            *position = start + mask.trailing_zeros();
            mask &= mask.wrapping_sub(1);
        }
        if mask != 0 {
            for position in &mut positions[USUAL..count] {
                *position = start + mask.trailing_zeros();
                mask &= mask.wrapping_sub(1);
            }
        }
        self.length += count;
    }
}

/// A mask for each of two bytes: bit `n` is set if byte `n` of the chunk is that byte. Compares
/// eight bytes at a time, on any processor.
fn plain_masks(chunk: &[u8; CHUNK], bytes: [u8; 2]) -> [u64; 2] {
    const LOWS: u64 = u64::from_ne_bytes([0x7F; 8]);
    let (eights, _) = chunk.as_chunks::<8>();
    bytes.map(|byte| {
        eights.iter().enumerate().fold(0, |mask, (index, eight)| {
            let difference = u64::from_le_bytes(*eight) ^ u64::from_ne_bytes([byte; 8]);
            // `zero` has the high bit of each zero byte (Warren, Hacker's Delight, 6-1). The
            // product moves these bits to the highest byte.
            let zero = !(((difference & LOWS) + LOWS) | difference | LOWS);
            mask | ((zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (index * 8)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, IndexedLine, StructuralIndex, plain_masks, vector};
    use crate::line::{Line, Lines};

    fn positions(bytes: &[u8], byte: u8) -> Vec<u32> {
        memchr::memchr_iter(byte, bytes).map(|position| position as u32).collect()
    }

    #[test]
    fn positions_are_those_of_a_search() {
        let bytes: Vec<u8> = (0..2_000u32)
            .map(|n| match n.wrapping_mul(n) % 11 {
                0 | 3 => b'"',
                5 => b'\n',
                _ => (n % 251) as u8,
            })
            .chain([b'"'; 150])
            .chain([b'\n'; 150])
            .collect();
        let mut index = StructuralIndex::default();
        for length in (0..bytes.len()).rev() {
            let bytes = &bytes[length / 2..length];
            for vector in [false, true] {
                if !vector {
                    index.scan_with(bytes, plain_masks);
                } else if !vector::scan(&mut index, bytes) {
                    continue;
                }
                assert_eq!(index.quotes.as_slice(), positions(bytes, b'"'));
                assert_eq!(index.line_feeds.as_slice(), positions(bytes, b'\n'));
            }
        }
    }

    #[test]
    fn lines_have_their_quotes() {
        let text = b"\xEF\xBB\xBFa\"b\"\r\n\n\0\0\"\"c\"\n\0\0\n\"\"\"\"\"\"\nd\"";
        let mut index = StructuralIndex::default();
        for length in 0..=text.len() {
            let text = &text[..length];
            index.scan(text);
            for usual in 0..4 {
                let indexed: Vec<IndexedLine<'_>> = index.lines(text, usual).collect();
                let lines: Vec<Line<'_>> = indexed.iter().map(|indexed| indexed.line).collect();
                assert_eq!(lines, Lines::new(text).collect::<Vec<_>>());
                for indexed in indexed {
                    let bytes = indexed.line.bytes;
                    let quotes = memchr::memchr_iter(b'"', bytes);
                    let found = (0..).map(|index| indexed.quote(index));
                    let found = found.take_while(|position| *position < bytes.len());
                    assert_eq!(found.collect::<Vec<_>>(), quotes.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn masks_have_every_byte() {
        for byte in 0..=255u8 {
            let chunk: [u8; CHUNK] =
                std::array::from_fn(|at| if at % 5 == 2 { byte } else { at as u8 * 4 });
            for other in [byte, byte ^ 1, byte ^ 0x80, byte.wrapping_add(1)] {
                let expected = [byte, other].map(|byte| {
                    let bit = |at: usize| u64::from(chunk[at] == byte) << at;
                    (0..CHUNK).fold(0, |mask, at| mask | bit(at))
                });
                assert_eq!(plain_masks(&chunk, [byte, other]), expected);
            }
        }
    }
}
