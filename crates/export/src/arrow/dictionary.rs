//! The distinct texts of a column in one batch.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::encode_error::EncodeError;
use crate::text_cells::TextCells;

/// The distinct texts of a column. pandas rejects categories that occur twice. Two ids of the data
/// set can have the same text if one of them was reused, and two values if one of them is escaped.
#[derive(Debug)]
pub(super) struct Dictionary<'a> {
    texts: Vec<&'a [u8]>,
    /// The index of the text of each code. The first entry belongs to code 1.
    index_by_code: Vec<i32>,
}

impl<'a> Dictionary<'a> {
    /// Creates the dictionary of these cells.
    ///
    /// # Errors
    /// Fails if there are more than 2^31 texts.
    pub(super) fn new(cells: &'a TextCells) -> Result<Self, EncodeError> {
        let mut indices: HashMap<&[u8], i32, RandomState> = HashMap::default();
        let mut dictionary =
            Self { texts: Vec::new(), index_by_code: Vec::with_capacity(cells.ends.len()) };
        for text in cells.texts() {
            let next = i32::try_from(dictionary.texts.len())
                .map_err(|_| EncodeError("a column has more than 2^31 texts".to_owned()))?;
            let index = *indices.entry(text).or_insert(next);
            if index == next {
                dictionary.texts.push(text);
            }
            dictionary.index_by_code.push(index);
        }
        Ok(dictionary)
    }

    /// Returns the number of texts.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the texts by their index.
    pub(super) fn texts(&self) -> &[&'a [u8]] {
        &self.texts
    }

    /// Returns the index of each cell's text.
    pub(super) fn indices(&self, cells: &TextCells) -> Vec<Option<i32>> {
        let index = |code: &u32| {
            let position = (*code as usize).checked_sub(1)?;
            self.index_by_code.get(position).copied()
        };
        cells.codes.iter().map(index).collect()
    }
}
