//! A data set at one moment, with all that is stored of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_core::{Format, OffsetDays, SegmentList};
use weir_store::{StoredSource, Summary};

use crate::pipeline::DataSet;

/// The state of a data set between two blocks.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) epoch: u64,
    pub(crate) segments: SegmentList,
    /// Whether each source is kept.
    pub(crate) are_kept: Vec<bool>,
    /// The sources that have changed, with their numbers.
    pub(crate) sources: Vec<(u32, StoredSource)>,
    pub(crate) formats: Vec<Arc<Format>>,
    pub(crate) summary: Summary,
}

impl DataSet {
    /// Returns the state of the sources that are kept, and their segments among all. `has_changed`
    /// decides about a source with this number, of which so many bytes were read.
    pub(crate) fn moment(&self, mut has_changed: impl FnMut(u32, u64) -> bool) -> Moment {
        let _reorder = self.lock_appends();
        let epoch = self.values().reuses();
        let segments = self.segments();
        let all = self.all_sources();
        let kept = || all.iter().filter(|source| source.is_kept());
        let mut offset_days = OffsetDays::default();
        kept().for_each(|source| source.add_offset_days_to(&mut offset_days));
        let first = kept().filter_map(|source| source.first_offset()).min();
        let first_offset_s = first.map(|(_, offset_s)| offset_s);
        let value_days = offset_days.has_several().then(|| offset_days.clone());
        let mut formats = self.formats();
        formats.retain(|format| kept().any(|source| source.has_used(format)));
        let changed = all
            .iter()
            .filter(|source| has_changed(source.number(), source.read_counts().bytes_read));
        let stored = |source: &Arc<crate::progress::SourceProgress>| {
            // Nothing is stored of others but that they had a number.
            let hidden = || StoredSource { is_removed: true, ..StoredSource::default() };
            let stored = if source.is_kept() { source.stored() } else { hidden() };
            (source.number(), stored)
        };
        Moment {
            epoch,
            segments,
            are_kept: all.iter().map(|source| source.is_kept()).collect(),
            sources: changed.map(stored).collect(),
            formats,
            summary: Summary {
                first_offset_s,
                value_days,
                offset_days,
                lacks_offset: first.is_none() && self.lacks_offset.load(Ordering::Relaxed),
                blocks: self.blocks.load(Ordering::Relaxed),
            },
        }
    }
}
