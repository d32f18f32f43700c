//! The search for a byte that is near.

use memchr::memchr;

/// As memchr, for a byte that is nearly always among the first sixteen: addresses, status
/// and sizes are short, and the call of the general search costs more than the search.
#[inline]
pub(crate) fn short_memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let mut at = 0;
    for _ in 0..2 {
        let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else { break };
        // A byte of the difference is 0 where it is the one; the lowest such byte gets its
        // high bit set here (Warren, Hacker's Delight, 6-1).
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
    fn finds_as_memchr_does() {
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
