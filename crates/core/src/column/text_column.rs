//! The text columns of a reader.

use super::codes::Codes;
use super::dictionary::ABSENT;
use super::seen::SeenValues;
use super::values::{ColumnId, Values};
use crate::format::Split;

/// A text column of a format: the values this reader met, and their shared ids.
#[derive(Debug)]
pub(super) struct TextColumn {
    pub(super) column: ColumnId,
    seen: SeenValues,
    /// Shared ids by own id; shorter than `seen` while values are not resolved.
    shared: Vec<u32>,
}

impl TextColumn {
    pub(super) fn new(column: ColumnId) -> Self {
        Self { column, seen: SeenValues::new(), shared: vec![ABSENT] }
    }

    /// The own ids given out so far.
    pub(super) fn ids(&self) -> usize {
        self.seen.ids()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.seen.memory_bytes() + self.shared.capacity() * size_of::<u32>()
    }

    /// Appends the own ids of up to [`super::seen::BATCH`] values to `ids`.
    pub(super) fn intern_batch<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a [u8]>> + Clone,
        ids: &mut Vec<u32>,
    ) {
        self.seen.intern_batch(values, ids);
    }

    /// Finds the shared ids of the own ids below `ids`.
    pub(super) fn resolve(&mut self, ids: usize, values: &mut Values) {
        for id in self.shared.len()..ids {
            self.shared.push(values.intern(self.column, self.seen.value(id)));
        }
    }

    /// Packs a column of resolved own ids; `None` where no row has the field.
    pub(super) fn seal(&self, ids: &mut [u32]) -> Option<Codes> {
        for id in &mut *ids {
            *id = self.shared[*id as usize];
        }
        pack(ids)
    }

    /// Forgets all values.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.column);
    }
}

/// The columns of a value that is several fields: each distinct value is divided once.
#[derive(Debug)]
pub(super) struct SplitColumns {
    split: Split,
    /// The whole values.
    seen: SeenValues,
    /// In the order of [`Split::fields`].
    parts: Vec<TextColumn>,
    /// The parts' own ids by the whole value's own id, as many each as there are parts.
    part_ids: Vec<u32>,
    /// As `part_ids`, with shared ids; shorter while values are not resolved.
    shared: Vec<u32>,
}

impl SplitColumns {
    pub(super) fn new(split: Split) -> Self {
        let columns = split.fields().iter().filter_map(|field| Values::column(*field));
        let parts: Vec<TextColumn> = columns.map(TextColumn::new).collect();
        let absent = vec![ABSENT; parts.len()];
        let seen = SeenValues::new();
        Self { split, seen, parts, part_ids: absent.clone(), shared: absent }
    }

    pub(super) fn parts(&self) -> &[TextColumn] {
        &self.parts
    }

    /// The own ids of whole values given out so far.
    pub(super) fn ids(&self) -> usize {
        self.seen.ids()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let parts: usize = self.parts.iter().map(TextColumn::memory_bytes).sum();
        let ids = self.part_ids.capacity() + self.shared.capacity();
        self.seen.memory_bytes() + parts + ids * size_of::<u32>()
    }

    /// Appends the own ids of up to [`super::seen::BATCH`] whole values to `ids`.
    pub(super) fn intern_batch<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a [u8]>> + Clone,
        ids: &mut Vec<u32>,
    ) {
        let known = self.seen.ids();
        self.seen.intern_batch(values, ids);
        for id in known..self.seen.ids() {
            let parts = self.split.parts(self.seen.value(id));
            for (column, part) in self.parts.iter_mut().zip(parts) {
                let id = part.map_or(ABSENT, |part| column.seen.intern_one(part));
                self.part_ids.push(id);
            }
        }
    }

    /// Finds the shared ids of the parts, whose own ids are below `ids`.
    pub(super) fn resolve(&mut self, ids: &[usize], values: &mut Values) {
        for (column, ids) in self.parts.iter_mut().zip(ids) {
            column.resolve(*ids, values);
        }
    }

    /// Packs the columns of resolved whole values, whose own ids are below `ids_end`.
    pub(super) fn seal(&mut self, ids: &[u32], ids_end: usize) -> Vec<(ColumnId, Option<Codes>)> {
        let width = self.parts.len();
        for at in self.shared.len()..ids_end * width {
            let shared = self.parts[at % width].shared[self.part_ids[at] as usize];
            self.shared.push(shared);
        }
        let mut columns = vec![Vec::with_capacity(ids.len()); width];
        for id in ids {
            let parts = &self.shared[*id as usize * width..][..width];
            for (column, part) in columns.iter_mut().zip(parts) {
                column.push(*part);
            }
        }
        self.parts.iter().map(|part| part.column).zip(columns.iter().map(|ids| pack(ids))).collect()
    }

    /// Forgets all values.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.split);
    }
}

/// `None` where every id is the absent value's.
fn pack(ids: &[u32]) -> Option<Codes> {
    let codes = Codes::pack_ids(ids);
    let absent = Codes::Constant { code: u64::from(ABSENT), rows: ids.len() };
    (codes != absent).then_some(codes)
}
