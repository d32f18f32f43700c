//! Counts the parsed bytes of a file in the sender's offsets.

use std::collections::VecDeque;

use tokio::sync::{Notify, watch};
use weir_sync::Lock;

/// Maps the parsed bytes of a source to the sent bytes that may be acknowledged.
///
/// The two are equal for a plain file. The sender of a packed file counts packed bytes, so each
/// piece adds a pair of offsets: its own end, and the end of its lines.
#[derive(Debug)]
pub(crate) struct AckOffsets {
    parsed: watch::Receiver<u64>,
    state: Lock<OffsetMap>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct OffsetMap {
    is_packed: bool,
    /// The pairs that are not parsed yet. Both offsets never decrease.
    pairs: VecDeque<OffsetPair>,
    /// The `piece_end` of the last pair that was parsed.
    acknowledgeable: u64,
}

#[derive(Debug)]
struct OffsetPair {
    /// In unpacked bytes.
    lines_end: u64,
    /// In packed bytes.
    piece_end: u64,
}

impl AckOffsets {
    /// Creates the offsets of a plain file, which follow the number of parsed bytes.
    pub(crate) fn new(parsed: watch::Receiver<u64>) -> Self {
        Self { parsed, state: Lock::default(), changed: Notify::new() }
    }

    /// Switches to packed bytes, which [`Self::record`] maps.
    pub(crate) fn set_packed(&self) {
        self.state.lock().is_packed = true;
    }

    /// Records that the packed bytes before `piece_end` contain the lines before `lines_end`.
    pub(crate) fn record(&self, lines_end: u64, piece_end: u64) {
        let mut state = self.state.lock();
        match state.pairs.back_mut() {
            Some(last) if last.lines_end == lines_end => last.piece_end = piece_end,
            _ => state.pairs.push_back(OffsetPair { lines_end, piece_end }),
        }
        drop(state);
        // The parsed bytes may not change: those of an archive itself never do.
        self.changed.notify_waiters();
    }

    /// Records that all whole lines were submitted to the parsers: the bytes before `submitted`.
    /// Later bytes belong to a partial line, which is parsed only when it is complete. Pieces that
    /// contain such bytes may therefore be acknowledged after `submitted` bytes are parsed.
    pub(crate) fn clamp(&self, submitted: u64) {
        let mut state = self.state.lock();
        while let Some(last) = state.pairs.pop_back_if(|pair| pair.lines_end > submitted) {
            let piece_end = last.piece_end;
            match state.pairs.back_mut() {
                Some(before) if before.lines_end >= submitted => {
                    before.piece_end = before.piece_end.max(piece_end);
                }
                _ => state.pairs.push_back(OffsetPair { lines_end: submitted, piece_end }),
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Returns the offset before which everything is parsed, in the sender's bytes.
    pub(crate) fn offset(&self) -> u64 {
        let parsed = *self.parsed.borrow();
        let mut state = self.state.lock();
        if !state.is_packed {
            return parsed;
        }
        while let Some(pair) = state.pairs.pop_front_if(|pair| pair.lines_end <= parsed) {
            state.acknowledgeable = pair.piece_end;
        }
        state.acknowledgeable
    }

    /// Waits until [`Self::offset`] is greater than `after`, and returns it.
    pub(crate) async fn wait_past(&self, after: u64) -> u64 {
        let mut parsed = self.parsed.clone();
        loop {
            let mut notified = std::pin::pin!(self.changed.notified());
            notified.as_mut().enable();
            parsed.mark_unchanged();
            let offset = self.offset();
            if offset > after {
                return offset;
            }
            tokio::select! {
                () = notified => {}
                // An error means that the source is gone, so nothing more will be parsed.
                changed = parsed.changed() => if changed.is_err() { std::future::pending().await },
            }
        }
    }
}
