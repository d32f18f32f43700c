//! The progress of a source as plain data, and back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_core::{Format, FormatChoice};
use weir_store::{FormatRef, SourceEndKind, StoredPlace, StoredSample, StoredSource};

use super::{SourceEnd, SourceProgress, SourceSample, State};
use crate::error::SourceError;

impl SourceProgress {
    /// Returns what is stored of the source. Places are added by those who can read it again.
    pub(crate) fn stored(&self) -> StoredSource {
        let state = self.state.lock();
        let format = state.format.as_ref();
        StoredSource {
            name: self.name.clone(),
            bytes_total: self.bytes_total,
            bytes_taken: state.compressed.then(|| self.bytes_taken.load(Ordering::Relaxed)),
            counts: state.counts,
            format: format.map(|(format, share)| (FormatRef(format.clone()), *share)),
            by_format: state
                .by_format
                .iter()
                .map(|(format, records)| (FormatRef(format.clone()), *records))
                .collect(),
            first_formats: state.first_formats as u32,
            formats: state.formats.iter().map(|format| FormatRef(format.clone())).collect(),
            first_offset: state.first_offset,
            offset_days: state.offset_days.clone(),
            samples: state.samples.iter().map(stored_sample).collect(),
            end: match &state.end {
                None => SourceEndKind::Open,
                Some(SourceEnd::Done) => SourceEndKind::Done,
                Some(SourceEnd::Cancelled) => SourceEndKind::Cancelled,
                Some(SourceEnd::Failed(error)) => SourceEndKind::Failed(error.to_string()),
            },
            note: state.note.clone(),
            format_note: state.format_note.clone(),
            truncations: state
                .truncations
                .map(|(count, unread)| (count, unread.as_millis() as u64)),
            is_removed: self.is_removed(),
            places: Vec::new(),
        }
    }

    /// Whether the source is kept in the folder of a state.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Sets whether it is kept. A source whose lines have no place in a file is read again instead.
    pub(crate) fn set_kept(&self, is_kept: bool) {
        self.kept.store(is_kept, Ordering::Relaxed);
    }

    /// Goes on with a source that another process has read. Returns false if it is none, or goes on
    /// already.
    pub(crate) fn resume(&self) -> bool {
        let is_mine = self.is_restored && !self.is_removed() && self.is_kept();
        if !is_mine || self.resumed.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.cancelled.store(false, Ordering::Relaxed);
        self.state.lock().end = None;
        true
    }

    /// How the lines that follow those of another process are read.
    pub(crate) fn format_after(&self, choice: FormatChoice) -> FormatChoice {
        let state = self.state.lock();
        let format = state.format.as_ref().map(|(format, _)| format);
        // The last header that was read names the values of the lines that follow.
        let format = format.map(|format| {
            let counted = state.by_format.iter().rev().map(|(counted, _)| counted);
            let mut read = state.formats.iter().rev().chain(counted);
            let names_columns =
                |read: &&Arc<Format>| !read.waits_for_header() && read.name() == format.name();
            let last = read.find(names_columns).filter(|_| format.waits_for_header());
            last.unwrap_or(format)
        });
        match (choice, format.filter(|format| format.reads_lines())) {
            (FormatChoice::Detect, Some(format)) => {
                let others = state.by_format.iter().map(|(other, _)| other);
                let others =
                    others.filter(|other| !other.is_same_as(format) && other.reads_lines());
                FormatChoice::Known {
                    format: format.clone(),
                    companions: others.cloned().collect(),
                }
            }
            (choice, _) => choice,
        }
    }

    /// The places at which another process has read the last lines, until each is forgotten.
    pub(crate) fn restored_places(&self) -> Vec<StoredPlace> {
        self.places.lock().clone()
    }

    /// Forgets a place, from which the source goes on or cannot.
    pub(crate) fn forget_place(&self, place: &StoredPlace) {
        self.places.lock().retain(|known| known != place);
    }

    /// Returns a source as it was stored.
    pub(crate) fn restored(stored: StoredSource) -> Self {
        let mut progress = Self::new(&stored.name, stored.bytes_total);
        progress.is_restored = true;
        progress.kept = (!stored.is_removed).into();
        *progress.places.get_mut() = stored.places;
        let bytes = stored.counts.bytes_read;
        progress.bytes_taken.store(stored.bytes_taken.unwrap_or(0), Ordering::Relaxed);
        for offset in [&progress.written, &progress.cut] {
            offset.store(bytes, Ordering::Relaxed);
        }
        progress.parsed.send_replace(bytes);
        progress.removed.store(stored.is_removed, Ordering::Relaxed);
        let is_cancelled = stored.end == SourceEndKind::Cancelled;
        progress.cancelled.store(is_cancelled, Ordering::Relaxed);
        *progress.state.get_mut() = State {
            counts: stored.counts,
            format: stored.format.map(|(format, share)| (format.0, share)),
            by_format: stored.by_format.into_iter().map(|(it, records)| (it.0, records)).collect(),
            first_formats: stored.first_formats as usize,
            first_offset: stored.first_offset,
            offset_days: stored.offset_days,
            formats: stored.formats.into_iter().map(|format| format.0).collect(),
            compressed: stored.bytes_taken.is_some(),
            samples: stored.samples.into_iter().map(sample).collect(),
            end: match stored.end {
                SourceEndKind::Open => None,
                SourceEndKind::Done => Some(SourceEnd::Done),
                SourceEndKind::Cancelled => Some(SourceEnd::Cancelled),
                SourceEndKind::Failed(why) => Some(SourceEnd::Failed(SourceError::Refused(why))),
            },
            note: stored.note,
            format_note: stored.format_note,
            truncations: stored.truncations.map(|(count, ms)| (count, Duration::from_millis(ms))),
            ..State::default()
        };
        progress
    }
}

fn stored_sample(sample: &SourceSample) -> StoredSample {
    let SourceSample { line, column, reason, text } = sample.clone();
    StoredSample { line, column, reason, text }
}

fn sample(stored: StoredSample) -> SourceSample {
    let StoredSample { line, column, reason, text } = stored;
    SourceSample { line, column, reason, text }
}
