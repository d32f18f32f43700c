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

/// The largest table of a search, in bytes. The engine makes it at once if its automata give up: it has
/// the ends of each group, for each state of a part and two positions of the text.
const TABLE_BYTES_MAX: usize = 64 << 20;

/// The smallest size of a state of a compiled part, in bytes.
const STATE_BYTES_MIN: usize = 24;

/// Why an expression is refused that has too many groups for its size.
pub(crate) const TOO_MANY_GROUPS: &str =
    "its groups take too much memory; write `(?:` for those that are not used";

/// The table of a search for an expression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchTable {
    /// The size for each state of a part, in bytes.
    state_bytes: usize,
}

impl SearchTable {
    pub(crate) fn new(expression: &str) -> Self {
        let is_group = |inside: &&str| {
            let named = inside.strip_prefix("?P<").or_else(|| inside.strip_prefix("?<"));
            let named = named.or_else(|| inside.strip_prefix("?'"));
            named.map_or(!inside.starts_with('?'), |name| !name.starts_with(['=', '!']))
        };
        let groups_max = 1 + expression.split('(').skip(1).filter(is_group).count();
        Self { state_bytes: 2 * size_of::<usize>() * (2 * groups_max + 1) }
    }

    /// The largest size of a part whose table stays within bounds, in bytes.
    pub(crate) fn program_bytes_max(self) -> usize {
        TABLE_BYTES_MAX / self.state_bytes * STATE_BYTES_MIN
    }

    /// The most memory of the table, in bytes, given the most of a part.
    pub(crate) fn bytes_max(self, program_bytes: usize) -> usize {
        program_bytes / STATE_BYTES_MIN * self.state_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{SearchTable, parts_max};

    #[test]
    fn many_groups_leave_little_room_for_states() {
        for (text, groups) in [
            ("", 0),
            (r"(a)(?:b)(?<c>d)(?P<e>f)(?'g'h)(?i:j)(?=k)(?!l)(?<=m)(?<!n)(?>o)", 4),
            (&"(a)?".repeat(8000), 8000),
        ] {
            let table = SearchTable::new(text);
            assert_eq!(table.state_bytes, 16 * (2 * (groups + 1) + 1), "{text}");
            let bytes = table.program_bytes_max();
            assert!(table.bytes_max(bytes) <= super::TABLE_BYTES_MAX, "{text}");
        }
        assert!(SearchTable::new("((((((((((").program_bytes_max() >= 4 << 20);
        assert!(SearchTable::new(&"(a)?".repeat(8000)).program_bytes_max() < 8 << 10);
    }

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
