//! Where the quotes and the line feeds of a block are, found in one pass.

mod vector;

use super::Line;

/// The positions of quotes and line feeds.
///
/// Looking for each of them by its own search costs a call and a wrongly guessed branch
/// every time; one pass over the block that compares sixteen bytes at once costs less than
/// two of those searches a line.
#[derive(Debug, Clone, Default)]
pub(crate) struct StructuralIndex {
    /// Of every `"`, in order.
    pub(crate) quotes: Positions,
    /// Of every LF, in order.
    pub(crate) line_feeds: Positions,
}

/// Positions in a block, which is shorter than 4 GiB.
#[derive(Debug, Clone, Default)]
pub(crate) struct Positions {
    /// Longer than `length`, see [`Positions::push`].
    positions: Vec<u32>,
    length: usize,
}

/// A line, and where its quotes are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexedLine<'a> {
    pub(crate) line: Line<'a>,
    /// The positions in the block of the quotes from the line's start on, those of the lines
    /// behind it included.
    quotes: &'a [u32],
}

impl<'a> IndexedLine<'a> {
    /// A line whose quotes are not known.
    pub(crate) fn without_index(line: Line<'a>) -> Self {
        Self { line, quotes: &[] }
    }

    /// Where quote number `index` is, from the line's start; not in the line where it has
    /// fewer.
    #[inline]
    pub(crate) fn quote(&self, index: usize) -> usize {
        let position = self.quotes.get(index).map(|position| *position as usize - self.line.start);
        position.unwrap_or(self.line.bytes.len())
    }
}

/// The lines of a block that was scanned, as [`super::Lines`] gives them.
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
        self.pass_quotes_before(line.start as u32);
        Some(IndexedLine { line, quotes: self.quotes })
    }
}

impl IndexedLines<'_> {
    #[inline]
    fn pass_quotes_before(&mut self, start: u32) {
        // The line before had its usual number, nearly always.
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

const MARKS: [u8; 2] = [b'"', b'\n'];

/// Bytes that one mask tells of.
const CHUNK: usize = 64;

impl StructuralIndex {
    /// Replaces the index by those of `bytes`.
    pub(crate) fn scan(&mut self, bytes: &[u8]) {
        if !vector::scan(self, bytes) {
            self.scan_with(bytes, plain_masks);
        }
    }

    /// The lines of the bytes that were scanned, most of which have so many quotes.
    pub(crate) fn lines<'a>(&'a self, bytes: &'a [u8], usual_quotes: usize) -> IndexedLines<'a> {
        let (line_feeds, quotes) = (self.line_feeds.as_slice(), self.quotes.as_slice());
        IndexedLines { bytes, at: 0, line_feeds, quotes, usual_quotes }
    }

    /// As [`Self::scan`], with the masks that a function gives.
    #[inline(always)]
    fn scan_with(&mut self, bytes: &[u8], masks: impl Fn(&[u8; CHUNK], [u8; 2]) -> [u64; 2]) {
        self.quotes.clear();
        self.line_feeds.clear();
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for (index, chunk) in chunks.iter().enumerate() {
            self.push(masks(chunk, MARKS), (index * CHUNK) as u32);
        }
        // Neither of the two.
        let mut last = [0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.push(masks(&last, MARKS), (chunks.len() * CHUNK) as u32);
    }

    #[inline(always)]
    fn push(&mut self, [quotes, line_feeds]: [u64; 2], start: u32) {
        self.quotes.push::<4>(quotes, start);
        self.line_feeds.push::<1>(line_feeds, start);
    }
}

impl Positions {
    fn clear(&mut self) {
        self.length = 0;
    }

    /// The positions.
    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.positions[..self.length]
    }

    /// Adds the positions that a mask tells of, the lowest bit being `start`.
    ///
    /// A chunk seldom has more than `USUAL` of them, so that many are written whether they
    /// are there or not, and only what is there is counted: no branch to guess.
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

/// A mask for each of two bytes: bit `n` is set where byte `n` of the chunk is that byte.
/// Eight bytes at a time, on any processor.
fn plain_masks(chunk: &[u8; CHUNK], bytes: [u8; 2]) -> [u64; 2] {
    const LOWS: u64 = u64::from_ne_bytes([0x7F; 8]);
    let (eights, _) = chunk.as_chunks::<8>();
    bytes.map(|byte| {
        eights.iter().enumerate().fold(0, |mask, (index, eight)| {
            let difference = u64::from_le_bytes(*eight) ^ u64::from_ne_bytes([byte; 8]);
            // The high bit of each byte that is zero (Warren, Hacker's Delight, 6-1), all of
            // them moved to the highest byte by a product.
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
    fn finds_what_a_search_finds() {
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
    fn gives_the_lines_with_their_quotes() {
        let text = b"a\"b\"\r\n\n\0\0\"\"c\"\n\0\0\n\"\"\"\"\"\"\nd\"";
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
    fn masks_tell_every_byte() {
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
