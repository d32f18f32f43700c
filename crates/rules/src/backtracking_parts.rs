//! The parts of an expression that backtracks, which its engine compiles apart.

/// The largest cache of a part, in bytes, in each direction. Parts are small, and their engine does not
/// tell the size of their caches.
pub(crate) const PART_CACHE_BYTES_MAX: usize = 16 << 10;

/// Returns the most parts of an expression that the engine compiles apart: those around each group
/// that looks around, is atomic or has a condition, and around each reference to a group.
pub(crate) fn parts_max(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_divider = |at: &usize| {
        matches!(
            &bytes[*at..],
            [b'(', b'?', b'=' | b'!' | b'>' | b'(', ..]
                | [b'(', b'?', b'<', b'=' | b'!', ..]
                | [b'\\', b'1'..=b'9', ..]
        )
    };
    1 + 2 * (0..bytes.len()).filter(is_divider).count()
}

#[cfg(test)]
mod tests {
    use super::parts_max;

    #[test]
    fn groups_that_look_around_and_references_divide_an_expression() {
        for (text, parts) in [
            ("", 1),
            (r"(?:a)(?P<x>b)(?i:c)(?<y>d)\d\(?=", 3),
            (r"(?=a)(?!b)(?<=c)(?<!d)", 9),
            (r"(a)\1(?>b)(?(1)c|d)", 7),
        ] {
            assert_eq!(parts_max(text), parts, "{text}");
        }
    }
}
