//! Datagrams that the kernel dropped.

/// Datagrams that the kernel dropped of the UDP socket with this inode, as its buffer was full;
/// `None` where the system does not tell.
///
/// Source: the columns `inode` and `drops` of `/proc/net/udp` (proc(5)).
pub(crate) fn drops(inode: u64) -> Option<u64> {
    ["/proc/net/udp", "/proc/net/udp6"].iter().find_map(|path| {
        let table = std::fs::read_to_string(path).ok()?;
        table.lines().skip(1).find_map(|line| drops_of(line, inode))
    })
}

fn drops_of(line: &str, inode: u64) -> Option<u64> {
    const INODE: usize = 9;
    let mut words = line.split_whitespace().skip(INODE);
    (words.next()?.parse() == Ok(inode)).then(|| words.last()?.parse().ok())?
}

/// The inode of a socket, by which the kernel's tables name it.
#[cfg(target_os = "linux")]
pub(crate) fn inode(socket: &impl std::os::fd::AsRawFd) -> Option<u64> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).ok()?;
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The inode of a socket; this system tells none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn inode<S>(_socket: &S) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::drops_of;

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "  482: 0100007F:1414 00000000:0000 07 00000000:00000000 00:00000000 \
                    00000000  1000        0 31415 2 0000000000000000 27";
        assert_eq!(drops_of(line, 31_415), Some(27));
        assert_eq!(drops_of(line, 1), None);
        assert_eq!(drops_of("", 1), None);
    }
}
