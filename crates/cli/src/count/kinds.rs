//! Counts of each kind of records, which are not added up.

use weir_core::RecordKind;
use weir_ingest::{MemoryBudget, ValueTally};
use weir_view::{KindCount, main_kind};

/// The tally of each kind.
#[derive(Debug, Default)]
pub(super) struct KindTallies {
    kinds: [KindTally; RecordKind::ALL.len()],
}

/// The tally of one kind.
#[derive(Debug, Default)]
pub(super) struct KindTally {
    pub(super) tally: ValueTally,
    /// The records of the kind, whether or not they meet the conditions.
    pub(super) records: u64,
    /// Why some of the records could not be counted: their format lacks a field. A sentence.
    pub(super) error: Option<String>,
}

impl KindTallies {
    /// The tally of a kind.
    pub(super) fn of_mut(&mut self, kind: RecordKind) -> &mut KindTally {
        &mut self.kinds[kind as usize]
    }

    /// Whether a request was counted.
    pub(super) fn has_requests(&self) -> bool {
        self.kinds[RecordKind::Request as usize].records > 0
    }

    /// Adds the counts of other texts.
    pub(super) fn merge(&mut self, other: Self, memory: &MemoryBudget) {
        for (own, other) in self.kinds.iter_mut().zip(other.kinds) {
            own.tally.merge(other.tally, memory);
            own.records += other.records;
            own.error = own.error.take().or(other.error);
        }
    }

    /// Drops the counts and gives back their memory.
    pub(super) fn release(self, memory: &MemoryBudget) {
        self.kinds.into_iter().for_each(|kind| kind.tally.release(memory));
    }

    /// The number of records of each kind that there is.
    pub(super) fn counts(&self) -> Vec<KindCount> {
        let kinds = RecordKind::ALL.into_iter().zip(&self.kinds);
        let count = |(kind, tally): (RecordKind, &KindTally)| KindCount {
            kind: kind.into(),
            records: tally.records,
        };
        kinds.map(count).filter(|count| count.records > 0).collect()
    }

    /// The kind to print if none is asked for.
    pub(super) fn main_kind(&self) -> weir_view::RecordKind {
        main_kind(&self.counts())
    }
}
