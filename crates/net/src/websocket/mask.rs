//! Masking (RFC 6455 section 5.3), which is its own inverse.

/// Applies the mask of a frame to a piece of its payload that starts at `offset` in it.
///
/// The simple version, byte `i` of the payload xor byte `i % 4` of the key:
///
/// ```text
/// for (i, byte) in bytes.iter_mut().enumerate() {
///     *byte ^= key[(offset + i) % 4];
/// }
/// ```
///
/// This version departs from it in two ways:
///
/// 1. The key is rotated once to the start of the piece.
/// 2. The loop works on words of eight bytes, two keys long, which the compiler turns into vector
///    instructions. Key and words are in the machine's byte order, so it cancels out.
pub(crate) fn apply(bytes: &mut [u8], mut key: [u8; 4], offset: u64) {
    key.rotate_left((offset % 4) as usize);
    let [a, b, c, d] = key;
    let word_key = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ word_key).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip([a, b, c, d, a, b, c]) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(bytes: &mut [u8], key: [u8; 4], offset: u64) {
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte ^= key[((offset + i as u64) % 4) as usize];
        }
    }

    #[test]
    fn agrees_with_the_simple_version_at_every_phase_length_and_alignment() {
        let key = [0x12, 0x34, 0x56, 0x78];
        let source: Vec<u8> = (0..=255).cycle().take(300).collect();
        for offset in 0..9 {
            for start in 0..9 {
                for length in (0..70).chain([255, 256, 257]) {
                    let mut fast = source.clone();
                    let mut slow = source.clone();
                    apply(&mut fast[start..start + length], key, offset);
                    naive(&mut slow[start..start + length], key, offset);
                    assert_eq!(fast, slow, "offset {offset}, start {start}, length {length}");
                }
            }
        }
    }
}
