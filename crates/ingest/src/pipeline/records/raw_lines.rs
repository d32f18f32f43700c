//! The lines of a block as they are in the log.

use memchr::memchr;
use weir_core::leading_nuls;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a block with the offset of each, without line feeds. They are those of
/// [`weir_core::Lines`], but keep a byte order mark and a CR.
#[derive(Debug, Clone)]
pub(super) struct RawLines<'a> {
    block: &'a [u8],
    /// The start of the next line.
    at: usize,
}

impl<'a> RawLines<'a> {
    pub(super) fn new(block: &'a [u8], at: usize) -> Self {
        Self { block, at }
    }
}

impl<'a> Iterator for RawLines<'a> {
    type Item = (usize, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.block.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr(b'\n', rest);
        let line = &rest[..length.unwrap_or(rest.len())];
        let nuls = if line.first() == Some(&0) { leading_nuls(line) } else { 0 };
        let start = self.at + nuls;
        self.at += line.len() + 1;
        // NULs and a byte order mark at the end of the log are not a line.
        let line = &line[nuls..];
        let is_line = length.is_some() || !(line.is_empty() || line == BYTE_ORDER_MARK);
        is_line.then_some((start, line))
    }
}

/// Returns what a record is read from: the line without a byte order mark and a CR at its end, as in
/// [`weir_core::Lines`].
#[inline]
pub(super) fn bare(line: &[u8]) -> &[u8] {
    // Patterns instead of `strip_prefix`, which calls a function for each line.
    let ([line @ .., b'\r'] | line) = line;
    let ([0xEF, 0xBB, 0xBF, line @ ..] | line) = line;
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_core::Lines;

    use super::{RawLines, bare};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lines_are_those_of_the_data_set(
            block in prop::collection::vec(prop::sample::select(&b"ab\0\0\r\n\xEF\xBB\xBF"[..]), 0..80),
        ) {
            let expected: Vec<&[u8]> = Lines::new(&block).map(|line| line.bytes).collect();
            let lines: Vec<(usize, &[u8])> = RawLines::new(&block, 0).collect();
            let read: Vec<&[u8]> = lines.iter().map(|(_, line)| bare(line)).collect();
            prop_assert_eq!(read, expected);
            for (start, line) in lines {
                prop_assert!(block[start..].starts_with(line));
            }
        }
    }
}
