//! The distinct texts of a column in one batch.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::encode_error::EncodeError;
use crate::text_cells::TextCells;

/// The texts of a column, each once: pandas takes no others for the categories of a column. Two ids
/// of the data set may stand for one text, if one of them was assigned again, and two values too, if
/// one of them is escaped.
#[derive(Debug)]
pub(super) struct Dictionary<'a> {
    texts: Vec<&'a [u8]>,
    /// The index of the text of each code, from code 1 on.
    index_by_code: Vec<i32>,
}

impl<'a> Dictionary<'a> {
    /// The dictionary of these cells.
    ///
    /// # Errors
    /// If there are more than 2^31 texts.
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

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The texts by their index.
    pub(super) fn texts(&self) -> &[&'a [u8]] {
        &self.texts
    }

    /// The index of the text of each cell.
    pub(super) fn indices(&self, cells: &TextCells) -> Vec<Option<i32>> {
        let index = |code: &u32| {
            let position = (*code as usize).checked_sub(1)?;
            self.index_by_code.get(position).copied()
        };
        cells.codes.iter().map(index).collect()
    }
}
