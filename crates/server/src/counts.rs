//! What a running server tells of itself, as plain data.

use std::time::Duration;

use weir_core::ReadCounts;
use weir_ingest::StageTimes;
use weir_net::socket::ConnectionLimit;

use crate::hub::Hub;
use crate::session::Session;

/// Sources that are listed at most. A directory may hold thousands of logs.
pub const SOURCES_MAX: usize = 100;

/// The numbers of a server at one moment.
#[derive(Debug, Clone, Default)]
pub struct ServerCounts {
    /// Open connections to the page.
    pub connections: usize,
    /// Data sets in memory.
    pub sessions: usize,
    /// Pages and uploads that use them.
    pub users: usize,
    /// Memory of all data sets, in bytes.
    pub memory_bytes: usize,
    /// Memory that they may take together, in bytes.
    pub memory_bytes_max: usize,
    /// Memory of the blocks that wait or are being parsed, of all data sets, in bytes.
    pub queue_bytes: usize,
    /// Memory that these blocks may take, in bytes.
    pub queue_bytes_max: usize,
    /// What all data sets have read since the start, those included that have ended.
    pub reads: ReadCounts,
    /// Where the time of the parsers went, of the data sets that there are.
    pub times: StageTimes,
    /// Parser threads of all data sets.
    pub threads: usize,
    /// A hundred sources, those first that the program itself has opened.
    pub sources: Vec<SourceCounts>,
}

/// What was read of a source.
#[derive(Debug, Clone)]
pub struct SourceCounts {
    /// The number of its data set, from 0.
    pub session: u64,
    /// Whether the program itself has opened it, and not a page.
    pub is_own: bool,
    /// Its number in its data set, from 0.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What was read of it.
    pub reads: ReadCounts,
    /// How long it has waited for the parsers.
    pub waited: Duration,
}

impl ServerCounts {
    pub(crate) fn read(hub: &Hub, connections: &ConnectionLimit) -> Self {
        let mut sessions = hub.sessions();
        sessions.sort_by_key(|session| (!session.is_pinned(), session.number()));
        let mut counts = Self {
            connections: connections.open(),
            sessions: sessions.len(),
            memory_bytes: hub.memory.bytes(),
            memory_bytes_max: hub.memory.bytes_max(),
            reads: hub.reads.read_counts(),
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
        // An ended session has none.
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
        self.threads += pipeline.threads();
        let sources = pipeline.data().sources();
        self.sources.extend(sources.iter().take(SOURCES_MAX).map(|source| SourceCounts {
            session: session.number(),
            is_own: session.is_pinned(),
            number: source.number(),
            name: source.name().to_owned(),
            reads: source.read_counts(),
            waited: source.waited(),
        }));
    }
}
