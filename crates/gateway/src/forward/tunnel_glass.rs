//! Inspection of a tunnel: its transfers, and why it ends.

use std::time::Instant;

use weir_observe::glass::{Followed, Journal, is_any_armed};

use crate::record::OpenRecord;

/// Notes the transfers of a tunnel in two journals: of a tunnel capture, which may start at any
/// time, and of a capture of the request that opened the tunnel.
#[derive(Debug)]
pub(super) struct TunnelGlass {
    followed: Followed,
    request: Option<Journal>,
}

impl TunnelGlass {
    pub(super) fn new(record: &OpenRecord) -> Self {
        Self { followed: record.follow_tunnel(), request: record.journal.clone() }
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
            self.note_until(name, (started_at.unwrap_or(now), now), bytes);
        }
    }

    #[cold]
    fn note_until(&self, name: &'static str, span: (Instant, Instant), bytes: usize) {
        for journal in [self.followed.journal(), self.request.clone()].iter().flatten() {
            journal.part(name, span, bytes, "");
        }
    }

    /// Notes the end of a direction or of the whole tunnel.
    pub(super) fn note_end(&self, name: &'static str, reason: impl FnOnce() -> String) {
        let Some(now) = self.begin() else { return };
        let reason = reason();
        for journal in [self.followed.journal(), self.request.clone()].iter().flatten() {
            journal.step(name, (now, now), reason.clone());
        }
    }
}
