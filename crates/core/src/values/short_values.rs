//! Values of few bytes as numbers.

/// Packs the bytes of a value of up to eight. The result is unique among values of one length.
#[inline]
pub(super) fn word(value: &[u8]) -> Option<u64> {
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk())
        && value.len() <= 8
    {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return Some(u64::from(first) | u64::from(last) << 32);
    }
    match *value {
        [] => Some(0),
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_le_bytes([a, b]))),
        [a, b, c] => Some(u64::from(u32::from_le_bytes([a, b, c, 0]))),
        _ => None,
    }
}
