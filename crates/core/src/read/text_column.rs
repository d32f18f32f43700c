//! A text column of a reader.
//!
//! An own id is at first known to the reader alone. When it is looked up, `shared` gets an element
//! for it: the shared id if another reader has added the value, otherwise [`ABSENT`], and the own
//! id is put into `unknown`. Resolving gives a shared id to the own ids in `unknown` and to those
//! that were never looked up.

use std::collections::VecDeque;

use crate::column::{ABSENT, Codes};
use crate::schema::ColumnId;
use crate::values::{LocalInterner, Values};

/// A text column of a format: the values that this reader has met, and their shared ids.
///
/// Own id 0 is the absent value, and its shared id is [`ABSENT`] too.
#[derive(Debug)]
pub(super) struct TextColumn {
    pub(super) column: ColumnId,
    interner: LocalInterner,
    /// The shared id of each own id. Shorter than `interner` while values are not looked up.
    shared: Vec<u32>,
    /// The own ids that were looked up but had no shared id, ascending.
    unknown: VecDeque<u32>,
}

impl TextColumn {
    pub(super) fn new(column: ColumnId) -> Self {
        let (interner, shared) = (LocalInterner::new(), vec![ABSENT]);
        Self { column, interner, shared, unknown: VecDeque::new() }
    }

    /// Returns the number of own ids assigned so far.
    pub(super) fn ids(&self) -> usize {
        self.interner.ids()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.interner.memory_bytes() + self.shared.capacity() * size_of::<u32>()
    }

    /// Returns the own id of one value.
    pub(super) fn intern_one(&mut self, value: &[u8]) -> u32 {
        self.interner.intern_one(value)
    }

    /// Returns the shared id of a resolved own id.
    pub(super) fn shared(&self, id: u32) -> u32 {
        self.shared[id as usize]
    }

    /// Appends the own ids of up to [`crate::values::BATCH`] values to `ids`.
    pub(super) fn intern_batch<'a>(
        &mut self,
        values: impl Iterator<Item = Option<&'a [u8]>> + Clone,
        ids: &mut Vec<u32>,
    ) {
        self.interner.intern_batch(values, ids);
    }

    /// Finds the shared ids of the own ids below `ids`, if other readers have added their values.
    pub(super) fn look_up(&mut self, ids: usize, values: &Values) {
        let dictionary = values.dictionary(self.column);
        for id in self.shared.len()..ids {
            let shared = dictionary.find_live(self.interner.value(id));
            if shared.is_none() {
                self.unknown.push_back(id as u32);
            }
            self.shared.push(shared.unwrap_or(ABSENT));
        }
    }

    /// Returns whether all own ids below `ids` have a shared id.
    pub(super) fn is_resolved(&self, ids: usize) -> bool {
        self.shared.len() >= ids && self.unknown.front().is_none_or(|id| *id as usize >= ids)
    }

    /// Assigns a shared id to every own id below `ids`.
    pub(super) fn resolve(&mut self, ids: usize, values: &mut Values) {
        while let Some(id) = self.unknown.pop_front_if(|id| (*id as usize) < ids) {
            let id = id as usize;
            self.shared[id] = values.intern(self.column, self.interner.value(id));
        }
        for id in self.shared.len()..ids {
            self.shared.push(values.intern(self.column, self.interner.value(id)));
        }
    }

    /// Packs a column of resolved own ids; `None` if no row has the field.
    ///
    /// The ids are translated in place, so `ids` then holds shared ids.
    pub(super) fn seal(&self, ids: &mut [u32]) -> Option<Codes> {
        for id in &mut *ids {
            *id = self.shared[*id as usize];
        }
        Codes::pack_text(ids)
    }

    /// Forgets all values.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.column);
    }
}
