//! The log that rows are from.

/// The log that rows are from.
///
/// A name alone is that of a log with lines:
///
/// ```
/// use weir_export::RowSource;
///
/// assert!(RowSource::from("access.log").has_lines);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowSource<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether its records were lines, which have offsets.
    pub has_lines: bool,
}

impl<'a> From<&'a str> for RowSource<'a> {
    fn from(name: &'a str) -> Self {
        Self { name, has_lines: true }
    }
}
