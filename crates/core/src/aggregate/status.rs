//! The class of a response status.

use crate::field::Field;
use crate::value::status_class;
use crate::values::Values;

/// The class of every distinct status, by dictionary id.
#[derive(Debug, Clone, Default)]
pub struct StatusClasses {
    by_id: Vec<u8>,
}

impl StatusClasses {
    /// Looks at the values that were added since the last call.
    pub fn refresh(&mut self, values: &Values) {
        let dictionary = values.dictionary(Field::Status.column());
        for id in self.by_id.len()..dictionary.ids() {
            // The absent value and the remainder have no class.
            let class = dictionary.value(id as u32).map_or(0, status_class);
            self.by_id.push(class as u8);
        }
    }

    /// Returns the class of a dictionary id.
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
