//! Classifies each distinct value of a column once.

use weir_core::{DecidedIds, Dictionary, REMAINDER};

/// A classification of the distinct values of a column, by dictionary id. The absent value and the
/// remainder have the default.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueClasses<T> {
    by_id: Vec<T>,
    decided: DecidedIds,
}

impl<T: Clone + Default> ValueClasses<T> {
    /// Classifies the values that were added since the last call.
    pub(crate) fn refresh(&mut self, dictionary: &Dictionary, mut read: impl FnMut(&[u8]) -> T) {
        self.by_id.resize(dictionary.ids(), T::default());
        for id in self.decided.update(dictionary) {
            let value = dictionary.value(id as u32).filter(|_| id as u32 != REMAINDER);
            self.by_id[id] = value.map(&mut read).unwrap_or_default();
        }
    }

    /// Returns the classification of the value with this id; `None` if it was added after the last
    /// refresh.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.by_id.get(id as usize)
    }
}
