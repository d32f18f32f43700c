//! Splits the blocks of a live stream where their format changes.

use std::collections::VecDeque;

use weir_core::{FormatChoice, FormatTracker, TrackerOptions};

use super::text_formats::TextFormats;
use crate::clock::{Clock, SystemClock};

/// Passes the blocks of a live stream to a [`FormatTracker`] that watches for drift, as a report
/// does, and splits them where a format begins.
#[derive(Debug)]
pub(super) struct DriftSplitter {
    tracker: FormatTracker,
    written_s: Option<i64>,
    clock: SystemClock,
    /// The formats that begin in the current block, by the offset of their first line, in order.
    begins: VecDeque<(usize, TextFormats)>,
}

impl DriftSplitter {
    /// Creates a splitter at the start of a stream. `written_s`, the time of the last write in
    /// seconds since 1970, determines the year of times without one.
    pub(super) fn new(choice: &FormatChoice, written_s: Option<i64>) -> Self {
        let clock = SystemClock::default();
        let tracker = tracker(choice.clone(), written_s, &clock);
        Self { tracker, written_s, clock, begins: VecDeque::new() }
    }

    /// Restarts with the formats that were found in the first lines of the stream.
    pub(super) fn begin_with(&mut self, formats: &TextFormats) {
        let choice = FormatChoice::Known {
            format: formats.own.clone(),
            companions: formats.companions.to_vec(),
        };
        self.tracker = tracker(choice, self.written_s, &self.clock);
    }

    /// Examines the next block, which consists of whole lines.
    pub(super) fn examine(&mut self, block: &[u8]) {
        let formats = self.tracker.track(block, self.clock.unix_s());
        // Directives also begin formats, but the reader of the lines follows them itself.
        let begins = formats.findings.iter().filter_map(|finding| {
            let span = formats.spans.iter().find(|span| span.start == finding.start)?;
            let companions = span.companions.clone();
            Some((span.start, TextFormats { own: span.format.clone(), companions }))
        });
        self.begins.extend(begins);
    }

    /// Takes the formats that begin at or before this offset of the current block. Returns the
    /// last, if any.
    pub(super) fn take_formats(&mut self, offset: usize) -> Option<TextFormats> {
        let mut last = None;
        while self.begins.front().is_some_and(|(start, _)| *start <= offset) {
            last = self.begins.pop_front().map(|(_, formats)| formats);
        }
        last
    }

    /// Returns the offset in the current block at which the next format begins, if one does.
    pub(super) fn next_start(&self) -> Option<usize> {
        self.begins.front().map(|(start, _)| *start)
    }
}

/// Creates a tracker at the start of a stream, which watches for drift.
fn tracker(choice: FormatChoice, written_s: Option<i64>, clock: &SystemClock) -> FormatTracker {
    let options = TrackerOptions { written_s, watches_drift: true };
    FormatTracker::new(choice, options, clock.unix_s())
}
