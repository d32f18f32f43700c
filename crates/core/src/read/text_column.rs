//! A text column of a reader.
//!
//! An own id is at first known to the reader alone. When it is looked up, `shared` gets an element
//! for it: the shared id if another reader has added the value, otherwise [`ABSENT`], and the own
//! id is put into `unknown`. Resolving gives a shared id to the own ids in `unknown` and to those
//! that were never looked up.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::column::{ABSENT, Codes, REMAINDER};
use crate::field::Field;
use crate::schema::ColumnId;
use crate::value::common_spelling;
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
    /// Whether an own id has the remainder for its shared id.
    has_remainder: bool,
    /// For each own id its position in the list that [`Self::count_late`] makes, from 1; 0 between
    /// calls.
    positions: Vec<u32>,
}

/// An own id without a shared id of its own, and the number of rows of a block that have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LateId {
    own: u32,
    rows: u32,
}

impl TextColumn {
    pub(super) fn new(column: ColumnId) -> Self {
        let (interner, shared) = (LocalInterner::new(), vec![ABSENT]);
        Self {
            column,
            interner,
            shared,
            unknown: VecDeque::new(),
            has_remainder: false,
            positions: Vec::new(),
        }
    }

    /// Returns the number of own ids assigned so far.
    pub(super) fn ids(&self) -> usize {
        self.interner.ids()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let ids = self.shared.capacity() + self.positions.capacity();
        self.interner.memory_bytes() + ids * size_of::<u32>()
    }

    /// Returns the own id of one value.
    pub(super) fn intern_one(&mut self, value: &[u8]) -> u32 {
        self.interner.intern_one(value)
    }

    /// Returns a value of the reader, as it is shared.
    ///
    /// # Panics
    /// If the reader has no such value.
    pub(super) fn value(&self, id: usize) -> Cow<'_, [u8]> {
        self.shared_value(id)
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
            let shared = dictionary.find_live(&self.shared_value(id));
            if shared.is_none() {
                self.unknown.push_back(id as u32);
            }
            self.shared.push(shared.unwrap_or(ABSENT));
        }
    }

    /// Returns whether all own ids below `ids` have a shared id that will not change.
    pub(super) fn is_resolved(&self, ids: usize) -> bool {
        self.shared.len() >= ids
            && self.unknown.front().is_none_or(|id| *id as usize >= ids)
            && !self.has_remainder
    }

    /// Whether an own id has the remainder for its shared id, so that late ids must be counted.
    pub(super) fn has_remainder(&self) -> bool {
        self.has_remainder
    }

    /// Counts the rows of a block, given by their own ids, that have no shared id or the
    /// remainder, by id in the order of first appearance. The order does not depend on what this
    /// reader has read before.
    pub(super) fn count_late(&mut self, rows: impl Iterator<Item = u32>) -> Vec<LateId> {
        self.positions.resize(self.interner.ids(), 0);
        let mut late: Vec<LateId> = Vec::new();
        for own in rows.filter(|own| *own != ABSENT) {
            // A value that was looked up in vain has `ABSENT` until it is resolved.
            let shared = self.shared.get(own as usize).copied().unwrap_or(ABSENT);
            if shared != ABSENT && shared != REMAINDER {
                continue;
            }
            match &mut self.positions[own as usize] {
                0 => {
                    late.push(LateId { own, rows: 1 });
                    self.positions[own as usize] = late.len() as u32;
                }
                position => late[*position as usize - 1].rows += 1,
            }
        }
        for id in &late {
            self.positions[id.own as usize] = 0;
        }
        late
    }

    /// Assigns a shared id to every own id below `ids`. `late` returns the late ids of the block;
    /// it is called if some may have the remainder.
    pub(super) fn resolve(
        &mut self,
        ids: usize,
        values: &mut Values,
        late: impl FnOnce(&mut Self) -> Vec<LateId>,
    ) {
        while let Some(id) = self.unknown.pop_front_if(|id| (*id as usize) < ids) {
            self.shared[id as usize] = self.intern(id as usize, values);
        }
        for id in self.shared.len()..ids {
            let shared = self.intern(id, values);
            self.shared.push(shared);
        }
        if !self.has_remainder {
            return;
        }
        for LateId { own, rows } in late(self) {
            let shared = &mut self.shared[own as usize];
            if *shared == REMAINDER {
                let value = shared_value(self.column, &self.interner, own as usize);
                *shared = values.intern_late(self.column, &value, u64::from(rows));
            }
        }
    }

    fn intern(&mut self, id: usize, values: &mut Values) -> u32 {
        let shared = values.intern(self.column, &self.shared_value(id));
        self.has_remainder |= shared == REMAINDER;
        shared
    }

    fn shared_value(&self, id: usize) -> Cow<'_, [u8]> {
        shared_value(self.column, &self.interner, id)
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

/// Returns the value of an own id in the shared dictionary. A client is one whatever the spelling of
/// its address.
fn shared_value(column: ColumnId, interner: &LocalInterner, id: usize) -> Cow<'_, [u8]> {
    let value = interner.value(id);
    match column == Field::Client.column() {
        true => common_spelling(value),
        false => Cow::Borrowed(value),
    }
}
