//! The memory of a reader: the values that it remembers, and when it forgets them.

use super::BlockReader;
use crate::read::derived_columns::DerivedColumn;
use crate::read::target_columns::TargetColumns;
use crate::read::text_column::TextColumn;
use crate::values::InFlightGuard;

impl BlockReader {
    /// Returns the memory of the values that this reader remembers, in bytes.
    ///
    /// Not included are the columns of the block that is being read.
    pub fn memory_bytes(&self) -> usize {
        let columns: usize = self.columns.iter().map(TextColumn::memory_bytes).sum();
        let derived: usize = self.derived.iter().map(DerivedColumn::memory_bytes).sum();
        columns + derived + self.target.as_ref().map_or(0, TargetColumns::memory_bytes)
    }

    /// Returns whether the reader remembers so many values that it should forget some.
    ///
    /// Blocks in flight refer to the remembered values, so the reader can forget them only when all
    /// blocks are sealed.
    pub fn is_large(&self) -> bool {
        self.is_outdated || self.memory_bytes() > self.remembered_bytes_max
    }

    /// Begins a block. If a new generation of ids has begun, the reader forgets its ids. While
    /// other blocks wait to be sealed, it continues with those ids: the blocks keep the old
    /// generation from ending.
    pub(super) fn enter(&mut self) -> InFlightGuard {
        let guard = self.generations.enter();
        if guard.generation() != self.generation {
            if let Some(old) = &self.guard {
                self.is_outdated = true;
                return old.clone();
            }
            self.forget_all();
            self.generation = guard.generation();
        }
        self.guard.get_or_insert_with(|| guard.clone());
        guard
    }

    pub(super) fn forget_all(&mut self) {
        self.is_outdated = false;
        self.columns.iter_mut().for_each(TextColumn::forget);
        self.target.iter_mut().for_each(TargetColumns::forget);
        self.derived.iter_mut().for_each(DerivedColumn::forget);
    }

    /// Forgets the columns that exceed their share of the memory.
    #[cold]
    pub(super) fn forget(&mut self) {
        let share = self.remembered_bytes_max / (self.columns.len() + 1);
        for column in self.columns.iter_mut().filter(|column| column.memory_bytes() > share) {
            column.forget();
        }
        if let Some(target) = self.target.as_mut().filter(|target| target.memory_bytes() > share) {
            target.forget();
        }
        // They know ids of all columns.
        self.derived.iter_mut().for_each(DerivedColumn::forget);
    }
}
