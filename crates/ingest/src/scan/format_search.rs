//! Detects the format of a scanned text.

use std::time::{Duration, Instant};

use weir_core::{BlockCutter, BlockLimits, FormatTracker};

use super::text_formats::TextFormats;
use crate::clock::{Clock, SystemClock};

/// Passes a text to a [`FormatTracker`], window by window, until the format is decided.
///
/// It cuts the bytes with the cutter that a report uses and examines blocks of the same bounds,
/// so that both find the same format. The lines themselves are read by
/// [`LineBlocks`](super::LineBlocks), whose limits differ.
#[derive(Debug)]
pub(super) struct FormatSearch {
    tracker: FormatTracker,
    cutter: BlockCutter,
    /// How long a live stream may take to fill the window; `None` for files, whose reads never
    /// pause.
    patience: Option<Duration>,
    started_at: Instant,
}

impl FormatSearch {
    pub(super) fn new(tracker: FormatTracker, patience: Option<Duration>) -> Self {
        Self {
            tracker,
            cutter: BlockCutter::new(BlockLimits::default()),
            patience,
            started_at: Instant::now(),
        }
    }

    /// Returns the number of bytes to read next, never 0.
    pub(super) fn room(&self) -> usize {
        FormatTracker::detection_room(self.cutter.pending_bytes())
    }

    /// Takes the next bytes of the text.
    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = &bytes[self.cutter.push(bytes)..];
        }
    }

    /// Whether the window has to be examined before more bytes are read.
    pub(super) fn is_due(&self, has_paused: bool) -> bool {
        let is_slow = || self.patience.is_some_and(|time| self.started_at.elapsed() > time);
        self.cutter.pending_bytes() >= FormatTracker::DETECTION_BYTES || (has_paused && is_slow())
    }

    /// Whether the search is over.
    pub(super) fn is_decided(&self) -> bool {
        self.tracker.is_decided()
    }

    /// Examines the whole lines of the window; at the end of the text, the last line as well.
    /// Returns the formats that were found.
    pub(super) fn examine(&mut self, has_ended: bool) -> Option<TextFormats> {
        let block = if has_ended { self.cutter.finish() } else { self.cutter.cut() }?;
        let now_s = SystemClock::default().unix_s();
        let mut formats = self.tracker.track(block.bytes(), now_s);
        self.cutter.recycle(block.into_buffer());
        let own = formats.findings.pop()?.format;
        let companions = formats.spans.pop()?.companions;
        Some(TextFormats { own, companions })
    }
}
