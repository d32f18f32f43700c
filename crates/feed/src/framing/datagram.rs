//! Conversion of datagrams to lines.

/// Converts the datagram at `buffer[start..end]` to lines, in place, and returns their end. The
/// buffer needs one byte of room after `end`.
///
/// A datagram that begins with `<` is one syslog message, so it becomes one line, and its line
/// feeds become spaces. Any other datagram may hold several lines. The last line always ends with a
/// line feed.
pub(crate) fn normalise_datagram(buffer: &mut [u8], start: usize, end: usize) -> usize {
    let datagram = &mut buffer[start..end];
    let last_text_byte = datagram.iter().rposition(|byte| !b"\n\r\0".contains(byte));
    let Some(last) = last_text_byte else { return start };
    if datagram[0] == b'<' {
        let message = &mut datagram[..last];
        message.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    buffer[start + last + 1] = b'\n';
    start + last + 2
}

/// Returns the length of the complete lines of a truncated datagram. Half a line may parse as a
/// record that was never written. A truncated syslog message has no complete line.
pub(crate) fn whole_lines_bytes(datagram: &[u8]) -> usize {
    if datagram.first() == Some(&b'<') {
        return 0;
    }
    datagram.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::{normalise_datagram, whole_lines_bytes};

    #[test]
    fn datagrams_become_lines() {
        for (datagram, lines) in [
            (&b""[..], &b""[..]),
            (b"\n", b""),
            (b"\0\0", b""),
            (b"a", b"a\n"),
            (b"a\r\n", b"a\n"),
            (b"a\nb\n", b"a\nb\n"),
            (b"<34>a\nb\n", b"<34>a b\n"),
        ] {
            let mut buffer = [b"x", datagram, b"?"].concat();
            let end = normalise_datagram(&mut buffer, 1, 1 + datagram.len());
            assert_eq!(&buffer[1..end], lines, "{datagram:?}");
        }
    }

    #[test]
    fn a_cut_datagram_keeps_its_whole_lines() {
        for (datagram, lines) in
            [(&b""[..], 0), (b"a", 0), (b"a\nb", 2), (b"a\nb\n", 4), (b"<34>a\nb", 0)]
        {
            assert_eq!(whole_lines_bytes(datagram), lines, "{datagram:?}");
        }
    }
}
