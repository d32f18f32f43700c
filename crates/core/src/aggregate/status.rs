//! The class of a response status.
//!
//! A status is text with an id, and its class is needed for every row: for the number of errors and
//! for the stacked histogram. So the class of each id is computed once, and a row costs one access
//! to a short table.

use crate::field::Field;
use crate::value::status_class;
use crate::values::{DecidedIds, Values};

/// The class of every distinct status, by dictionary id.
///
/// One byte for each distinct status of the data set.
///
/// # Examples
///
/// ```
/// use weir_core::{Field, StatusClasses, Values};
///
/// let mut values = Values::new(1 << 20);
/// let id = values.intern(Field::Status.column(), b"404");
/// let mut classes = StatusClasses::default();
/// classes.refresh(&values);
/// assert_eq!(classes.class(u64::from(id)), 4);
/// assert!(StatusClasses::is_error(4) && !StatusClasses::is_error(3));
/// ```
#[derive(Debug, Clone, Default)]
pub struct StatusClasses {
    by_id: Vec<u8>,
    decided: DecidedIds,
}

impl StatusClasses {
    /// Looks at the values that were added since the last call.
    ///
    /// Call it before a segment with new statuses is counted. Takes time for new values alone.
    pub fn refresh(&mut self, values: &Values) {
        let dictionary = values.dictionary(Field::Status.column());
        self.by_id.resize(dictionary.ids(), 0);
        for id in self.decided.update(dictionary) {
            // The absent value and the remainder have no class.
            let class = dictionary.value(id as u32).map_or(0, status_class);
            self.by_id[id] = class as u8;
        }
    }

    /// Returns the class of a dictionary id.
    ///
    /// The index into [`crate::STATUS_CLASSES`]. 0 for an absent status, the remainder, and an id
    /// that [`Self::refresh`] has not seen.
    #[inline]
    pub fn class(&self, id: u64) -> u8 {
        self.by_id.get(id as usize).copied().unwrap_or(0)
    }

    /// Returns whether a class counts as an error: 4xx or 5xx.
    #[inline]
    pub fn is_error(class: u8) -> bool {
        class >= 4
    }
}
