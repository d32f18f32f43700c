//! The counts of the blocks of a source.

use std::sync::Arc;

use weir_core::{Format, UnparsedLine};

use super::{SourceProgress, SourceSample, State};

/// The counts that one block adds to its source.
#[derive(Debug, Default)]
pub(crate) struct BlockCounts {
    pub(crate) lines: u64,
    pub(crate) records: u64,
    pub(crate) empty_lines: u64,
    pub(crate) unparsed_lines: u64,
    pub(crate) too_long_lines: u64,
    pub(crate) samples: Vec<UnparsedLine>,
    /// The records of each format.
    pub(crate) by_format: Vec<(Arc<Format>, u64)>,
    /// The format of its last lines, whether there are records or only a header.
    pub(crate) last_format: Option<Arc<Format>>,
}

/// The most samples that are kept of a source: as many as a person would read.
const SAMPLES_MAX: usize = 20;

impl SourceProgress {
    /// Notes that lines from an offset on could not be read. Their block counts up to there, and
    /// the blocks after it do not.
    pub(crate) fn note_torn(&self, at: u64) {
        let mut state = self.state.lock();
        state.torn_at = Some(state.torn_at.map_or(at, |before| before.min(at)));
    }

    /// Notes that a block was dropped.
    pub(crate) fn note_gap(&self) {
        self.state.lock().has_gap = true;
    }

    /// Whether a block was dropped.
    pub(crate) fn has_gap(&self) -> bool {
        self.state.lock().has_gap
    }

    /// Adds the counts of a block that ends at `offset_end`. Blocks are counted in order, so that
    /// line numbers are right. Returns the bytes that the block adds.
    pub(crate) fn count(&self, read: &BlockCounts, offset_end: u64) -> u64 {
        let mut state = self.state.lock();
        let torn_at = state.torn_at.filter(|at| *at < offset_end);
        state.has_gap |= torn_at.is_some();
        let offset_end = torn_at.unwrap_or(offset_end);
        let bytes = offset_end.saturating_sub(state.counts.bytes_read);
        state.counts.bytes_read = offset_end;
        let lines_before = state.counts.lines;
        for sample in &read.samples {
            if state.samples.len() == SAMPLES_MAX {
                break;
            }
            state.samples.push(SourceSample {
                line: lines_before + sample.line + 1,
                column: sample.at as u64 + 1,
                reason: sample.reason.clone(),
                text: sample.text.clone(),
            });
        }
        let is_first = state.by_format.is_empty();
        for (format, records) in &read.by_format {
            match state.by_format.iter_mut().find(|(known, _)| known.is_same_as(format)) {
                Some((_, sum)) => *sum += records,
                None => state.by_format.push((format.clone(), *records)),
            }
        }
        if torn_at.is_none()
            && let Some(format) = &read.last_format
        {
            note_columns(&mut state, format);
        }
        if is_first {
            state.first_formats = state.by_format.len();
        }
        state.counts.lines += read.lines;
        state.counts.records += read.records;
        state.counts.empty_lines += read.empty_lines;
        state.counts.unparsed_lines += read.unparsed_lines;
        state.counts.too_long_lines += read.too_long_lines;
        bytes
    }
}

/// Notes the format after a header that names the columns of a source, as the last of its formats.
/// Another process goes on with it, even if no record follows the header.
fn note_columns(state: &mut State, format: &Arc<Format>) {
    let base = state.format.as_ref().map(|(base, _)| base);
    let is_named = base.is_some_and(|base| base.waits_for_header() && base.name() == format.name());
    if !is_named || format.waits_for_header() {
        return;
    }
    if state.formats.last().is_some_and(|last| last.is_same_as(format)) {
        return;
    }
    state.formats.retain(|known| !known.is_same_as(format));
    state.formats.push(format.clone());
}
