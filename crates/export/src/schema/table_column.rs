//! A column of exported records.

use weir_core::{Field, Unit};

use super::TIME_NS;

/// The type of a column's cells in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// UTF-8, see [`escaped`](crate::escaped).
    Text,
    /// Signed integers of 64 bits in this unit. A number over 2^63 - 1 is 2^63 - 1.
    Number(Unit),
    /// Durations in seconds, as floating-point numbers of 64 bits.
    Seconds,
    /// Signed integers of 32 bits.
    Status,
    /// Instants, in microseconds since 1970, UTC.
    Instant,
    /// Nanoseconds since 1970, as signed integers of 64 bits.
    InstantNanoseconds,
    /// Seconds east of UTC, as signed integers of 32 bits.
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
    /// The number that the status is.
    StatusCode,
    /// The fields without a column of their own.
    OtherFields,
    /// The names of the row's columns with an escaped value.
    EscapedColumns,
}

/// A column of exported records. Every column may lack values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// The name, unique in the export.
    pub name: String,
    /// The type of its cells.
    pub kind: CellKind,
    pub(crate) source: CellSource,
    /// Whether a value `-` is a value. Otherwise it means that there is none.
    pub(crate) has_literal_dash: bool,
}

impl TableColumn {
    /// Creates a column in which `-` means that there is no value.
    pub(crate) fn new(name: String, kind: CellKind, source: CellSource) -> Self {
        Self { name, kind, source, has_literal_dash: false }
    }

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
            CellKind::Seconds => "seconds",
            CellKind::InstantNanoseconds => "nanoseconds since 1970",
            CellKind::ZoneOffset => "seconds east of UTC",
            CellKind::Number(Unit::Count)
            | CellKind::Text
            | CellKind::Status
            | CellKind::Instant => return None,
        };
        Some((format!("weir.unit.{}", self.name), unit))
    }

    /// Returns the name of the field with the cells, if that is one.
    pub(super) fn field(&self) -> Option<String> {
        match &self.source {
            CellSource::Text(name) => Some(name.clone()),
            CellSource::Number(field) => Some(field.name().to_owned()),
            CellSource::Time if self.kind == CellKind::InstantNanoseconds => {
                Some(TIME_NS.to_owned())
            }
            CellSource::Time => Some(Field::Time.name().to_owned()),
            _ => None,
        }
    }
}
