//! A tunnel under the glass: what moves in it, and why it ends.

use std::time::Instant;

use weir_observe::glass::{Followed, Journal, is_any_armed};

use crate::record::OpenRecord;

/// Notes the parts of a tunnel for those who look at a tunnel, which they may begin to do at any time, and for one
/// who looks at the request with which it began.
#[derive(Debug)]
pub(super) struct TunnelGlass {
    followed: Followed,
    request: Option<Journal>,
}

impl TunnelGlass {
    pub(super) fn new(record: &OpenRecord) -> Self {
        Self { followed: record.follow_tunnel(), request: record.journal.clone() }
    }

    /// The time, if somebody looks at anything.
    #[inline]
    pub(super) fn begin(&self) -> Option<Instant> {
        is_any_armed().then(Instant::now)
    }

    /// Bytes have moved since a moment; without one, somebody has begun to look meanwhile.
    #[inline]
    pub(super) fn note(&self, name: &'static str, begun: Option<Instant>, bytes: usize) {
        if let Some(now) = self.begin() {
            self.note_until(name, (begun.unwrap_or(now), now), bytes);
        }
    }

    #[cold]
    fn note_until(&self, name: &'static str, span: (Instant, Instant), bytes: usize) {
        for journal in [self.followed.journal(), self.request.clone()].iter().flatten() {
            journal.part(name, span, bytes, "");
        }
    }

    /// A direction has ended, or the whole tunnel.
    pub(super) fn note_end(&self, name: &'static str, reason: impl FnOnce() -> String) {
        let Some(now) = self.begin() else { return };
        let reason = reason();
        for journal in [self.followed.journal(), self.request.clone()].iter().flatten() {
            journal.step(name, (now, now), reason.clone());
        }
    }
}
