//! The formats of a source, and the zone of its times.

use std::sync::Arc;

use weir_core::{Format, OffsetDays};

use super::SourceProgress;

impl SourceProgress {
    /// Notes the zone offset of the first record with a time of block number `block`, unless an
    /// earlier block had one.
    pub(crate) fn note_offset(&self, block: u64, offset_s: impl FnOnce() -> Option<i32>) {
        let mut state = self.state.lock();
        if state.first_offset.is_none() {
            state.first_offset = offset_s().map(|offset_s| (block, offset_s));
        }
    }

    /// Adds the offsets of the requests of a block.
    pub(crate) fn add_offset_days(&self, days: &OffsetDays) {
        self.state.lock().offset_days.merge(days);
    }

    /// Adds the offsets of its requests to others.
    pub(crate) fn add_offset_days_to(&self, all: &mut OffsetDays) {
        all.merge(&self.state.lock().offset_days);
    }

    /// Returns the number of the block with its first record that has a time, and the zone offset
    /// of that record in seconds.
    pub(crate) fn first_offset(&self) -> Option<(u64, i32)> {
        self.state.lock().first_offset
    }

    /// Whether some of its lines were read with a format of this name and definition.
    pub(crate) fn has_used(&self, format: &Format) -> bool {
        let state = self.state.lock();
        let counted = state.by_format.iter().map(|(format, _)| format);
        state.formats.iter().chain(counted).any(|used| used.is_same_as(format))
    }

    /// Returns the formats in its first block that has records, in the order in which they
    /// appeared. They do not depend on how far the source is read.
    pub fn first_formats(&self) -> Vec<Arc<Format>> {
        let state = self.state.lock();
        let first = state.by_format.iter().take(state.first_formats);
        first.map(|(format, _)| format.clone()).collect()
    }

    pub(crate) fn set_format(&self, format: Arc<Format>, parsed_share: Option<f64>) {
        let mut state = self.state.lock();
        state.formats.push(format.clone());
        state.format = Some((format, parsed_share));
    }

    /// Changes the format of the lines from `offset` on.
    pub(crate) fn change_format(&self, format: Arc<Format>, parsed_share: f64, offset: u64) {
        let mut state = self.state.lock();
        let name = format.name();
        let mut note = format!("from byte {offset} on it is read as {name}");
        if let Some((before, _)) = &state.format {
            note = format!("its lines no longer fit {}; {note}", before.name());
        }
        state.format_note = Some(note.clone());
        state.news = Some(note);
        state.formats.push(format.clone());
        state.format = Some((format, Some(parsed_share)));
    }
}
