//! A set of ids, as bits.

use crate::column::Codes;

/// A bit for each id of a column.
#[derive(Debug, Clone, Default)]
pub(super) struct IdBits {
    words: Vec<u64>,
    ids: usize,
}

impl IdBits {
    /// No bit set, for the ids below `ids`.
    pub(super) fn new(ids: usize) -> Self {
        Self { words: vec![0; ids.div_ceil(64)], ids }
    }

    /// Returns whether the bit of an id is set. Ids beyond the last bit count as set.
    #[inline]
    pub(super) fn contains(&self, id: usize) -> bool {
        id >= self.ids || self.words[id / 64] >> (id % 64) & 1 == 1
    }

    /// Sets the bit of an id. Ids beyond the last bit are set anyway.
    #[inline]
    pub(super) fn insert(&mut self, id: usize) {
        if id < self.ids {
            self.words[id / 64] |= 1 << (id % 64);
        }
    }

    /// Sets the bits of all rows of a column.
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
