//! What a connection has been through, for those who look at one of its requests.

use std::time::Instant;

use weir_observe::glass::Journal;

/// What came before a request on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionHistory {
    /// When the connection was accepted.
    pub accepted: Instant,
    /// When the TLS handshake was done, and the header of a proxy read; `None` if there was nothing to do.
    pub opened: Option<Instant>,
    /// When the first bytes of the request came; `None` if they came with others, on a connection with HTTP/2,
    /// or before somebody looked.
    pub head_begun: Option<Instant>,
    /// The requests before this one.
    pub earlier_requests: u64,
}

/// The history of a connection, and the journal of its request.
#[derive(Debug)]
pub(crate) struct History {
    accepted: Instant,
    opened: Option<Instant>,
    head_begun: Option<Instant>,
    requests: u64,
    /// The journal of the request that is being answered, if somebody looks.
    journal: Option<Journal>,
}

/// How much is noted of the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Its end.
    End,
    /// Each part that the system takes, and its end.
    Writes,
}

impl Default for History {
    fn default() -> Self {
        let accepted = Instant::now();
        Self { accepted, opened: None, head_begun: None, requests: 0, journal: None }
    }
}

impl History {
    pub(crate) fn note_open(&mut self) {
        self.opened = Some(Instant::now());
    }

    /// The first bytes of a request have come.
    pub(crate) fn note_head(&mut self) {
        self.head_begun.get_or_insert_with(Instant::now);
    }

    pub(crate) fn begin_request(&mut self) {
        self.requests += 1;
    }

    /// All of the answer was handed to the system.
    pub(crate) fn end_request(&mut self) {
        self.head_begun = None;
        if let Some(journal) = self.journal.take() {
            journal.lap("last byte", "the system has taken all of the answer");
        }
    }

    /// The system has taken a part of the answer.
    pub(crate) fn note_write(&self, bytes: usize) {
        if let Some(journal) = &self.journal {
            journal.lap_part("write", bytes);
        }
    }

    pub(crate) fn observe(&mut self, journal: Journal) {
        self.journal = Some(journal);
    }

    /// The history, as the request that arrived last sees it.
    pub(crate) fn of_request(&self) -> ConnectionHistory {
        ConnectionHistory {
            accepted: self.accepted,
            opened: self.opened,
            head_begun: self.head_begun,
            earlier_requests: self.requests.saturating_sub(1),
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.lap("connection ended", "before the system had taken all of the answer");
        }
    }
}
