//! What of a data set the file of a state has.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{ColumnId, Segment, Selection};

use super::moment::SourceRevision;

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The segments, by their numbers.
    pub(super) segments: BTreeSet<u64>,
    /// The values, by column and id.
    pub(super) values: BTreeMap<usize, IdSet>,
    /// The revision of each source.
    pub(super) revisions: Vec<Option<SourceRevision>>,
    /// The columns whose names were not written, because no segment of a kept source had them.
    pub(super) hidden: BTreeSet<usize>,
    /// The meaning of the ids.
    pub(super) epoch: u64,
}

/// A set of ids.
#[derive(Debug, Default)]
pub(super) struct IdSet(Vec<u64>);

impl IdSet {
    /// Adds an id. Returns whether it is new.
    fn insert(&mut self, id: usize) -> bool {
        let (word, bit) = (id / 64, 1 << (id % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

impl Written {
    /// Counts the values of a segment as written. The ids of those that are new are added to `new`.
    pub(super) fn add_values(
        &mut self,
        segment: &Segment,
        new: &mut BTreeMap<ColumnId, BTreeSet<u32>>,
    ) {
        for (column, codes) in segment.text_columns() {
            let known = self.values.entry(column.index()).or_default();
            let mut last = 0;
            codes.for_each(&Selection::All(codes.rows().min(segment.rows())), |id| {
                // Ids 0 and 1 are no values. Equal ids often follow each other.
                if id > 1 && id != last && known.insert(id as usize) {
                    new.entry(column).or_default().insert(id as u32);
                }
                last = id;
            });
        }
    }
}

/// Ids that follow each other, as their first and the one after their last.
pub(super) fn runs(ids: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for id in ids {
        match runs.last_mut().filter(|(_, end)| end == id) {
            Some((_, end)) => *end = id + 1,
            None => runs.push((*id, id + 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::{IdSet, runs};

    #[test]
    fn ids_are_new_once_and_make_runs() {
        let mut set = IdSet::default();
        assert!([5, 6, 900, 5].map(|id| set.insert(id)).eq(&[true, true, true, false]));
        let runs = runs(&[2, 3, 4, 9, 11, 12].into());
        assert_eq!(runs, [(2, 5), (9, 10), (11, 13)]);
    }
}
