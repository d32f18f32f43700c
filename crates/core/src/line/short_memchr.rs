//! The search for a byte that is usually found after a few bytes.
//!
//! memchr compares 16 to 32 bytes at once, but each call first selects a version for the processor
//! and handles unaligned ends. Fields of a log such as addresses, statuses and sizes are too short
//! to be worth that. So the first sixteen bytes are compared here, as two words of eight in general
//! registers, and the general search does the rest.

use memchr::memchr;

/// Returns the same as memchr. Faster if the byte is among the first sixteen, as in addresses,
/// statuses and sizes, where the call of the general search costs more than the search.
///
/// Returns the offset of the first such byte; `None` if there is none, as for empty `bytes`. The
/// words are read as little-endian numbers, so the lowest byte of a word is the first in memory on
/// every processor.
#[inline]
pub(crate) fn short_memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let mut at = 0;
    for _ in 0..2 {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { break };
        // A matching byte is 0 in the difference. In `found` the lowest such byte has its high
        // bit set (Warren, Hacker's Delight, 6-1).
        let difference = u64::from_le_bytes(*word) ^ (ONES * u64::from(byte));
        let found = difference.wrapping_sub(ONES) & !difference & HIGHS;
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr(byte, &bytes[at..]).map(|length| at + length)
}

#[cfg(test)]
mod tests {
    use super::short_memchr;

    #[test]
    fn the_result_is_that_of_memchr() {
        let bytes: Vec<u8> = (0..100u8).chain([0x20, 0x21, 0x80, 0xFF, 0x20]).collect();
        for start in 0..bytes.len() {
            for byte in [0, 1, 5, 0x1F, 0x20, 0x21, 99, 0x80, 0x81, 0xFF] {
                let rest = &bytes[start..];
                assert_eq!(
                    short_memchr(byte, rest),
                    memchr::memchr(byte, rest),
                    "{byte} from {start}"
                );
            }
        }
    }
}
