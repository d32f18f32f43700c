//! A column of texts that stores each distinct text once.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use crate::escape::escaped;

/// The code of a row without a text.
pub(crate) const NULL: u32 = 0;

/// A text, or none, for each row.
#[derive(Debug, Default)]
pub(crate) struct TextCells {
    /// For each row [`NULL`], or the number of the text plus 1.
    pub(crate) codes: Vec<u32>,
    /// The texts one after another, UTF-8.
    pub(crate) bytes: Vec<u8>,
    /// The end of each text in `bytes`.
    pub(crate) ends: Vec<usize>,
    /// Codes by the ids of the data set, until ids are reused.
    by_id: HashMap<u32, u32, RandomState>,
    /// Codes of texts without an id: first of unescaped texts, then of escaped ones.
    by_text: [HashMap<String, u32, RandomState>; 2],
    /// The codes of escaped texts, in ascending order.
    escaped: Vec<u32>,
}

impl TextCells {
    /// Returns the code of the value with an id of the data set. `value` returns the bytes of the
    /// value.
    pub(crate) fn code_of_id<'v>(&mut self, id: u32, value: impl FnOnce() -> &'v [u8]) -> u32 {
        if let Some(code) = self.by_id.get(&id) {
            return *code;
        }
        let (text, is_escaped) = escaped(value());
        let code = self.add(&text, is_escaped);
        self.by_id.insert(id, code);
        code
    }

    /// Returns the code of a text. `is_escaped` states whether the text is the escaped form of
    /// other bytes.
    pub(crate) fn code_of_text(&mut self, text: &str, is_escaped: bool) -> u32 {
        if let Some(code) = self.by_text[usize::from(is_escaped)].get(text) {
            return *code;
        }
        let code = self.add(text, is_escaped);
        self.by_text[usize::from(is_escaped)].insert(text.to_owned(), code);
        code
    }

    fn add(&mut self, text: &str, is_escaped: bool) -> u32 {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
        let code = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        if is_escaped {
            self.escaped.push(code);
        }
        code
    }

    /// Returns the range of each text in `bytes`, in code order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| start..*end)
    }

    /// Returns the texts, in code order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.ranges().map(|range| &self.bytes[range])
    }

    /// Returns whether any text is escaped.
    pub(crate) fn has_escaped(&self) -> bool {
        !self.escaped.is_empty()
    }

    /// Returns whether the text of a row is escaped.
    pub(crate) fn is_escaped(&self, row: usize) -> bool {
        self.codes.get(row).is_some_and(|code| self.escaped.binary_search(code).is_ok())
    }

    /// Drops the ids, which may have been reused.
    pub(crate) fn forget_ids(&mut self) {
        self.by_id.clear();
    }
}
