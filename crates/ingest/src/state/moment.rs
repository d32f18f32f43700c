//! A data set at one moment, with all that is stored of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_core::{Format, OffsetDays, SegmentList};
use weir_store::{StoredSource, Summary};

use crate::pipeline::DataSet;
use crate::progress::SourceProgress;

/// What changes when something else has to be stored of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceRevision {
    bytes_read: u64,
    /// The number of changes of the files that it was read from.
    file_changes: u64,
}

impl SourceRevision {
    fn of(source: &SourceProgress) -> Self {
        let bytes_read = source.read_counts().bytes_read;
        Self { bytes_read, file_changes: source.file_changes() }
    }
}

/// The state of a data set between two blocks.
#[derive(Debug)]
pub(crate) struct Moment {
    pub(crate) epoch: u64,
    pub(crate) segments: SegmentList,
    /// Whether each source is kept.
    pub(crate) are_kept: Vec<bool>,
    /// The sources that have changed, with their numbers.
    pub(crate) sources: Vec<(u32, StoredSource)>,
    /// Their revisions, in the same order.
    pub(crate) revisions: Vec<SourceRevision>,
    pub(crate) formats: Vec<Arc<Format>>,
    pub(crate) summary: Summary,
}

impl DataSet {
    /// Returns the state of the sources that are kept, and their segments among all. `has_changed`
    /// decides about a source with this number.
    pub(crate) fn moment(&self, has_changed: impl Fn(u32, SourceRevision) -> bool) -> Moment {
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
        let (changed, revisions): (Vec<_>, Vec<_>) = all
            .iter()
            .map(|source| (source, SourceRevision::of(source)))
            .filter(|(source, revision)| has_changed(source.number(), *revision))
            .unzip();
        let stored = |source: &Arc<SourceProgress>| {
            // Nothing is stored of others but that they had a number.
            let hidden = || StoredSource { is_removed: true, ..StoredSource::default() };
            let stored = if source.is_kept() { source.stored() } else { hidden() };
            (source.number(), stored)
        };
        Moment {
            epoch,
            segments,
            are_kept: all.iter().map(|source| source.is_kept()).collect(),
            sources: changed.into_iter().map(stored).collect(),
            revisions,
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
