//! The values that the segments of a data set use.

use super::store::Values;
use crate::column::{Codes, Segment};

/// A bit for each id of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct IdBits {
    words: Vec<u64>,
    ids: usize,
}

/// The ids that occur in some segments, for every column. Ids that are assigned after this was
/// created count as live.
///
/// Mark every segment of the data set, then pass the set to [`Values::begin_sweep`]: the values of
/// all other ids are evicted. Marking reads each column once and costs a bit per id.
#[derive(Debug, Clone)]
pub struct LiveIds {
    columns: Vec<IdBits>,
}

impl IdBits {
    fn new(ids: usize) -> Self {
        Self { words: vec![0; ids.div_ceil(64)], ids }
    }

    /// Returns whether the bit of an id is set. Ids beyond the last bit count as set.
    #[inline]
    pub(super) fn contains(&self, id: usize) -> bool {
        id >= self.ids || self.words[id / 64] >> (id % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn insert(&mut self, id: usize) {
        if id < self.ids {
            self.words[id / 64] |= 1 << (id % 64);
        }
    }

    pub(super) fn mark(&mut self, codes: &Codes) {
        match codes {
            Codes::Constant { code, .. } => self.insert(*code as usize),
            Codes::U8(codes) => codes.iter().for_each(|id| self.insert(usize::from(*id))),
            Codes::U16(codes) => codes.iter().for_each(|id| self.insert(usize::from(*id))),
            Codes::U32(codes) => codes.iter().for_each(|id| self.insert(*id as usize)),
            // Ids have 32 bits.
            Codes::U64(_) => {}
        }
    }
}

impl LiveIds {
    /// Returns a set in which none of the existing ids is live.
    pub fn new(values: &Values) -> Self {
        let bits = values.columns.iter().map(|column| IdBits::new(column.dictionary.ids()));
        Self { columns: bits.collect() }
    }

    /// Adds the ids that occur in a segment.
    pub fn mark(&mut self, segment: &Segment) {
        for (id, codes) in segment.text_columns() {
            if let Some(bits) = self.columns.get_mut(id.index()) {
                bits.mark(codes);
            }
        }
    }

    pub(super) fn into_columns(self) -> Vec<IdBits> {
        self.columns
    }
}
