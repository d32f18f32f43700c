//! The history of a connection, for captures of its requests.

use std::time::Instant;

use weir_observe::capture::OpenCapture;

/// The events on a connection before one of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionHistory {
    /// When the connection was accepted.
    pub accepted: Instant,
    /// When the TLS handshake was complete and the PROXY header read; `None` if there was neither.
    pub opened: Option<Instant>,
    /// When the first bytes of the request arrived. `None` if they arrived together with earlier
    /// bytes, over HTTP/2, or before the observation began.
    pub head_begun: Option<Instant>,
    /// The number of earlier requests on the connection.
    pub earlier_requests: u64,
}

/// The history of a connection, and the capture of its request.
#[derive(Debug)]
pub(crate) struct History {
    accepted: Instant,
    opened: Option<Instant>,
    head_begun: Option<Instant>,
    requests: u64,
    /// The capture of the request in progress, if it is observed.
    capture: Option<OpenCapture>,
}

/// The level of detail at which a response is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The end of the response.
    End,
    /// Each part that the system accepts, and the end.
    Writes,
}

impl Default for History {
    fn default() -> Self {
        let accepted = Instant::now();
        Self { accepted, opened: None, head_begun: None, requests: 0, capture: None }
    }
}

impl History {
    pub(crate) fn note_open(&mut self) {
        self.opened = Some(Instant::now());
    }

    /// Records that the first bytes of a request have arrived.
    pub(crate) fn note_head(&mut self) {
        self.head_begun.get_or_insert_with(Instant::now);
    }

    pub(crate) fn begin_request(&mut self) {
        self.requests += 1;
    }

    /// Records that the system has accepted the whole response.
    pub(crate) fn end_request(&mut self) {
        self.head_begun = None;
        if let Some(capture) = self.capture.take() {
            capture.lap("last byte", "the system has taken all of the answer");
        }
    }

    /// Records that the system has accepted a part of the response.
    pub(crate) fn note_write(&self, bytes: usize) {
        if let Some(capture) = &self.capture {
            capture.lap("write", bytes);
        }
    }

    pub(crate) fn observe(&mut self, capture: OpenCapture) {
        self.capture = Some(capture);
    }

    /// Returns the history before the latest request.
    pub(crate) fn before_latest_request(&self) -> ConnectionHistory {
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
        if let Some(capture) = self.capture.take() {
            capture.lap("connection ended", "before the system had taken all of the answer");
        }
    }
}
