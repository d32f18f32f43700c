//! Lines: the bytes between two line feeds.
//!
//! [`Lines`] finds them one after the other. For formats whose lines are read by the positions of
//! their quotes, a structural index of the whole block finds line feeds and quotes in one pass.
//! Both return the same lines, which a test compares.
//!
//! # Cost
//!
//! Each method reads every byte of a block once and allocates nothing for a line. [`Lines`] calls
//! memchr for each line; the structural index compares 64 bytes at a time, which pays from two
//! searches in a line on. Parsers look for the separators inside a line with `short_memchr`,
//! because most fields are shorter than the cost of a call.
//!
//! # Line ends
//!
//! | bytes | lines |
//! |---|---|
//! | `a LF b LF` | `a`, `b` |
//! | `a CR LF` | `a` |
//! | `a CR CR LF` | `a CR` |
//! | `a LF LF` | `a`, and an empty line |
//! | `NUL NUL a LF` | `a`, which starts at 2 |
//! | `a NUL b LF` | `a NUL b` |
//! | `a LF NUL NUL` | `a` |
//! | `EF BB BF a LF` | `a`, which starts at 3 |
//! | nothing | none |
//!
//! NULs at the start of a line are no part of it, because a log that was truncated while a server
//! had it open (logrotate's `copytruncate`) has a hole of zeros at its start, and a file system may
//! leave one at the end after a crash. A byte order mark of UTF-8 there is no part of a line
//! either: it begins a text, which others may precede if files were joined.

mod short_equal;
mod short_memchr;
mod structural_index;

pub(crate) use short_equal::is_equal;
pub(crate) use short_memchr::short_memchr;
pub(crate) use structural_index::{IndexedLine, StructuralIndex};

use memchr::memchr;

use crate::block::leading_nuls;

/// One line of a block, borrowed.
///
/// Its bytes are as they are in the log: they may be empty, not UTF-8, or contain NULs and single
/// CRs. `block.offset + line.start` is the line's offset in its source.
///
/// # Examples
///
/// ```
/// use weir_core::Lines;
///
/// let lines: Vec<_> = Lines::new(b"\0\0GET /\xff\r\n").collect();
/// assert_eq!((lines[0].bytes, lines[0].start), (&b"GET /\xff"[..], 2));
/// ```
///
/// The offset of a line in its source:
///
/// ```
/// use weir_core::{BlockCutter, BlockLimits, Lines};
///
/// let mut cutter = BlockCutter::new(BlockLimits { block_bytes: 4, line_bytes_max: 100 });
/// cutter.push(b"one\n");
/// cutter.cut();
/// cutter.push(b"two\n");
/// let block = cutter.cut().unwrap();
/// let line = Lines::new(block.bytes()).next().unwrap();
/// assert_eq!((line.bytes, block.offset + line.start as u64), (&b"two"[..], 4));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line without its line end, and without NUL bytes and a byte order mark at its start.
    pub bytes: &'a [u8],
    /// The offset of `bytes` in the block.
    pub start: usize,
}

/// The lines of a block, in order.
///
/// A line ends at LF, and one CR before it belongs to the line end. A last line without LF is a
/// line, and so is an empty one. NUL bytes and a byte order mark of UTF-8 at the start of a line do
/// not belong to it (see [`crate::BlockCutter`]). If only NULs follow the last LF, they are not a
/// line.
///
/// ```
/// use weir_core::Lines;
///
/// let lines: Vec<_> = Lines::new(b"one\r\n\n\0\0two").collect();
/// assert_eq!(lines[0].bytes, b"one");
/// assert_eq!(lines[1].bytes, b"");
/// assert_eq!((lines[2].bytes, lines[2].start), (&b"two"[..], 8));
/// ```
///
/// The iterator ends at the end of the bytes and stays at the end. Every line is shorter than the
/// bytes; no limit is applied, so a reader checks the length itself.
///
/// A single CR is part of a line, since it does not end lines in logs: otherwise a client could
/// forge a line with a CR in its request.
///
/// ```
/// use weir_core::Lines;
///
/// let forged = b"GET /\rGET /admin\n";
/// assert_eq!(Lines::new(forged).count(), 1);
/// assert_eq!(Lines::new(b"").count(), 0);
/// assert_eq!(Lines::new(b"\0\0\0").count(), 0);
/// ```
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Lines<'a> {
    /// The lines of `bytes`, which begin at a line start.
    ///
    /// If they begin in the middle of a line, the first line is its rest.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

/// The byte order mark of UTF-8, which editors and programs of Windows write at the start of a
/// text.
const MARK: &[u8] = b"\xEF\xBB\xBF";
const FIRST_MARK_BYTE: u8 = MARK[0];

/// The number of bytes at the start of a line that are no part of it.
#[cold]
fn leading_marks(line: &[u8]) -> usize {
    let nuls = leading_nuls(line);
    if line[nuls..].starts_with(MARK) { nuls + MARK.len() } else { nuls }
}

impl<'a> Line<'a> {
    /// The line between `start` and its line feed at `end`, or the end of `bytes`. Returns
    /// `None` if the rest of `bytes` is only NULs.
    ///
    /// `start..end` must lie in `bytes`. One CR before `end` is left out, even if the line has no
    /// line feed.
    #[inline]
    pub(crate) fn between(bytes: &'a [u8], mut start: usize, mut end: usize) -> Option<Self> {
        if let Some(&(0 | FIRST_MARK_BYTE)) = bytes.get(start) {
            start += leading_marks(&bytes[start..end]);
            if start == bytes.len() {
                return None;
            }
        }
        if end > start && bytes[end - 1] == b'\r' {
            end -= 1;
        }
        Some(Self { bytes: &bytes[start..end], start })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest).map_or(self.bytes.len(), |length| start + length);
        self.at = (end + 1).min(self.bytes.len());
        Line::between(self.bytes, start, end)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn lines(bytes: &[u8]) -> Vec<&[u8]> {
        Lines::new(bytes).map(|line| line.bytes).collect()
    }

    #[test]
    fn splits() {
        assert_eq!(lines(b""), [b""; 0]);
        assert_eq!(lines(b"\n"), [b""]);
        assert_eq!(lines(b"a\nb\r\n\r\nc"), [&b"a"[..], b"b", b"", b"c"]);
        assert_eq!(lines(b"a\r\r\n"), [b"a\r"]);
        assert_eq!(lines(b"\0\0a\n\0\n\0\0"), [&b"a"[..], b""]);
        assert_eq!(lines(b"a\0b\n"), [b"a\0b"]);
        assert_eq!(lines(b"\xEF\xBB\xBFa\n\0\xEF\xBB\xBFb\n"), [b"a", b"b"]);
        assert_eq!(lines(b"a\xEF\xBB\xBF\n\xEF\xBBb\n"), [&b"a\xEF\xBB\xBF"[..], b"\xEF\xBBb"]);
        assert_eq!(lines(b"\xEF\xBB\xBF\n\xEF\xBB\xBF"), [b""]);
    }

    #[test]
    fn the_start_of_a_line_is_after_its_nuls() {
        let starts: Vec<_> = Lines::new(b"ab\n\0\0c\r\nd").map(|line| line.start).collect();
        assert_eq!(starts, [0, 5, 8]);
    }
}
