//! Integers as decimal text, two digits at a time.

/// `00` to `99`.
pub(crate) const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

/// Appends `number` in decimal.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, mut number: u32) {
    let mut text = [0_u8; 10];
    let mut start = text.len();
    while number >= 100 {
        start -= 2;
        text[start..start + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        start -= 2;
        text[start..start + 2].copy_from_slice(&PAIRS[number as usize]);
    } else {
        start -= 1;
        text[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&text[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        for number in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345, 1 << 20, u32::MAX] {
            let mut out = Vec::new();
            push(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
