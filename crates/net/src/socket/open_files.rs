//! The limit of open files. Each connection takes a descriptor, and the process needs others.

/// Descriptors reserved for everything but connections: listening sockets, files, a page's sockets.
#[cfg(unix)]
const OTHER_DESCRIPTORS: u64 = 256;

/// The number of connections that the limit of open files allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionBudget {
    /// The maximum number of open connections.
    pub connections_max: usize,
    /// The limit of open files, if it allows fewer connections than were requested.
    pub open_files_max: Option<u64>,
}

/// Reserves descriptors for `connections_max` connections, and returns the connections that fit. If
/// necessary, it raises the process's soft limit of open files (RLIMIT_NOFILE, getrlimit(2)) up to
/// the hard limit.
#[cfg(unix)]
pub fn reserve_connections(connections_max: usize) -> ConnectionBudget {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(mut open_files) = current else {
        return ConnectionBudget { connections_max, open_files_max: None };
    };
    let wanted = (connections_max as u64).saturating_add(OTHER_DESCRIPTORS);
    if open_files < wanted {
        let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
        // If this fails, the budget is smaller.
        if setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok() {
            open_files = raised;
        }
    }
    let room = connections_within(open_files);
    ConnectionBudget {
        connections_max: connections_max.min(room),
        open_files_max: (room < connections_max).then_some(open_files),
    }
}

/// Returns `connections_max` unchanged: this system has no such limit.
#[cfg(not(unix))]
pub fn reserve_connections(connections_max: usize) -> ConnectionBudget {
    ConnectionBudget { connections_max, open_files_max: None }
}

/// Returns the number of connections that fit into `open_files` descriptors, at least 1.
#[cfg(unix)]
fn connections_within(open_files: u64) -> usize {
    let others = OTHER_DESCRIPTORS.min(open_files / 2);
    usize::try_from(open_files - others).unwrap_or(usize::MAX).max(1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::{ConnectionBudget, connections_within, reserve_connections};

    #[test]
    fn descriptors_are_left_for_everything_else() {
        for (open_files, connections) in
            [(0, 1), (100, 50), (1_024, 768), (1 << 20, (1 << 20) - 256)]
        {
            assert_eq!(connections_within(open_files), connections);
        }
        let budget = ConnectionBudget { connections_max: 1, open_files_max: None };
        assert_eq!(reserve_connections(1), budget);
    }
}
