//! Separate counts for each kind of records.

use weir_core::RecordKind;
use weir_ingest::{MemoryBudget, TallyChunk, ValueTally};
use weir_view::{KindCount, main_kind};

use crate::scan::RecordPeriod;

/// The tally of each kind, in a common memory budget.
#[derive(Debug)]
pub(super) struct KindTallies {
    kinds: [KindTally; RecordKind::ALL.len()],
    budget: MemoryBudget,
    /// Whether other kinds are ignored once there is a request.
    prefers_requests: bool,
}

/// The tally of one kind.
#[derive(Debug, Default)]
pub(super) struct KindTally {
    pub(super) tally: ValueTally,
    /// The number of records of the kind, whether or not they meet the conditions.
    pub(super) records: u64,
    /// The period of the records, if it is recorded.
    pub(super) period: RecordPeriod,
    /// The reason why some records could not be counted: their format lacks a field. A sentence.
    pub(super) error: Option<String>,
}

/// The counts of each kind in a part of the log.
#[derive(Debug, Default)]
pub(super) struct KindChunks {
    kinds: [KindChunk; RecordKind::ALL.len()],
}

/// The counts of one kind in a part of the log.
#[derive(Debug, Default)]
pub(super) struct KindChunk {
    pub(super) tally: TallyChunk,
    /// See [`KindTally::records`].
    pub(super) records: u64,
    /// See [`KindTally::period`].
    pub(super) period: RecordPeriod,
    /// See [`KindTally::error`].
    pub(super) error: Option<String>,
}

impl KindChunks {
    /// The counts of a kind.
    pub(super) fn of_mut(&mut self, kind: RecordKind) -> &mut KindChunk {
        &mut self.kinds[kind as usize]
    }

    /// Whether a request was counted.
    pub(super) fn has_requests(&self) -> bool {
        self.kinds[RecordKind::Request as usize].records > 0
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.kinds.iter().map(|kind| kind.tally.memory_bytes()).sum()
    }
}

impl KindTallies {
    /// Creates empty tallies. If `prefers_requests`, other kinds are not counted by value once
    /// there is a request.
    pub(super) fn new(budget: MemoryBudget, prefers_requests: bool) -> Self {
        Self { kinds: Default::default(), budget, prefers_requests }
    }

    /// The tally of a kind.
    pub(super) fn of_mut(&mut self, kind: RecordKind) -> &mut KindTally {
        &mut self.kinds[kind as usize]
    }

    /// Adds the counts of the next part of the log.
    pub(super) fn add(&mut self, chunks: KindChunks) {
        let has_requests = self.kinds[RecordKind::Request as usize].records > 0;
        let only_requests = self.prefers_requests && (has_requests || chunks.has_requests());
        for ((kind, own), chunk) in
            RecordKind::ALL.into_iter().zip(&mut self.kinds).zip(chunks.kinds)
        {
            own.records += chunk.records;
            own.period.merge(chunk.period);
            own.error = own.error.take().or(chunk.error);
            if !only_requests || kind == RecordKind::Request {
                own.tally.add(chunk.tally, &mut self.budget);
            } else if !has_requests {
                own.tally.clear(&mut self.budget);
            }
        }
    }

    /// Returns the number of records of each kind that occurs.
    pub(super) fn counts(&self) -> Vec<KindCount> {
        let kinds = RecordKind::ALL.into_iter().zip(&self.kinds);
        let count = |(kind, tally): (RecordKind, &KindTally)| KindCount {
            kind: kind.into(),
            records: tally.records,
        };
        kinds.map(count).filter(|count| count.records > 0).collect()
    }

    /// Returns the kind to print if the arguments name none.
    pub(super) fn main_kind(&self) -> weir_view::RecordKind {
        main_kind(&self.counts())
    }
}
