//! Finding the shared ids of a block's values.

use std::ops::DerefMut;

use super::BlockReader;
use crate::read::read_block::{Columns, LateIds, OwnIds, ReadBlock, ResolvedBlock};
use crate::read::target_columns::TargetColumns;
use crate::read::text_column::TextColumn;
use crate::values::Values;

impl BlockReader {
    /// Later blocks may add more before this one is resolved.
    pub(super) fn own_ids(&self) -> OwnIds {
        OwnIds {
            text: self.columns.iter().map(TextColumn::ids).collect(),
            target: self.target.as_ref().map(TargetColumns::ids).unwrap_or_default(),
        }
    }

    pub(super) fn count_late(&mut self, columns: &Columns) -> LateIds {
        let count = |(column, ids): (&mut TextColumn, &Vec<u32>)| {
            column.has_remainder().then(|| column.count_late(ids.iter().copied()))
        };
        let target = self.target.as_mut().map(|target| target.count_late(&columns.targets));
        LateIds {
            text: self.columns.iter_mut().zip(&columns.text).map(count).collect(),
            target: target.unwrap_or_default(),
        }
    }

    /// Finds the shared ids of values in `read` that are new to this reader but known to others.
    ///
    /// This step is optional and needs only shared access to the values. It leaves less work to
    /// [`Self::resolve`], which needs exclusive access.
    ///
    /// Many readers may do it at the same time, out of the order of the blocks.
    ///
    /// It changes no result: a value that is not found now is found by [`Self::resolve`].
    pub fn look_up(&mut self, read: &ReadBlock, values: &Values) {
        for (column, ids) in self.columns.iter_mut().zip(&read.ids.text) {
            column.look_up(*ids, values);
        }
        if let Some(target) = &mut self.target {
            target.look_up(read.ids.target, values);
        }
    }

    /// Finds the shared ids of all values in `read` that were new to this reader, or had none.
    /// Calls `values` only if there are any, to get exclusive access for a short time.
    pub fn resolve<V: DerefMut<Target = Values>>(
        &mut self,
        mut read: ReadBlock,
        values: impl FnOnce() -> V,
    ) -> ResolvedBlock {
        if !self.is_resolved(&read) {
            self.resolve_with(&mut read, &mut values());
        }
        ResolvedBlock(read)
    }

    fn is_resolved(&self, read: &ReadBlock) -> bool {
        let columns = &mut self.columns.iter().zip(&read.ids.text);
        (self.has_noted_offset || read.first_offset_s.is_none())
            && columns.all(|(column, ids)| column.is_resolved(*ids))
            && self.target.as_ref().is_none_or(|target| target.is_resolved(read.ids.target))
    }

    fn resolve_with(&mut self, read: &mut ReadBlock, values: &mut Values) {
        values.note_offset(read.first_offset_s);
        self.has_noted_offset |= read.first_offset_s.is_some();
        let late = std::mem::take(&mut read.late);
        let rows = read.columns.text.iter().zip(late.text);
        for ((column, ids), (rows, late)) in self.columns.iter_mut().zip(&read.ids.text).zip(rows) {
            let rows = rows.iter().copied();
            column.resolve(*ids, values, |column| late.unwrap_or_else(|| column.count_late(rows)));
        }
        if let Some(target) = &mut self.target {
            target.resolve(&read.columns.targets, read.ids.target, late.target, values);
        }
    }
}
