//! The capture of a tunnel: its transfers, and why it ends.

use std::ops::Range;
use std::time::Instant;

use weir_observe::capture::{Capturable, OpenCapture, is_any_armed};

use crate::record::OpenRecord;

/// Notes the transfers of a tunnel in two captures: that of the tunnel, which may start at any
/// time, and that of the request that opened it.
#[derive(Debug)]
pub(super) struct TunnelCapture {
    tunnel: Capturable,
    request: Option<OpenCapture>,
}

impl TunnelCapture {
    pub(super) fn new(record: &OpenRecord) -> Self {
        Self { tunnel: record.follow_tunnel(), request: record.capture.clone() }
    }

    /// Returns the current time if any capture is pending.
    #[inline]
    pub(super) fn begin(&self) -> Option<Instant> {
        is_any_armed().then(Instant::now)
    }

    /// Notes a transfer that started at `started_at`. `None` means that a capture started during
    /// the transfer.
    #[inline]
    pub(super) fn note(&self, name: &'static str, started_at: Option<Instant>, bytes: usize) {
        if let Some(now) = self.begin() {
            self.note_until(name, started_at.unwrap_or(now)..now, bytes);
        }
    }

    #[cold]
    fn note_until(&self, name: &'static str, times: Range<Instant>, bytes: usize) {
        for capture in [self.tunnel.open(), self.request.clone()].iter().flatten() {
            capture.step(name, times.clone(), bytes);
        }
    }

    /// Notes the end of a direction or of the whole tunnel.
    pub(super) fn note_end(&self, name: &'static str, reason: impl FnOnce() -> String) {
        let Some(now) = self.begin() else { return };
        let reason = reason();
        for capture in [self.tunnel.open(), self.request.clone()].iter().flatten() {
            capture.step(name, now..now, reason.clone());
        }
    }
}
