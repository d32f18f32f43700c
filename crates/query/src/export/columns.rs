//! The columns of an export.

use weir_core::{RecordFields, UnknownField};
use weir_export::TableSchema;

use super::ExportFormat;

/// The column with the fields that no column is for.
const OTHER_FIELDS: &str = "other_fields";

/// The columns of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportColumns {
    pub(super) schema: TableSchema,
    /// What happens to fields that appear after the export has begun.
    pub(super) late_fields: LateFields,
}

/// What happens to fields that appear after an export has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LateFields {
    /// They become members of the objects.
    Added,
    /// The export has them in a column of its own, or is not meant to have them.
    Placed,
    /// The export lacks them, and says so.
    Missing,
}

impl ExportColumns {
    /// Creates the default columns of an export in this format, of records with these fields.
    /// `has_nanoseconds` says whether their times have parts below a microsecond.
    pub fn new(format: ExportFormat, fields: &RecordFields, has_nanoseconds: bool) -> Self {
        let (schema, late_fields) = match format {
            ExportFormat::Csv => (TableSchema::of_text(fields), LateFields::Missing),
            ExportFormat::JsonLines => (TableSchema::of_text(fields), LateFields::Added),
            ExportFormat::Parquet | ExportFormat::Arrow => {
                (TableSchema::of_table(fields, has_nanoseconds), LateFields::Placed)
            }
        };
        Self { schema, late_fields }
    }

    /// Returns the named columns, in the order of the names; see [`TableSchema::select`].
    ///
    /// # Errors
    /// If there is no such column.
    pub fn select(&self, names: &[String]) -> Result<Self, UnknownField> {
        let has = |column: &str| names.iter().any(|name| name == column);
        let takes_late = has(weir_export::ALL_COLUMNS) && !has(OTHER_FIELDS);
        let late_fields = if takes_late { self.late_fields } else { LateFields::Placed };
        Ok(Self { schema: self.schema.select(names)?, late_fields })
    }

    /// Returns the same columns, and one of a JSON object with the fields that appear later.
    #[must_use]
    pub fn with_other_fields(self) -> Self {
        let names = [weir_export::ALL_COLUMNS, OTHER_FIELDS].map(str::to_owned);
        // Every export can have the column.
        self.select(&names).unwrap_or(self)
    }
}
