//! The class of a response status.

use crate::field::Field;
use crate::value::parse_digits;
use crate::values::Values;

/// The names of the classes, by number: class 0 is whatever is no status from 100 to 599.
pub const STATUS_CLASSES: [&str; 6] = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];

/// The class of every distinct status, by dictionary id.
#[derive(Debug, Clone, Default)]
pub struct StatusClasses {
    by_id: Vec<u8>,
}

impl StatusClasses {
    /// Learns the values that came since the last call.
    pub fn learn(&mut self, values: &Values) {
        let Some(column) = Values::column(Field::Status) else { return };
        let dictionary = values.dictionary(column);
        for id in self.by_id.len()..dictionary.ids() {
            let status = dictionary.value(id as u32).and_then(parse_digits);
            self.by_id.push(match status {
                Some(status @ 100..600) => (status / 100) as u8,
                _ => 0,
            });
        }
    }

    /// The class of a dictionary id.
    #[inline]
    pub fn class(&self, id: u64) -> u8 {
        self.by_id.get(id as usize).copied().unwrap_or(0)
    }

    /// True for the classes that count as errors: 4xx and 5xx.
    #[inline]
    pub fn is_error(class: u8) -> bool {
        class >= 4
    }
}
