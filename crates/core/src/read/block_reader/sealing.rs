//! Packing the columns of a block.

use super::BlockReader;
use crate::column::{Codes, ColumnData, Numbers, Segment, Times};
use crate::field::Field;
use crate::read::read_block::{ReadBlock, ResolvedBlock};
use crate::schema::ColumnId;
use crate::values::PendingSegment;

impl BlockReader {
    /// Packs the columns of a block.
    ///
    /// Needs no access to the values. Columns that no row has are left out. When the last block in
    /// flight is sealed, a reader that has become large forgets the values of its largest columns.
    pub fn seal(&mut self, resolved: ResolvedBlock) -> PendingSegment {
        let ResolvedBlock(mut read) = resolved;
        let segment = Segment {
            kind: self.kind,
            rows: read.columns.line_starts.len(),
            source: read.source,
            block_offset: read.block_offset,
            line_start: Codes::pack_ids(&read.columns.line_starts),
            columns: self.seal_columns(&mut read),
        };
        self.spare = Some(read.columns);
        self.unsealed -= 1;
        if self.unsealed == 0 {
            self.guard = None;
            if self.is_outdated {
                self.forget_all();
            } else if self.is_large() {
                self.forget();
            }
        }
        PendingSegment::new(segment, read.guard)
    }
    /// Returns the packed columns that some row has, in the order of their ids.
    fn seal_columns(&mut self, read: &mut ReadBlock) -> Vec<(ColumnId, ColumnData)> {
        let mut columns = self.seal_text(read);
        for (field, numbers) in self.numbers.iter().zip(&read.columns.numbers) {
            let data = Numbers::pack(numbers).map(ColumnData::Number);
            columns.extend(data.map(|data| (field.column(), data)));
        }
        if self.has_time {
            let times = Times::pack(&read.columns.instants, &read.columns.offsets);
            let data = times.map(|times| ColumnData::Time(Box::new(times)));
            columns.extend(data.map(|data| (Field::Time.column(), data)));
        }
        // Several fields share one column only if there are too many, see
        // `Schema::add_text_column`. The column gets the first of them: the sort is stable.
        columns.sort_by_key(|(id, _)| *id);
        columns.dedup_by_key(|(id, _)| *id);
        columns
    }

    fn seal_text(&mut self, read: &mut ReadBlock) -> Vec<(ColumnId, ColumnData)> {
        let columns = self.columns.iter().zip(&mut read.columns.text);
        let mut text: Vec<_> =
            columns.map(|(column, ids)| (column.column, column.seal(ids))).collect();
        if let Some(target) = &mut self.target {
            text.extend(target.seal(&read.columns.targets, read.ids.target));
        }
        let present = |(id, codes): (ColumnId, Option<Codes>)| Some((id, ColumnData::Text(codes?)));
        text.into_iter().filter_map(present).collect()
    }
}
