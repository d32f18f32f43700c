//! The brackets and braces around a place in JSON.

/// The open brackets and braces. Of the innermost 64 it is known which they are.
#[derive(Debug, Default, Clone)]
pub(super) struct Nesting {
    depth: usize,
    /// A bit for each of them, of which the lowest is the innermost: whether it is a bracket.
    lists: u64,
}

impl Nesting {
    /// The number of open brackets and braces.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the innermost is a bracket.
    pub(super) fn is_in_list(&self) -> bool {
        self.lists & 1 == 1
    }

    /// Opens a bracket, or a brace.
    pub(super) fn open(&mut self, byte: u8) {
        self.depth += 1;
        self.lists = self.lists << 1 | u64::from(byte == b'[');
    }

    /// Closes a bracket or a brace, and the brackets inside a brace that were not closed.
    pub(super) fn close(&mut self, byte: u8) {
        if byte == b'}' {
            let brackets = self.lists.trailing_ones() as usize;
            self.cut_to(self.depth.saturating_sub(brackets));
        }
        self.cut_to(self.depth.saturating_sub(1));
    }

    /// Drops what was opened inside of so many brackets and braces.
    pub(super) fn cut_to(&mut self, depth: usize) {
        let dropped = self.depth.saturating_sub(depth);
        self.depth -= dropped;
        let shift = u32::try_from(dropped).unwrap_or(u32::MAX);
        self.lists = self.lists.checked_shr(shift).unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Nesting;

    #[test]
    fn a_brace_closes_the_brackets_inside_of_it() {
        let mut nesting = Nesting::default();
        "[{[[".bytes().for_each(|byte| nesting.open(byte));
        assert!(nesting.is_in_list());
        nesting.close(b'}');
        assert_eq!((nesting.depth(), nesting.is_in_list()), (1, true));
        nesting.close(b'}');
        assert_eq!((nesting.depth(), nesting.is_in_list()), (0, false));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_a_stack(steps in prop::collection::vec(0_u8..3, 0..100)) {
            let (mut nesting, mut stack) = (Nesting::default(), Vec::new());
            for step in steps {
                match (step, stack.last().copied()) {
                    (0, _) => stack.push(b'['),
                    (1, _) => stack.push(b'{'),
                    (_, Some(open)) => {
                        stack.pop();
                        nesting.close(open + 2);
                    }
                    (_, None) => nesting.close(b']'),
                }
                if step < 2 {
                    nesting.open(if step == 0 { b'[' } else { b'{' });
                }
                prop_assert_eq!(nesting.depth(), stack.len());
                // No more than 64 levels are known, and the depth here is less than 100.
                if stack.len() <= 64 {
                    prop_assert_eq!(nesting.is_in_list(), stack.last() == Some(&b'['));
                }
            }
        }
    }
}
