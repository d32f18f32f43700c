//! The statistics of a running server, as plain data.

use std::time::Duration;

use weir_core::ReadCounts;
use weir_ingest::{AllowedMemory, StageTimes};
use weir_net::socket::{ConnectionEndCounts, ConnectionLimit};

use crate::hub::Hub;
use crate::server_views::SessionViewCounts;
use crate::session::Session;

/// The maximum number of listed sources. A directory may hold thousands of logs.
pub const SOURCES_MAX: usize = 100;

/// Returns the memory that the process may take now, in bytes; `None` if the system does not state it.
pub fn allowed_memory_bytes() -> Option<u64> {
    AllowedMemory::read().map(|allowed| allowed.bytes)
}

/// The statistics of a server at one moment.
#[derive(Debug, Clone, Default)]
pub struct ServerCounts {
    /// The number of open connections.
    pub connections: usize,
    /// The limit of this number.
    pub connections_max: usize,
    /// The number of connections that were refused, or closed before their clients did.
    pub connection_ends: ConnectionEndCounts,
    /// The number of data sets in memory.
    pub sessions: usize,
    /// The number of pages and uploads that use the data sets.
    pub users: usize,
    /// The memory of all data sets, in bytes.
    pub memory_bytes: usize,
    /// The memory limit of all data sets together, in bytes.
    pub memory_bytes_max: usize,
    /// The memory of all blocks that are queued or being parsed, in bytes.
    pub queue_bytes: usize,
    /// The limit of this memory, in bytes.
    pub queue_bytes_max: usize,
    /// The read counts of all data sets since the start, including those that have ended.
    pub reads: ReadCounts,
    /// The time that parsers spent in each stage, for the current data sets.
    pub times: StageTimes,
    /// The same limit, of the data sets with an open source.
    pub running_queue_bytes_max: usize,
    /// The number of parser threads of the data sets with an open source.
    pub threads: usize,
    /// The work on answers and live views: of each data set that has some, and then of all others
    /// together.
    pub views: Vec<SessionViewCounts>,
    /// Up to [`SOURCES_MAX`] sources, those opened by the program itself first.
    pub sources: Vec<SourceCounts>,
}

/// The read counts of one source.
#[derive(Debug, Clone)]
pub struct SourceCounts {
    /// The number of its data set, from 0.
    pub session: u64,
    /// Whether the program itself opened the source, not a page.
    pub is_own: bool,
    /// Its number in its data set, from 0.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Its read counts.
    pub reads: ReadCounts,
    /// Whether it has ended.
    pub has_ended: bool,
    /// The number of bytes that were received and are not parsed.
    pub held_bytes: u64,
    /// How long it has waited for the parsers.
    pub waited: Duration,
}

impl ServerCounts {
    pub(crate) fn read(hub: &Hub, connections: &ConnectionLimit) -> Self {
        let mut sessions = hub.sessions();
        sessions.sort_by_key(|session| (!session.is_pinned(), session.number()));
        let mut counts = Self {
            connections: connections.open(),
            connections_max: connections.connections_max(),
            connection_ends: connections.ends(),
            sessions: sessions.len(),
            memory_bytes: hub.memory.bytes(),
            memory_bytes_max: hub.memory.bytes_max(),
            reads: hub.reads.read_counts(),
            views: hub.turns.views.counts(),
            ..Self::default()
        };
        for session in &sessions {
            counts.add(session);
        }
        counts.sources.truncate(SOURCES_MAX);
        counts
    }

    fn add(&mut self, session: &Session) {
        self.users += session.users();
        // An ended session has no pipeline.
        let Some(pipeline) = session.pipeline() else { return };
        let (bytes, bytes_max) = pipeline.queue_bytes();
        self.queue_bytes += bytes;
        self.queue_bytes_max += bytes_max;
        let times = pipeline.stage_times();
        for (sum, time) in [
            (&mut self.times.read, times.read),
            (&mut self.times.parse, times.parse),
            (&mut self.times.append, times.append),
            (&mut self.times.wait_for_blocks, times.wait_for_blocks),
            (&mut self.times.wait_to_append, times.wait_to_append),
        ] {
            *sum += time;
        }
        let sources = pipeline.data().sources();
        if sources.iter().any(|source| source.end().is_none()) {
            self.running_queue_bytes_max += bytes_max;
            self.threads += pipeline.threads();
        }
        self.sources.extend(sources.iter().take(SOURCES_MAX).map(|source| SourceCounts {
            session: session.number(),
            is_own: session.is_pinned(),
            number: source.number(),
            name: source.name().to_owned(),
            reads: source.read_counts(),
            has_ended: source.end().is_some(),
            held_bytes: source.held_bytes(),
            waited: source.waited(),
        }));
    }
}
