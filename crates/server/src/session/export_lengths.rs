//! Remembers the lengths of exports.

use std::collections::VecDeque;

use hyper::header::HeaderValue;
use weir_sync::Lock;

/// The maximum number of remembered lengths in a session: a tag and a number each.
const LENGTHS_MAX: usize = 32;

/// The lengths of the last exports of a session. A range of one of them then needs no pass over the
/// rows to find its length.
#[derive(Debug, Default)]
pub(crate) struct ExportLengths {
    /// The tags with the lengths in bytes, the newest first.
    last: Lock<VecDeque<(HeaderValue, u64)>>,
}

impl ExportLengths {
    /// Returns the length in bytes of the export with this tag, if it is remembered.
    pub(crate) fn get(&self, tag: &HeaderValue) -> Option<u64> {
        self.last.lock().iter().find(|(known, _)| known == tag).map(|(_, bytes)| *bytes)
    }

    /// Remembers the length of the export with this tag.
    pub(crate) fn insert(&self, tag: HeaderValue, bytes: u64) {
        let mut last = self.last.lock();
        last.retain(|(known, _)| *known != tag);
        last.push_front((tag, bytes));
        last.truncate(LENGTHS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::{ExportLengths, LENGTHS_MAX};

    #[test]
    fn the_last_lengths_are_kept() {
        let lengths = ExportLengths::default();
        let tag = |number: usize| HeaderValue::from_str(&format!("\"{number}\"")).unwrap();
        for number in 0..=LENGTHS_MAX {
            lengths.insert(tag(number), number as u64);
            lengths.insert(tag(1), 1);
        }
        assert_eq!(lengths.get(&tag(0)), None);
        assert_eq!(lengths.get(&tag(1)), Some(1));
        assert_eq!(lengths.get(&tag(LENGTHS_MAX)), Some(LENGTHS_MAX as u64));
        assert_eq!(lengths.last.lock().len(), LENGTHS_MAX);
    }
}
