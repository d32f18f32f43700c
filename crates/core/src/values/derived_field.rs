//! Derived fields of a data set that was read without them.

use super::Values;
use crate::column::REMAINDER;
use crate::derived::{DerivedField, DerivedInput};
use crate::schema::ColumnId;
use crate::value::Zone;

/// What a field is derived from that no column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedFrom {
    /// The values of this text column.
    Column(ColumnId),
    /// The time.
    Time,
}

impl Values {
    /// Returns the derived field of this name and what it is derived from, if the data has no column
    /// of that name and a catalog knows the field ([`Self::derive_with`]).
    ///
    /// A field of several inputs is one only while the data has no value of the others.
    pub fn derived_field(
        &self,
        name: &str,
        zone: Option<&Zone>,
    ) -> Option<(DerivedField, DerivedFrom)> {
        if self.schema().text_column_by_name(name).is_some() {
            return None;
        }
        let field = self.catalog()?.field(name, zone)?;
        let (first, others) = field.inputs().split_first()?;
        let column = |input: &DerivedInput| match input {
            DerivedInput::Text(name) => self.schema().text_column_by_name(name),
            DerivedInput::Time | DerivedInput::Source => None,
        };
        let is_missing = |input: &DerivedInput| match input {
            DerivedInput::Text(_) => column(input)
                .is_none_or(|column| self.dictionary(column).ids() <= REMAINDER as usize + 1),
            DerivedInput::Time | DerivedInput::Source => false,
        };
        if !others.iter().all(is_missing) {
            return None;
        }
        let from = match first {
            DerivedInput::Text(_) => DerivedFrom::Column(column(first)?),
            DerivedInput::Time => DerivedFrom::Time,
            DerivedInput::Source => return None,
        };
        Some((field, from))
    }
}
