//! The lines of a log.

/// The maximum length of a line in bytes, without its end.
pub(super) const LINE_BYTES_MAX: usize = 1 << 20;

/// The lines of a log without their ends.
///
/// A line ends with a line feed; one carriage return before it belongs to the end. NUL bytes
/// before a line do not belong to it. The bytes after the last line feed are a line if they are
/// not only NULs.
pub(super) fn lines(log: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = log.split(|&byte| byte == b'\n').map(without_nuls).collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

fn without_nuls(line: &[u8]) -> &[u8] {
    let nuls = line.iter().take_while(|&&byte| byte == 0).count();
    &line[nuls..]
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_have_no_ends_and_leading_nuls() {
        assert!(lines(b"").is_empty() && lines(b"\0\0").is_empty());
        assert_eq!(lines(b"a\r\n\n\0\0b\r\r\nc"), [b"a".as_slice(), b"", b"b\r", b"c"]);
        assert_eq!(lines(b"\0\n\0a\0\n"), [b"".as_slice(), b"a\0"]);
    }
}
