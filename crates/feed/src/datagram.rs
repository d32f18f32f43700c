//! Datagrams as lines.

/// Makes lines of a datagram that lies at `buffer[start..end]`, in place; says where they end.
/// There has to be a byte of room behind it.
///
/// One that begins as a syslog message does is one line, whatever is in it; any other is as many
/// lines as it has. The last ends with a line feed in any case.
pub(crate) fn normalise(buffer: &mut [u8], start: usize, end: usize) -> usize {
    let datagram = &mut buffer[start..end];
    let text = datagram.iter().rposition(|byte| !b"\n\r\0".contains(byte));
    let Some(last) = text else { return start };
    if datagram[0] == b'<' {
        let message = &mut datagram[..last];
        message.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
    }
    buffer[start + last + 1] = b'\n';
    start + last + 2
}

/// Where the last whole line ends of a datagram that was cut: half a line may read as a record that
/// nobody has written. None is whole of one that begins as a syslog message does.
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
    fn of_a_cut_datagram_whole_lines_are_left() {
        for (datagram, lines) in
            [(&b""[..], 0), (b"a", 0), (b"a\nb", 2), (b"a\nb\n", 4), (b"<34>a\nb", 0)]
        {
            assert_eq!(whole_lines(datagram), lines, "{datagram:?}");
        }
    }
}
