//! Numbers that begin at any bit.

/// Returns the number of up to 64 bits that begins at a bit of the bytes, the lowest first; `None`
/// if the bytes end before it.
#[inline]
pub(crate) fn bits_at(bytes: &[u8], bit: usize, width: u32) -> Option<u64> {
    if width == 0 {
        return Some(0);
    }
    let (first, shift) = (bit / 8, bit % 8);
    let mask = u64::MAX >> (64 - width);
    if shift + width as usize <= 64
        && let Some(word) = bytes.get(first..).and_then(<[u8]>::first_chunk)
    {
        return Some(u64::from_le_bytes(*word) >> shift & mask);
    }
    let last = bit.checked_add(width as usize)?.div_ceil(8);
    let bytes = bytes.get(first..last)?;
    let number = bytes.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    Some((number >> shift) as u64 & mask)
}

#[cfg(test)]
mod tests {
    use super::bits_at;

    #[test]
    fn numbers_are_those_of_their_bits() {
        let bytes: Vec<u8> = (0u32..24).map(|byte| (byte * 37 + 11) as u8).collect();
        let is_set = |bit: usize| bytes[bit / 8] >> (bit % 8) & 1 == 1;
        for width in 0..=64 {
            for bit in 0..bytes.len() * 8 {
                let end = bit + width as usize;
                let expected = (end <= bytes.len() * 8).then(|| {
                    (bit..end).rev().fold(0, |number, bit| number << 1 | u64::from(is_set(bit)))
                });
                assert_eq!(bits_at(&bytes, bit, width), expected.or((width == 0).then_some(0)));
            }
        }
    }
}
