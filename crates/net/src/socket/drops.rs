//! The count of datagrams that the kernel dropped.

/// Reads the number of datagrams that the kernel dropped at one UDP socket because its buffer was
/// full.
#[derive(Clone, Copy, Debug)]
pub struct DropCounter {
    inode: u64,
}

impl DropCounter {
    /// Returns the counter of a socket; `None` if its inode cannot be read.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(socket: &impl std::os::fd::AsRawFd) -> Option<Self> {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some(Self { inode })
    }

    /// Returns `None`: this system does not count them.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of<S>(_socket: &S) -> Option<Self> {
        None
    }

    /// Returns the number of datagrams dropped since the socket was bound; `None` if it cannot be
    /// read.
    ///
    /// Source: the columns `inode` and `drops` of `/proc/net/udp` (proc(5)).
    pub fn datagrams_dropped(self) -> Option<u64> {
        ["/proc/net/udp", "/proc/net/udp6"].iter().find_map(|path| {
            let table = std::fs::read_to_string(path).ok()?;
            table.lines().skip(1).find_map(|line| parse_drops(line, self.inode))
        })
    }
}

/// Returns the drops in a line of the table, if it is the line of `inode`.
fn parse_drops(line: &str, inode: u64) -> Option<u64> {
    const INODE_COLUMN: usize = 9;
    let mut columns = line.split_whitespace().skip(INODE_COLUMN);
    if columns.next()?.parse() != Ok(inode) {
        return None;
    }
    columns.last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_drops;

    #[test]
    fn a_line_of_the_table_is_parsed() {
        let line = "  482: 0100007F:1414 00000000:0000 07 00000000:00000000 00:00000000 \
                    00000000  1000        0 31415 2 0000000000000000 27";
        assert_eq!(parse_drops(line, 31_415), Some(27));
        assert_eq!(parse_drops(line, 1), None);
        assert_eq!(parse_drops("", 1), None);
    }
}
