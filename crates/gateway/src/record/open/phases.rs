//! Notes the phases of a request, each with one call.

use std::sync::Arc;

use hyper::Response;
use tokio::time::Instant;

use super::OpenRecord;
use crate::backend::{ConnectError, Instance, Lease, UpstreamRequest};
use crate::capture;
use crate::meter::BackendMeter;

impl OpenRecord {
    /// Sets the chosen backend.
    pub(crate) fn set_backend(&mut self, backend: &Arc<BackendMeter>) {
        self.timeline.end_count();
        if self.recorder.meter().is_on() {
            self.timeline.begin_count(backend);
        }
        self.backend = Some(backend.clone());
    }

    /// Notes that an attempt to connect to a server, which began at this time, has failed. A server
    /// whose connections are all in use was not contacted.
    pub(crate) fn note_unreachable(
        &mut self,
        server: &Instance,
        tried_at: Instant,
        error: &ConnectError,
    ) {
        self.lap("server connection", || format!("{}: {error}", server.name()));
        if !matches!(error, ConnectError::Busy(_)) {
            self.timeline.note_upstream_start(tried_at);
        }
    }

    /// Notes the connection to a server, which was requested at this time.
    pub(crate) fn note_connection(&mut self, lease: &Lease, tried_at: Instant) {
        self.timeline.note_upstream_start(tried_at + lease.waited);
        self.timeline.connect_time = lease.connect_time.or(self.timeline.connect_time);
        self.lap("server connection", || lease.description());
    }

    /// Notes the request as the server receives it.
    pub(crate) fn note_request(&self, request: &UpstreamRequest) {
        if let Some(capture) = &self.capture {
            capture::note_sent(capture, request);
        }
    }

    /// Notes the head of an answer.
    pub(crate) fn note_head<B>(&mut self, answer: &Response<B>) {
        self.timeline.note_head();
        if let Some(capture) = &self.capture {
            capture::note_answer(capture, answer);
        }
    }

    /// Notes that there is no head of an answer, and why.
    pub(crate) fn note_no_head(&self, reason: impl FnOnce() -> String) {
        self.lap("answer head", reason);
    }

    /// Notes that the client has taken everything that the backend has sent so far.
    pub(crate) fn note_body_wait(&mut self) {
        self.timeline.begin_body_wait();
    }

    /// Notes a part of the answer's body.
    pub(crate) fn note_body(&mut self, bytes: usize) {
        self.add_bytes(bytes);
        self.lap("answer body", || bytes);
    }

    /// Notes that a tunnel begins. It is no request in progress: a tunnel may be idle for hours,
    /// which says nothing about the speed of its client.
    pub(crate) fn note_tunnel(&mut self) {
        self.timeline.end_count();
    }

    /// Adds bytes that the client receives.
    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.timeline.note_bytes(bytes);
    }
}
