//! Datagrams as lines.

/// Turns the datagram at `buffer[start..end]` into lines, in place, and returns their end. The
/// buffer needs one byte of room after `end`.
///
/// A datagram that begins with `<` is one syslog message and so one line; its line feeds become
/// spaces. Any other datagram has the lines that it holds. The last line always ends with a line
/// feed.
pub(crate) fn normalise(buffer: &mut [u8], start: usize, end: usize) -> usize {
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

/// The length of the whole lines of a datagram that was cut. Half a line may parse as a record
/// that was never written. A syslog message that was cut has no whole line.
pub(crate) fn whole_lines(datagram: &[u8]) -> usize {
    if datagram.first() == Some(&b'<') {
        return 0;
    }
    datagram.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::{normalise, whole_lines};

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
            let end = normalise(&mut buffer, 1, 1 + datagram.len());
            assert_eq!(&buffer[1..end], lines, "{datagram:?}");
        }
    }

    #[test]
    fn a_cut_datagram_keeps_its_whole_lines() {
        for (datagram, lines) in
            [(&b""[..], 0), (b"a", 0), (b"a\nb", 2), (b"a\nb\n", 4), (b"<34>a\nb", 0)]
        {
            assert_eq!(whole_lines(datagram), lines, "{datagram:?}");
        }
    }
}
