//! What a running server tells of itself, as plain data.

use weir_core::ReadCounts;
use weir_net::socket::ConnectionLimit;

use crate::hub::Hub;
use crate::session::Session;

/// Sources that are listed at most. A directory may hold thousands of logs.
const SOURCES_MAX: usize = 100;

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
    /// The first hundred sources that the program itself has opened.
    pub sources: Vec<SourceCounts>,
}

/// What was read of a source.
#[derive(Debug, Clone)]
pub struct SourceCounts {
    /// Its number in its data set, from 0.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// What was read of it.
    pub reads: ReadCounts,
}

impl ServerCounts {
    pub(crate) fn read(hub: &Hub, connections: &ConnectionLimit) -> Self {
        let sessions = hub.sessions();
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
        if !session.is_pinned() {
            return;
        }
        let sources = pipeline.data().sources();
        self.sources.extend(sources.iter().take(SOURCES_MAX).map(|source| SourceCounts {
            number: source.number(),
            name: source.name().to_owned(),
            reads: source.read_counts(),
        }));
    }
}
