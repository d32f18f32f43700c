//! Cutting bytes into pieces, for tests that no chunking changes a result.

/// The pieces between cuts, which are offsets in `bytes` in any order. Offsets after the end
/// count as the end. A repeated cut makes an empty piece, which readers must accept too.
pub fn at_cuts<'b>(bytes: &'b [u8], cuts: &[usize]) -> Vec<&'b [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(bytes.len())).collect();
    cuts.sort_unstable();
    cuts.push(bytes.len());
    let mut start = 0;
    let mut pieces = Vec::with_capacity(cuts.len());
    for cut in cuts {
        pieces.push(&bytes[start..cut]);
        start = cut;
    }
    pieces
}

/// Pieces of `size` bytes; the last may be shorter.
///
/// # Panics
///
/// If `size` is 0.
pub fn of_size(bytes: &[u8], size: usize) -> Vec<&[u8]> {
    bytes.chunks(size).collect()
}

/// Both parts of `bytes` at each offset, including the start and the end.
pub fn at_every_offset(bytes: &[u8]) -> impl Iterator<Item = [&[u8]; 2]> {
    (0..=bytes.len()).map(|cut| [&bytes[..cut], &bytes[cut..]])
}

/// Pieces of 0 to `size_max` bytes, drawn with `seed`. Small pieces are as frequent as large
/// ones.
///
/// # Panics
///
/// If `size_max` is 0.
pub fn of_random_sizes(bytes: &[u8], seed: u64, size_max: usize) -> Vec<&[u8]> {
    assert!(size_max > 0, "size_max must not be 0");
    let mut state = seed;
    let mut rest = bytes;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // The shift by a random number of bits spreads the sizes over all magnitudes.
        let bits = random(&mut state) % 64;
        let size = (random(&mut state) >> bits) as usize % (size_max + 1);
        let (piece, tail) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// SplitMix64 by Sebastiano Vigna, in the public domain, <https://prng.di.unimi.it>.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{at_cuts, at_every_offset, of_random_sizes, of_size};

    #[test]
    fn pieces_concatenate_to_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        assert_eq!(at_cuts(&bytes, &[7, 3, 3, 99_999]).concat(), bytes);
        assert_eq!(of_size(&bytes, 7).concat(), bytes);
        for seed in 0..20 {
            let pieces = of_random_sizes(&bytes, seed, 1 + seed as usize * 50);
            assert_eq!(pieces.concat(), bytes);
            assert_eq!(pieces, of_random_sizes(&bytes, seed, 1 + seed as usize * 50));
        }
        assert_eq!(at_every_offset(b"abc").count(), 4);
        assert!(at_every_offset(b"abc").all(|parts| parts.concat() == b"abc"));
    }

    #[test]
    fn pieces_end_at_the_cuts() {
        assert_eq!(at_cuts(b"abcd", &[3, 1]), [&b"a"[..], b"bc", b"d"]);
        assert_eq!(at_cuts(b"ab", &[1, 1]), [&b"a"[..], b"", b"b"]);
    }
}
