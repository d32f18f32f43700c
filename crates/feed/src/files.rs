//! Files that may be open: each connection is one, and the page needs some, too.

/// Files beside the connections: the page's own connections, sockets that listen, logs.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// As many of `connections` as may be open at a time with enough files left for everything else,
/// and the limit of files where that is fewer. Where the system lets this program raise its limit,
/// it is raised so far.
#[cfg(unix)]
pub(crate) fn room_for(connections: usize) -> (usize, Option<u64>) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (Some(current), wanted) = (current, (connections as u64).saturating_add(OTHERS)) else {
        return (connections, None);
    };
    let mut files = current;
    if files < wanted {
        let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
        // Where it cannot be raised there are fewer connections.
        if setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok() {
            files = raised;
        }
    }
    let room = connections_within(files);
    (connections.min(room), (room < connections).then_some(files))
}

/// As many as are asked for: this system has no such limit.
#[cfg(not(unix))]
pub(crate) fn room_for(connections: usize) -> (usize, Option<u64>) {
    (connections, None)
}

/// Connections where so many files may be open.
#[cfg(unix)]
fn connections_within(files: u64) -> usize {
    let others = OTHERS.min(files / 2);
    usize::try_from(files - others).unwrap_or(usize::MAX).max(1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{connections_within, room_for};

    #[test]
    fn files_are_left_for_everything_else() {
        for (files, connections) in [(0, 1), (100, 50), (1_024, 768), (1 << 20, (1 << 20) - 256)] {
            assert_eq!(connections_within(files), connections);
        }
        assert_eq!(room_for(1), (1, None));
    }
}
