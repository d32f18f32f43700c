//! Selected rows of a segment, as a list.

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of the first `n` rows.
    All(usize),
    /// These rows, ascending.
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
    pub fn for_each(&self, mut visit: impl FnMut(usize)) {
        match self {
            Self::All(rows) => (0..*rows).for_each(visit),
            Self::Rows(rows) => rows.iter().for_each(|row| visit(*row as usize)),
        }
    }
}
