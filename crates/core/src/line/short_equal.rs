//! The comparison of short texts.

/// Compares like `==`, but without a function call and without branches on the length for values of
/// up to 256 bytes, which are nearly all. It compares the first bytes and the last bytes in blocks
/// of equal size, which may overlap.
#[inline]
pub(crate) fn is_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        8..=16 => a.first_chunk::<8>() == b.first_chunk() && a.last_chunk::<8>() == b.last_chunk(),
        17..=32 => is_equal_at_ends::<1>(a, b),
        33..=64 => is_equal_at_ends::<2>(a, b),
        65..=128 => is_equal_at_ends::<4>(a, b),
        129..=256 => is_equal_at_ends::<8>(a, b),
        4..8 => a.first_chunk::<4>() == b.first_chunk() && a.last_chunk::<4>() == b.last_chunk(),
        0..4 => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

/// Returns whether the first `16 * N` bytes and the last `16 * N` bytes are equal. Returns false if
/// a value is shorter than that. All bytes are compared before the only branch.
#[inline]
fn is_equal_at_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    let ends = |value: &[u8]| {
        let (first, last) = (value.as_chunks::<16>().0, value.as_rchunks::<16>().1);
        Some((*first.first_chunk::<N>()?, *last.last_chunk::<N>()?))
    };
    let (Some((a_first, a_last)), Some((b_first, b_last))) = (ends(a), ends(b)) else {
        return false;
    };
    let differing = |a: [[u8; 16]; N], b: [[u8; 16]; N]| {
        let pairs = a.into_iter().zip(b);
        pairs.fold(0, |bits, (a, b)| bits | (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)))
    };
    differing(a_first, b_first) | differing(a_last, b_last) == 0
}

#[cfg(test)]
mod tests {
    use super::is_equal;

    #[test]
    fn equal_is_equal() {
        for length in 0..300 {
            let a: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            assert!(is_equal(&a, &a.clone()));
            for at in 0..a.len() {
                let mut b = a.clone();
                b[at] ^= 0x80;
                assert!(!is_equal(&a, &b), "{length} bytes that differ at {at}");
                assert!(!is_equal(&a, &a[..at]));
            }
        }
    }
}
