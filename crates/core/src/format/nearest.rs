//! Known formats whose names resemble a text.

use super::catalog::known_formats;
use super::compiled::Format;

/// A longer text is a definition, not a name.
const NAME_BYTES_MAX: usize = 24;
/// The number of names that are suggested.
const NAMES_MAX: usize = 3;

/// The names that differ least from `text`, if they differ by a third of their letters at most.
/// Nearest first, three at most.
pub(super) fn nearest_names(text: &str) -> Vec<&'static str> {
    let text = text.trim().to_ascii_uppercase();
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        return Vec::new();
    }
    let near = |format: &'static Format| {
        let distance = distance(text.as_bytes(), format.name().as_bytes());
        (distance * 3 <= text.len().max(format.name().len())).then(|| (distance, format.name()))
    };
    let mut names: Vec<_> = known_formats().iter().filter_map(near).collect();
    // The sort is stable.
    names.sort_by_key(|(distance, _)| *distance);
    names.into_iter().map(|(_, name)| name).take(NAMES_MAX).collect()
}

/// The number of bytes to insert, remove, replace or swap with their neighbour that makes one text
/// the other (optimal string alignment).
fn distance(one: &[u8], other: &[u8]) -> usize {
    let width = other.len() + 1;
    let mut rows = vec![0; (one.len() + 1) * width];
    for (index, cell) in rows.iter_mut().enumerate().take(width) {
        *cell = index;
    }
    for (row, byte) in (1..).zip(one) {
        rows[row * width] = row;
        for (column, with) in (1..).zip(other) {
            let at = row * width + column;
            let replaced = rows[at - width - 1] + usize::from(byte != with);
            let mut least = replaced.min(rows[at - width] + 1).min(rows[at - 1] + 1);
            let is_swapped =
                row > 1 && column > 1 && *byte == other[column - 2] && one[row - 2] == *with;
            if is_swapped {
                least = least.min(rows[at - 2 * width - 2] + 1);
            }
            rows[at] = least;
        }
    }
    rows[one.len() * width + other.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest_names};

    #[test]
    fn distances() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("COMBIND", "COMBINED", 1),
            ("COMIBNED", "COMBINED", 1),
            ("HAPROXI", "HAPROXY", 1),
            ("ab", "ba", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
            assert_eq!(distance(other.as_bytes(), one.as_bytes()), expected, "{other} {one}");
        }
    }

    #[test]
    fn names_that_resemble() {
        assert_eq!(nearest_names("combind")[0], "COMBINED");
        assert_eq!(nearest_names("COMBIND")[..2], ["COMBINED", "VCOMBINED"]);
        assert_eq!(nearest_names("nginx-error")[0], "NGINXERROR");
        assert_eq!(nearest_names("elephant"), [""; 0]);
        assert_eq!(nearest_names(""), [""; 0]);
        assert_eq!(nearest_names(&"COMBINED".repeat(100)), [""; 0]);
    }
}
