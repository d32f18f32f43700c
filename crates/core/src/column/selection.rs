//! Selected rows of a segment, as a list.
//!
//! A filter yields rows as bits ([`super::RowBits`]), which are small and quick to combine.
//! Aggregates visit the rows of many columns, for which a list of row numbers is quicker: a column
//! is read at the listed positions, and no word of bits is decoded again for each column.

/// The rows of one segment that pass a filter, in order.
///
/// ```
/// use weir_core::Selection;
///
/// let selection = Selection::Rows(vec![1, 4]);
/// let mut rows = Vec::new();
/// selection.for_each(|row| rows.push(row));
/// assert_eq!((selection.len(), rows), (2, vec![1, 4]));
/// ```
///
/// The variant for all rows has no list and lets a loop run over a whole array, which the compiler
/// can vectorise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of the first `n` rows.
    ///
    /// A column that is visited with it should have `n` rows.
    All(usize),
    /// These rows, ascending.
    ///
    /// Each once. Row numbers are from 0 and below the segment's number of rows.
    Rows(Vec<u32>),
}

impl Default for Selection {
    /// Selects no row.
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl Selection {
    /// Returns the number of selected rows.
    pub fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Rows(rows) => rows.len(),
        }
    }

    /// Returns whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `visit` with every selected row.
    ///
    /// In ascending order.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Selection;
    ///
    /// let mut rows = Vec::new();
    /// Selection::All(3).for_each(|row| rows.push(row));
    /// assert_eq!(rows, [0, 1, 2]);
    /// assert!(Selection::default().is_empty());
    /// ```
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        match self {
            Self::All(rows) => (0..*rows).for_each(visit),
            Self::Rows(rows) => rows.iter().for_each(|row| visit(*row as usize)),
        }
    }
}
