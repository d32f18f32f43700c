//! What the distinct values of a column stand for.

use weir_core::{DecidedIds, Dictionary, REMAINDER};

/// Something that is read from each distinct value of a column once, by dictionary id. The absent value and
/// the remainder have the default.
#[derive(Debug, Clone, Default)]
pub(super) struct Learned<T> {
    by_id: Vec<T>,
    decided: DecidedIds,
}

impl<T: Clone + Default> Learned<T> {
    /// Reads the values that were added since the last call.
    pub(super) fn refresh(&mut self, dictionary: &Dictionary, mut read: impl FnMut(&[u8]) -> T) {
        self.by_id.resize(dictionary.ids(), T::default());
        for id in self.decided.update(dictionary) {
            let value = dictionary.value(id as u32).filter(|_| id as u32 != REMAINDER);
            self.by_id[id] = value.map(&mut read).unwrap_or_default();
        }
    }

    /// What the value with this id stands for; `None` if it was added since.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.by_id.get(id as usize)
    }
}
