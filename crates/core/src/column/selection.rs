//! Rows of a segment, one by one.

/// The rows of one segment that pass a filter, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All of so many rows.
    All(usize),
    /// These.
    Rows(Vec<u32>),
}

impl Default for Selection {
    /// No row.
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl Selection {
    /// Number of selected rows.
    pub fn len(&self) -> usize {
        match self {
            Self::All(rows) => *rows,
            Self::Rows(rows) => rows.len(),
        }
    }

    /// True where no row is selected.
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
