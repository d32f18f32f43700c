//! The lines of a block with their line ends, which count as lines of the file.

use memchr::memchr_iter;

/// The lines of a block, each with its line feed. The last one may have none.
pub(crate) fn whole_lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    let ends = memchr_iter(b'\n', block).map(|line_feed| line_feed + 1);
    ends.chain([block.len()]).filter_map(move |end| {
        let line = &block[start..end];
        start = end;
        (!line.is_empty()).then_some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::whole_lines;

    #[test]
    fn lines_keep_their_line_feeds() {
        let lines = |block| whole_lines(block).collect::<Vec<_>>();
        assert_eq!(lines(b""), [b""; 0]);
        assert_eq!(lines(b"\na\n\nb"), [&b"\n"[..], b"a\n", b"\n", b"b"]);
        assert_eq!(lines(b"a\n"), [b"a\n"]);
    }
}
