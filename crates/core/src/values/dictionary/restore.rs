//! Filling a dictionary with values that have ids already.

use super::{Dictionary, ENTRY_BYTES, Entry, Span, spread};

/// Why values cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredValueError {
    /// An id has a value already, or is none.
    Id,
    /// They take more than the memory limit.
    Memory,
}

impl Dictionary {
    /// Adds values with ids from `first_id` on, each of which is free. Ids before the first that no
    /// value has had become free. `room` is the memory that all may take.
    pub(in crate::values) fn restore<'a>(
        &mut self,
        first_id: u32,
        values: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
        room: usize,
    ) -> Result<(), StoredValueError> {
        let first = (first_id as usize).checked_sub(2).ok_or(StoredValueError::Id)?;
        let end = first.checked_add(values.len()).filter(|end| *end < u32::MAX as usize - 2);
        let added = end.ok_or(StoredValueError::Id)?.saturating_sub(self.spans.len());
        let mut left = added
            .checked_mul(ENTRY_BYTES)
            .and_then(|bytes| room.checked_sub(bytes))
            .ok_or(StoredValueError::Memory)?;
        self.table.reserve(values.len(), |entry| spread(entry.hash));
        self.spans.reserve(added);
        let mut free: Vec<u32> = (self.ids() as u32..first_id).collect();
        self.spans.resize(first.max(self.spans.len()), Span::FREE);
        for (id, value) in (first_id..).zip(values) {
            let is_next = id as usize == self.ids();
            let Some(value) = value else {
                if is_next {
                    self.spans.push(Span::FREE);
                    free.push(id);
                }
                continue;
            };
            left = left.checked_sub(value.len()).ok_or(StoredValueError::Memory)?;
            let span = self.store(value);
            if is_next {
                self.spans.push(span);
            } else {
                self.take_free(id)?;
                self.spans[id as usize - 2] = span;
            }
            let hash = self.hash(value);
            self.table.insert_unique(spread(hash), Entry { hash, id }, |entry| spread(entry.hash));
        }
        // The last free id is assigned first, and the lowest is to be.
        self.free.splice(0..0, free.into_iter().rev());
        Ok(())
    }

    /// Takes an id from the free ones, which are in descending order.
    fn take_free(&mut self, id: u32) -> Result<(), StoredValueError> {
        let found = self.free.binary_search_by(|free| id.cmp(free));
        self.free.remove(found.map_err(|_| StoredValueError::Id)?);
        Ok(())
    }

    /// The ids below [`Self::ids`] that no value has.
    pub(in crate::values) fn free_ids(&self) -> &[u32] {
        &self.free
    }

    /// The ids of values that have more records than are counted under them.
    pub(in crate::values) fn uncounted_entries(&self) -> impl Iterator<Item = (u32, u64)> {
        self.uncounted.iter().map(|(id, records)| (*id, *records))
    }

    /// Sets what was stored of a value, if there is one with this id.
    pub(in crate::values) fn restore_uncounted_max(&mut self, id: u32, records: u64) {
        if self.value(id).is_some() {
            self.set_uncounted_max(id, records);
        }
    }
}
