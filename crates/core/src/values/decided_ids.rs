//! Which distinct values a cache of decisions has to look at.

use std::ops::Range;

use super::dictionary::Dictionary;

/// The ids of a dictionary about which a cache has decided: something that is computed once for
/// each distinct value, and then looked up for each row.
///
/// New values usually have higher ids than all others. After a sweep they get the free ids first,
/// from the lowest upwards. So the cache has to look again at those that were free. It is invalid
/// as a whole once [`Values::reuses`](super::Values::reuses) has grown.
///
/// # Examples
///
/// ```
/// use weir_core::{DecidedIds, Field, Values};
///
/// let mut values = Values::new(1 << 20);
/// let path = Field::Path.column();
/// let mut is_page = Vec::new();
/// let mut decided = DecidedIds::default();
/// for path_text in [&b"/index.html"[..], b"/logo.png"] {
///     values.intern(path, path_text);
///     let dictionary = values.dictionary(path);
///     is_page.resize(dictionary.ids(), false);
///     for id in decided.update(dictionary) {
///         is_page[id] = dictionary.value(id as u32).is_some_and(|text| text.ends_with(b"html"));
///     }
/// }
/// assert_eq!(is_page, [false, false, true, false]); // absent, remainder, and the two
/// ```
#[derive(Debug, Clone, Default)]
pub struct DecidedIds {
    /// Ids below this have been decided about.
    known: usize,
    /// Ids below this had a value then, which they keep.
    settled: usize,
}

impl DecidedIds {
    /// Returns the ids to decide about, and counts them as decided: those that may have got a value
    /// since the last call, and those that were added. Each one is below [`Dictionary::ids`].
    pub fn update(&mut self, dictionary: &Dictionary) -> impl Iterator<Item = usize> + use<> {
        let [again, added] = self.undecided(dictionary);
        *self = Self { known: dictionary.ids(), settled: dictionary.first_free() };
        again.chain(added)
    }

    /// The ids that may have got a value since the last call, and those that were added.
    pub(crate) fn undecided(&self, dictionary: &Dictionary) -> [Range<usize>; 2] {
        let again_end = dictionary.first_free().min(self.known).max(self.settled);
        [self.settled..again_end, self.known..dictionary.ids().max(self.known)]
    }

    /// Counts ids as decided. `first_free` is that of the dictionary when they were
    /// [undecided](Self::undecided). Those that were added must be decided in order.
    pub(crate) fn accept(&mut self, ids: &Range<usize>, first_free: usize) {
        self.known = self.known.max(ids.end);
        if ids.start <= self.settled {
            self.settled = self.settled.max(ids.end.min(first_free));
        }
    }

    /// Ids below this need not be decided about again.
    pub(crate) fn settled(&self) -> usize {
        self.settled
    }

    /// The number of ids that have been decided about.
    pub(crate) fn known(&self) -> usize {
        self.known
    }
}
