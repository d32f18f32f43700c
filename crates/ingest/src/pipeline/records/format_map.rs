//! Values that depend on the format of a record.

use std::sync::Arc;

use weir_core::Format;

/// A value for each format, such as the fields of a question, resolved in it. The value of a format
/// is made when its first record comes.
#[derive(Debug)]
pub struct FormatMap<T> {
    /// In the order of their last change of place, the most used first.
    entries: Vec<(Arc<Format>, T)>,
}

/// The most formats that are kept. Lists of fields and sources whose times lack a year have formats
/// of their own, so their number is unbounded.
const FORMATS_MAX: usize = 64;

impl<T> FormatMap<T> {
    /// Returns the value of a format, which `make` makes if there is none.
    #[inline]
    pub fn get(&mut self, format: &Arc<Format>, make: impl FnOnce() -> T) -> &mut T {
        let is_first = self.entries.first().is_some_and(|(known, _)| Arc::ptr_eq(known, format));
        if !is_first {
            self.move_to_front(format, make);
        }
        &mut self.entries[0].1
    }

    #[cold]
    fn move_to_front(&mut self, format: &Arc<Format>, make: impl FnOnce() -> T) {
        match self.entries.iter().position(|(known, _)| Arc::ptr_eq(known, format)) {
            Some(at) => self.entries.swap(0, at),
            None => {
                self.entries.truncate(FORMATS_MAX - 1);
                self.entries.insert(0, (format.clone(), make()));
            }
        }
    }
}

impl<T> Default for FormatMap<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}
