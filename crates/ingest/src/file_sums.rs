//! Sums of the bytes that a source was read from, by which its lines are recognised when they are
//! read again.
//!
//! A log that is written again in place keeps its identity, and its lines may keep their lengths.
//! Sizes and times of files do not tell, because a log grows. So the bytes of a source are summed in
//! chunks, and a chunk is compared before one of its lines is used.

use std::collections::VecDeque;

/// The bytes of a chunk. A line that is read again costs reading this much.
const CHUNK_BYTES: u64 = 128 << 10;

/// The most chunks that a source keeps: 24 MiB for 128 GiB. The lines of older ones cannot be read
/// again.
const CHUNKS_MAX: usize = 1 << 20;

/// The sums of a source, in the order of its bytes.
#[derive(Debug, Default)]
pub(crate) struct FileSums {
    /// Chunks that follow one another. The last one may grow.
    chunks: VecDeque<SummedChunk>,
    /// The sum of the last chunk so far.
    current: ByteSum,
    /// The end of the last chunk.
    end: u64,
    /// Where the bytes end that the file has; what follows is not in it.
    limit: Option<u64>,
}

/// Bytes of a source with their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SummedChunk {
    /// The offset of its first byte.
    start: u64,
    length: usize,
    sum: u64,
}

/// Bytes of a file whose sum is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileChunk {
    /// The offset of the first byte in the file.
    pub(crate) start: u64,
    pub(crate) length: usize,
    sum: u64,
}

impl FileChunk {
    /// Whether these bytes are those of the chunk.
    pub(crate) fn is_sum_of(&self, bytes: &[u8]) -> bool {
        let mut sum = ByteSum::default();
        sum.update(bytes);
        bytes.len() == self.length && sum.value() == self.sum
    }
}

impl FileSums {
    /// Begins a part that is read from another place in a file, or from another file.
    pub(crate) fn begin_part(&mut self, start: u64) {
        self.limit = None;
        self.end_chunk();
        self.begin_chunk(start);
    }

    /// Records that the file has no bytes of the source from an offset on, until the next part.
    pub(crate) fn end_part(&mut self, end: u64) {
        self.limit = Some(end);
    }

    /// Adds the bytes of the source at an offset.
    pub(crate) fn add(&mut self, offset: u64, mut bytes: &[u8]) {
        if let Some(limit) = self.limit {
            let room = usize::try_from(limit.saturating_sub(offset)).unwrap_or(usize::MAX);
            bytes = &bytes[..bytes.len().min(room)];
        }
        if offset != self.end {
            self.end_chunk();
            self.begin_chunk(offset);
        }
        while !bytes.is_empty() {
            let start = self.chunks.back().map_or(self.end, |chunk| chunk.start);
            let room = (CHUNK_BYTES - (self.end - start)) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.current.update(now);
            self.end += now.len() as u64;
            bytes = later;
            if self.end - start == CHUNK_BYTES {
                self.end_chunk();
                self.begin_chunk(self.end);
            }
        }
    }

    fn begin_chunk(&mut self, start: u64) {
        self.end = start;
        self.chunks.push_back(SummedChunk { start, length: 0, sum: 0 });
        if self.chunks.len() > CHUNKS_MAX {
            self.chunks.pop_front();
        }
    }

    fn end_chunk(&mut self) {
        let current = std::mem::take(&mut self.current);
        if let Some(last) = self.chunks.back_mut() {
            (last.length, last.sum) = (current.length as usize, current.value());
        }
    }

    /// Returns the chunks with the bytes of the source between two offsets, for a file in which the
    /// byte at `part_start` of the source is the one at `file_start`. Chunks that begin before the
    /// part are of another file.
    pub(crate) fn chunks(
        &self,
        (start, end): (u64, u64),
        (part_start, file_start): (u64, u64),
    ) -> Vec<FileChunk> {
        let first = self.chunks.partition_point(|chunk| chunk.start <= start).saturating_sub(1);
        let mut chunks = Vec::new();
        for at in first..self.chunks.len() {
            let SummedChunk { start: from, mut length, mut sum } = self.chunks[at];
            if from >= end {
                break;
            }
            if at + 1 == self.chunks.len() {
                (length, sum) = (self.current.length as usize, self.current.value());
            }
            if from >= part_start && length > 0 {
                chunks.push(FileChunk { start: file_start + (from - part_start), length, sum });
            }
        }
        chunks
    }
}

/// A sum of bytes that arrive in pieces: of 64 bits, so that other bytes have the same sum by
/// chance once in 2^64 chunks. It does not resist people who look for such bytes.
///
/// Four products in parallel, because the reader of a file must not wait for it:
///
/// ```text
/// for each 32 bytes: lane[i] = fold(lane[i] ^ word[i], MULTIPLIER[i])
/// fold(a, b) = the upper half of a * b, xor the lower half
/// ```
#[derive(Debug, Clone)]
struct ByteSum {
    lanes: [u64; 4],
    /// The bytes after the last full stripe.
    rest: [u8; STRIPE_BYTES],
    rest_bytes: usize,
    length: u64,
}

const STRIPE_BYTES: usize = 32;

/// Odd numbers with mixed bits: the fractions of the square roots of 2, 3, 5 and 7.
const MULTIPLIERS: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

impl Default for ByteSum {
    fn default() -> Self {
        let lanes = MULTIPLIERS.map(u64::swap_bytes);
        Self { lanes, rest: [0; STRIPE_BYTES], rest_bytes: 0, length: 0 }
    }
}

impl ByteSum {
    fn update(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.rest_bytes > 0 {
            let room = bytes.len().min(STRIPE_BYTES - self.rest_bytes);
            let (now, later) = bytes.split_at(room);
            self.rest[self.rest_bytes..][..room].copy_from_slice(now);
            self.rest_bytes += room;
            bytes = later;
            if self.rest_bytes < STRIPE_BYTES {
                return;
            }
            self.rest_bytes = 0;
            let stripe = self.rest;
            mix(&mut self.lanes, &stripe);
        }
        let (stripes, rest) = bytes.as_chunks::<STRIPE_BYTES>();
        let mut lanes = self.lanes;
        for stripe in stripes {
            mix(&mut lanes, stripe);
        }
        self.lanes = lanes;
        self.rest[..rest.len()].copy_from_slice(rest);
        self.rest_bytes = rest.len();
    }

    fn value(&self) -> u64 {
        let (mut lanes, mut rest) = (self.lanes, self.rest);
        rest[self.rest_bytes..].fill(0);
        mix(&mut lanes, &rest);
        let joined = lanes.iter().zip(MULTIPLIERS).fold(self.length, |sum, (lane, multiplier)| {
            fold(sum ^ lane.rotate_left(23), multiplier)
        });
        fold(joined, MULTIPLIERS[0])
    }
}

#[inline]
fn mix(lanes: &mut [u64; 4], stripe: &[u8; STRIPE_BYTES]) {
    let (words, _) = stripe.as_chunks::<8>();
    for ((lane, word), multiplier) in lanes.iter_mut().zip(words).zip(MULTIPLIERS) {
        *lane = fold(*lane ^ u64::from_le_bytes(*word), multiplier);
    }
}

#[inline]
fn fold(number: u64, multiplier: u64) -> u64 {
    let product = u128::from(number) * u128::from(multiplier);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::{ByteSum, CHUNK_BYTES, FileSums};

    fn sum(pieces: &[&[u8]]) -> u64 {
        let mut sum = ByteSum::default();
        pieces.iter().for_each(|piece| sum.update(piece));
        sum.value()
    }

    #[test]
    fn a_sum_does_not_depend_on_the_pieces_but_on_each_bit() {
        let bytes: Vec<u8> = (0..200_u32).map(|number| ((number * 37) >> 2) as u8).collect();
        let whole = sum(&[&bytes]);
        for at in 0..bytes.len() {
            assert_eq!(sum(&[&bytes[..at], &bytes[at..]]), whole, "{at}");
            assert_ne!(sum(&[&bytes[..at]]), whole, "{at}");
            let mut other = bytes.clone();
            for bit in 0..8 {
                other[at] = bytes[at] ^ 1 << bit;
                assert_ne!(sum(&[&other]), whole, "{at} {bit}");
            }
            other[at] = bytes[at];
            other.rotate_left(1);
            assert_ne!(sum(&[&other]), whole);
        }
        assert_ne!(sum(&[&[0; 32]]), sum(&[&[0; 33]]));
    }

    #[test]
    fn chunks_cover_the_bytes_of_their_part() {
        let bytes = vec![7_u8; 3 * CHUNK_BYTES as usize];
        let mut sums = FileSums::default();
        sums.begin_part(0);
        sums.add(0, &bytes[..1_000]);
        sums.begin_part(1_000);
        for (number, piece) in bytes.chunks(10_007).enumerate() {
            sums.add(1_000 + 10_007 * number as u64, piece);
        }
        let end = 1_000 + bytes.len() as u64;
        // The first part is of another file.
        let all = sums.chunks((0, end), (1_000, 50));
        assert_eq!(all.len(), 3);
        assert_eq!((all[0].start, all[2].start), (50, 50 + 2 * CHUNK_BYTES));
        assert!(all.iter().all(|chunk| chunk.is_sum_of(&bytes[..CHUNK_BYTES as usize])));
        let mut other = bytes[..CHUNK_BYTES as usize].to_vec();
        other[77] ^= 1;
        assert!(!all[1].is_sum_of(&other) && !all[1].is_sum_of(&other[1..]));
        let one = sums.chunks((end - 10, end), (1_000, 50));
        assert_eq!(one, all[2..]);
        // A line feed that the file does not have.
        sums.end_part(end + 5);
        sums.add(end, b"12345\n");
        let last = sums.chunks((end, end + 6), (1_000, 50));
        assert!(last.len() == 1 && last[0].is_sum_of(b"12345"));
    }
}
