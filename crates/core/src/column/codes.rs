//! Arrays of small unsigned integers.
//!
//! The narrowest of four widths is chosen for each segment and column, when the segment is made.
//! One byte is enough for most columns of a block: few have more than 255 distinct values in it,
//! and numbers are packed as small steps ([`super::Numbers`]). Two narrower forms do without any
//! array: a column whose rows are all equal is [`Codes::Constant`], and a column without a value is
//! left out of the segment.
//!
//! There are no runs and no bit packing. Both would save memory and would make access to a row,
//! which filters and merging need, a search.

use super::selection::Selection;

/// The code of a row without the field, in a text column.
///
/// It has no value in the dictionary. Zero, so that a column of absent values is constant, and a
/// fresh array of ids means absent rows.
pub const ABSENT: u32 = 0;

/// The code of the remainder in a text column: the values that were new after the memory limit for
/// distinct values was reached.
///
/// Rows with the remainder had different values, which are not known any more. Reports call it
/// `(all other values)`. A column with the remainder is estimated, see
/// [`crate::Values::is_estimated`].
pub const REMAINDER: u32 = 1;

/// Unsigned integers, one for each row, in the narrowest width that holds them all.
///
/// The arrays have the layout of Arrow's index arrays, so that a dictionary array can use them
/// without copying.
///
/// # Examples
///
/// ```
/// use weir_core::{Codes, Selection};
///
/// let codes = Codes::pack([2, 300, 2].into_iter());
/// assert_eq!(codes, Codes::U16([2, 300, 2].into()));
/// assert_eq!((codes.rows(), codes.get(1), codes.memory_bytes()), (3, 300, 6));
///
/// let equal = Codes::pack([7, 7].into_iter());
/// assert_eq!(equal, Codes::Constant { code: 7, rows: 2 });
///
/// let mut selected = Vec::new();
/// codes.for_each(&Selection::Rows(vec![0, 1]), |code| selected.push(code));
/// assert_eq!(selected, [2, 300]);
/// ```
///
/// # Units
///
/// A code alone means nothing: it is the id of a distinct value in a text column, steps of a unit
/// in a number column ([`crate::Numbers`]), and bytes in the offsets of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Codes {
    /// The same code for every row.
    Constant {
        /// The code.
        code: u64,
        /// The number of rows.
        ///
        /// Not zero, except in a segment without records.
        rows: usize,
    },
    /// Codes below 2^8.
    U8(Box<[u8]>),
    /// Codes below 2^16.
    U16(Box<[u16]>),
    /// Codes below 2^32.
    U32(Box<[u32]>),
    /// Codes of any size.
    U64(Box<[u64]>),
}

impl Codes {
    /// Packs codes, which are in row order.
    ///
    /// The iterator is cloned, for one pass that finds the width and one that packs. Time is linear
    /// in the rows.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Codes;
    ///
    /// assert_eq!(Codes::pack([1u64, 1 << 20].into_iter()).memory_bytes(), 8);
    /// assert_eq!(Codes::pack(std::iter::empty()), Codes::Constant { code: 0, rows: 0 });
    /// ```
    pub fn pack(codes: impl ExactSizeIterator<Item = u64> + Clone) -> Self {
        let rows = codes.len();
        let (min, max) =
            codes.clone().fold((u64::MAX, 0), |(min, max), code| (code.min(min), code.max(max)));
        if min >= max { Self::Constant { code: max, rows } } else { Self::narrow(max, codes) }
    }

    /// Packs codes in the width that holds `max`, the largest of them.
    ///
    /// A code above `max` would be truncated.
    pub(super) fn narrow(max: u64, codes: impl Iterator<Item = u64>) -> Self {
        match max {
            0..0x100 => Self::U8(codes.map(|code| code as u8).collect()),
            0x100..0x1_0000 => Self::U16(codes.map(|code| code as u16).collect()),
            0x1_0000..0x1_0000_0000 => Self::U32(codes.map(|code| code as u32).collect()),
            _ => Self::U64(codes.collect()),
        }
    }

    /// Does what [`Self::pack`] does, for a slice of ids, in loops that the compiler can vectorise.
    ///
    /// The width comes from the bits that any id has (`any`), whether all ids are equal from the
    /// bits in which any differs from the first (`differing`). Neither needs a comparison.
    pub(crate) fn pack_ids(ids: &[u32]) -> Self {
        let rows = ids.len();
        let first = ids.first().copied().unwrap_or(0);
        let (any, differing) =
            ids.iter().fold((0, 0), |(any, differing), id| (any | id, differing | (id ^ first)));
        match any {
            _ if differing == 0 => Self::Constant { code: u64::from(first), rows },
            0..0x100 => Self::U8(ids.iter().map(|id| *id as u8).collect()),
            0x100..0x1_0000 => Self::U16(ids.iter().map(|id| *id as u16).collect()),
            _ => Self::U32(ids.into()),
        }
    }

    /// Packs the ids of a text column; `None` if every id is [`ABSENT`].
    pub(crate) fn pack_text(ids: &[u32]) -> Option<Self> {
        let codes = Self::pack_ids(ids);
        let absent = Self::Constant { code: u64::from(ABSENT), rows: ids.len() };
        (codes != absent).then_some(codes)
    }

    /// Returns the number of rows.
    ///
    /// In constant time.
    pub fn rows(&self) -> usize {
        match self {
            Self::Constant { rows, .. } => *rows,
            Self::U8(codes) => codes.len(),
            Self::U16(codes) => codes.len(),
            Self::U32(codes) => codes.len(),
            Self::U64(codes) => codes.len(),
        }
    }

    /// Returns the largest code; 0 if there are no rows.
    ///
    /// Reads all codes, unless they are constant. Use it to size an array that is indexed by code.
    pub fn max(&self) -> u64 {
        match self {
            Self::Constant { code, .. } => *code,
            Self::U8(codes) => codes.iter().max().copied().map_or(0, u64::from),
            Self::U16(codes) => codes.iter().max().copied().map_or(0, u64::from),
            Self::U32(codes) => codes.iter().max().copied().map_or(0, u64::from),
            Self::U64(codes) => codes.iter().max().copied().unwrap_or(0),
        }
    }

    /// Returns the code of one row.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// Matches the width in each call. To read many rows, use [`Self::for_each`]. A constant column
    /// returns its code for any row.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        match self {
            Self::Constant { code, .. } => *code,
            Self::U8(codes) => u64::from(codes[row]),
            Self::U16(codes) => u64::from(codes[row]),
            Self::U32(codes) => u64::from(codes[row]),
            Self::U64(codes) => codes[row],
        }
    }

    /// Calls `visit` with the code of every selected row, in order. The width is matched once,
    /// outside the loop over the rows.
    ///
    /// A selection of all rows reads the array in order, whatever number of rows the selection
    /// names; a list of rows must be within the column.
    ///
    /// # Panics
    /// If a selected row does not exist, except in a constant column.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Codes, Selection};
    ///
    /// let codes = Codes::pack([4, 0, 9].into_iter());
    /// let mut sum = 0;
    /// codes.for_each(&Selection::All(3), |code| sum += code);
    /// assert_eq!(sum, 13);
    /// ```
    #[inline]
    pub fn for_each(&self, selection: &Selection, mut visit: impl FnMut(u64)) {
        match self {
            Self::Constant { code, .. } => {
                for _ in 0..selection.len() {
                    visit(*code);
                }
            }
            Self::U8(codes) => each(codes, selection, |code| visit(u64::from(*code))),
            Self::U16(codes) => each(codes, selection, |code| visit(u64::from(*code))),
            Self::U32(codes) => each(codes, selection, |code| visit(u64::from(*code))),
            Self::U64(codes) => each(codes, selection, |code| visit(*code)),
        }
    }

    /// Returns the memory taken, in bytes.
    ///
    /// On the heap, without the enum itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Codes;
    ///
    /// let equal = Codes::pack(std::iter::repeat_n(7, 1_000_000));
    /// assert_eq!(equal.memory_bytes(), 0);
    /// ```
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Constant { .. } => 0,
            Self::U8(codes) => codes.len(),
            Self::U16(codes) => codes.len() * 2,
            Self::U32(codes) => codes.len() * 4,
            Self::U64(codes) => codes.len() * 8,
        }
    }
}

/// Calls `visit` with the selected codes of one width.
#[inline]
fn each<T>(codes: &[T], selection: &Selection, mut visit: impl FnMut(&T)) {
    match selection {
        Selection::All(_) => codes.iter().for_each(visit),
        Selection::Rows(rows) => rows.iter().for_each(|row| visit(&codes[*row as usize])),
    }
}

#[cfg(test)]
mod tests {
    use super::{Codes, Selection};

    #[test]
    fn packs_into_the_narrowest_width() {
        let widths = [(vec![0u64, 255], 2), (vec![0, 256], 4), (vec![0, 1 << 16], 8)];
        for (codes, bytes) in widths {
            let packed = Codes::pack(codes.iter().copied());
            assert_eq!(packed.memory_bytes(), bytes);
            assert_eq!((packed.get(0), packed.get(1)), (codes[0], codes[1]));
        }
        let packed = Codes::pack([7u64, 7, 7].into_iter());
        assert_eq!((packed.memory_bytes(), packed.rows(), packed.get(2)), (0, 3, 7));
        assert_eq!(Codes::pack([0u64, u64::MAX].into_iter()).get(1), u64::MAX);
        assert_eq!(Codes::pack([0u64; 0].into_iter()).rows(), 0);
    }

    #[test]
    fn visits_the_selected_rows() {
        for codes in [vec![1u64, 2, 3], vec![5, 5, 5], vec![1, 1 << 20, 1 << 40]] {
            let packed = Codes::pack(codes.iter().copied());
            let mut seen = Vec::new();
            packed.for_each(&Selection::All(3), |code| seen.push(code));
            assert_eq!(seen, codes);
            seen.clear();
            packed.for_each(&Selection::Rows(vec![2, 0]), |code| seen.push(code));
            assert_eq!(seen, [codes[2], codes[0]]);
        }
    }
}
