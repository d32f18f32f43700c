//! The columns of a table of records.

use weir_core::{Field, RecordKind, Unit};

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// UTF-8, see [`escaped`](crate::escaped).
    Text,
    /// Unsigned integers of 64 bits in this unit.
    Number(Unit),
    /// Instants, in nanoseconds since 1970, UTC.
    Instant,
    /// Seconds east of UTC.
    ZoneOffset,
}

/// The origin of a column's cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CellSource {
    /// The name of the source.
    File,
    /// The offset of the line in its source.
    LineOffset,
    /// The instant.
    Time,
    /// The zone offset that was logged with the instant.
    ZoneOffset,
    /// A number field.
    Number(Field),
    /// A text column of the data set, by its name there.
    Text(String),
    /// The fields without a column of their own.
    OtherFields,
    /// The names of the row's columns with an escaped value.
    EscapedColumns,
}

/// A column of a table of records. Every column may contain NULLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// The name, unique in the table. For a duration it ends with the unit, `_ns`.
    pub name: String,
    /// The type of its cells.
    pub kind: CellKind,
    pub(crate) source: CellSource,
}

impl TableColumn {
    /// Returns whether cells mostly ascend, so that few are equal.
    pub(crate) fn ascends(&self) -> bool {
        matches!(self.source, CellSource::LineOffset | CellSource::Time)
    }

    /// Returns the file metadata entry with the unit of the cells, if they have one: the key
    /// `weir.unit.COLUMN`, and the unit.
    pub(crate) fn unit_entry(&self) -> Option<(String, &'static str)> {
        let unit = match self.kind {
            CellKind::Number(Unit::Bytes) => "bytes",
            CellKind::Number(Unit::Nanoseconds) => "nanoseconds",
            CellKind::ZoneOffset => "seconds east of UTC",
            CellKind::Number(Unit::Count) | CellKind::Text | CellKind::Instant => return None,
        };
        Some((format!("weir.unit.{}", self.name), unit))
    }
}

/// The columns of a table of records of one kind.
///
/// The columns for the fields that every format may have are the same in all tables, so that the
/// tables of several logs can be read as one. The fields of only some formats follow, and then two
/// columns that are nearly always NULL:
///
/// | column | cells |
/// |---|---|
/// | `file` | the name of the source |
/// | `line_offset` | the offset of the line in its source, in bytes |
/// | `time` | the instant, UTC, in nanoseconds |
/// | `utc_offset_s` | the zone offset that was logged with it, in seconds east of UTC |
/// | `client` to `request` | the text fields, see [`Field::TEXT`] |
/// | `bytes` | a size in bytes |
/// | `request_time_ns` to `body_time_ns` | durations in nanoseconds, see [`Field::DURATIONS`] |
/// | others | further fields of the formats; `log_` stands before a name that is taken |
/// | `other_fields` | a JSON object of fields that no column is for |
/// | `escaped_columns` | the columns whose value is [`escaped`](crate::escaped) in this row |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    pub(crate) columns: Vec<TableColumn>,
}

impl TableSchema {
    /// Creates the columns for records of this kind. `extra_fields` are the text columns that the
    /// data set's formats fill besides the known fields.
    ///
    /// ```
    /// use weir_core::RecordKind;
    /// use weir_export::TableSchema;
    ///
    /// let extra = ["ssl_protocol", "file"].map(str::to_owned);
    /// let schema = TableSchema::new(RecordKind::Request, &extra);
    /// let names: Vec<&str> = schema.columns().iter().map(|it| it.name.as_str()).collect();
    /// assert_eq!(names[..3], ["file", "line_offset", "time"]);
    /// assert_eq!(names[22..24], ["ssl_protocol", "log_file"]);
    /// ```
    pub fn new(kind: RecordKind, extra_fields: &[String]) -> Self {
        let mut schema = Self { columns: Vec::new() };
        schema.push("file", CellKind::Text, CellSource::File);
        schema.push("line_offset", CellKind::Number(Unit::Bytes), CellSource::LineOffset);
        schema.push("time", CellKind::Instant, CellSource::Time);
        schema.push("utc_offset_s", CellKind::ZoneOffset, CellSource::ZoneOffset);
        for field in Field::TEXT {
            schema.push(field.name(), CellKind::Text, CellSource::Text(field.name().to_owned()));
        }
        schema.push("bytes", CellKind::Number(Unit::Bytes), CellSource::Number(Field::Bytes));
        for field in Field::DURATIONS {
            let name = format!("{}_ns", field.name());
            schema.push(&name, CellKind::Number(Unit::Nanoseconds), CellSource::Number(field));
        }
        let leading = match kind {
            RecordKind::Request => None,
            RecordKind::ErrorLogLine => Some("level"),
            RecordKind::FirewallEvent => Some("action"),
        };
        for name in leading.into_iter().chain(extra_fields.iter().map(String::as_str)) {
            let source = CellSource::Text(name.to_owned());
            if schema.columns.iter().all(|column| column.source != source) {
                schema.push(name, CellKind::Text, source);
            }
        }
        schema.push("other_fields", CellKind::Text, CellSource::OtherFields);
        // The last column, because its cells depend on those of all others.
        schema.push("escaped_columns", CellKind::Text, CellSource::EscapedColumns);
        schema
    }

    /// Returns the index of the column with the cells of this origin.
    pub(crate) fn index_of(&self, source: &CellSource) -> Option<usize> {
        self.columns.iter().position(|column| column.source == *source)
    }

    /// Returns the columns in order.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn push(&mut self, name: &str, kind: CellKind, source: CellSource) {
        const LAST: [&str; 2] = ["other_fields", "escaped_columns"];
        let is_own = matches!(source, CellSource::OtherFields | CellSource::EscapedColumns);
        let mut name = name.to_owned();
        let is_taken = |name: &str| {
            // Programs that read tables often ignore the case of names.
            let is_same = |other: &str| other.eq_ignore_ascii_case(name);
            self.columns.iter().any(|column| is_same(&column.name))
                || !is_own && LAST.into_iter().any(is_same)
        };
        while is_taken(&name) {
            name.insert_str(0, "log_");
        }
        self.columns.push(TableColumn { name, kind, source });
    }
}

#[cfg(test)]
mod tests {
    use super::{CellSource, RecordKind, TableSchema};

    #[test]
    fn columns_are_found_by_their_origin() {
        let extra = ["line_offset", "other_fields", "escaped_columns"].map(str::to_owned);
        for kind in [RecordKind::Request, RecordKind::ErrorLogLine, RecordKind::FirewallEvent] {
            let schema = TableSchema::new(kind, &extra);
            let name = |source| {
                schema.index_of(&source).map(|index| schema.columns()[index].name.as_str())
            };
            assert_eq!(name(CellSource::LineOffset), Some("line_offset"));
            assert_eq!(name(CellSource::OtherFields), Some("other_fields"));
            assert_eq!(name(CellSource::Text("unknown".to_owned())), None);
            let last = schema.columns().last().map(|column| &column.source);
            assert_eq!(last, Some(&CellSource::EscapedColumns));
        }
    }
}
