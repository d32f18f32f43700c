//! Which field of a record a column is.

use weir_core::{ColumnKind, Field, Unit};

use crate::error::{TableError, quoted};
use crate::footer::{ColumnType, Meaning, Physical, TimeUnit};

/// What a column becomes in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Text(Field),
    /// The further field of this index.
    Extra(usize),
    /// A number as it stands: bytes, or nanoseconds.
    Number(Field),
    /// A duration in seconds.
    Seconds(Field),
    Time(TimeUnit),
    /// Bytes with the day and the nanoseconds of the day, as Impala and old Sparks write them.
    OldTime,
    /// The offset of the time from UTC, in seconds.
    ZoneOffset,
    /// The names of the columns whose value has escapes.
    EscapedColumns,
}

/// The most columns that become fields of their own; logs have a tenth of them.
const EXTRA_FIELDS_MAX: usize = 256;

/// The most columns that a note names.
const NAMED_MAX: usize = 5;

/// The columns of a table that are read.
#[derive(Debug, Default)]
pub(crate) struct Roles {
    /// The indices of the columns, with what they become.
    pub(crate) columns: Vec<(usize, Role)>,
    pub(crate) fields: Vec<Field>,
    pub(crate) extra_fields: Vec<String>,
    /// The names of the columns that no field can have.
    left_out: Vec<String>,
    /// The number of columns after [`EXTRA_FIELDS_MAX`].
    beyond: usize,
}

/// What a column is by its name.
enum Named {
    /// It is not needed.
    Spare,
    /// It has the values of a field in the rows in which another column has none, as in a table that was
    /// joined of two.
    Second(Field),
    /// It is read with another column.
    With(Role),
    Field(Field),
    /// It has the name of no field.
    Extra,
}

impl Roles {
    /// Finds the columns to read.
    ///
    /// # Errors
    /// If a column with the name of a field has another type, or no column has such a name.
    pub(crate) fn of(columns: &[ColumnType]) -> Result<Self, TableError> {
        let has = |name: &str| columns.iter().any(|it| it.name == name && !it.is_empty);
        let mut roles = Self::default();
        let mut second = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            match Named::of(column, has).map_err(|error| error.of_column(&column.name))? {
                Named::Spare => {}
                Named::Second(field) => match column.field_role(field) {
                    Ok(role) => second.push((index, role)),
                    Err(_) => roles.leave_out(column),
                },
                Named::With(role) if roles.has(role) => roles.leave_out(column),
                Named::With(role) => roles.columns.push((index, role)),
                // A log without sizes has no sum of them, and not the sum 0.
                Named::Field(field) if column.is_empty && is_summed(field) => {}
                Named::Field(field) if roles.fields.contains(&field) => roles.leave_out(column),
                Named::Field(field) => {
                    let role = column.field_role(field);
                    let role = role.map_err(|error| error.of_column(&column.name))?;
                    roles.fields.push(field);
                    roles.columns.push((index, role));
                }
                Named::Extra if !column.is_text() => roles.leave_out(column),
                Named::Extra if roles.extra_fields.len() == EXTRA_FIELDS_MAX => roles.beyond += 1,
                Named::Extra => {
                    roles.columns.push((index, Role::Extra(roles.extra_fields.len())));
                    roles.extra_fields.push(column.name.clone());
                }
            }
        }
        // A value that is put later stays.
        roles.columns.splice(0..0, second);
        if roles.fields.is_empty() {
            let names = columns.iter().take(8).map(|column| quoted(&column.name));
            let names: Vec<String> = names.collect();
            return Err(TableError::refused(format_args!(
                "is a Parquet file, but none of its columns has the name of a field, such as time, \
                 client, path or status; it has {}; name the columns as docs/exports.md does",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            )));
        }
        Ok(roles)
    }

    fn has(&self, role: Role) -> bool {
        self.columns.iter().any(|(_, other)| *other == role)
    }

    fn leave_out(&mut self, column: &ColumnType) {
        self.left_out.push(column.name.clone());
    }

    /// What is left out, as sentences, if something is. So many columns are not among these because
    /// they have columns or lists in them.
    pub(crate) fn note(&self, nested: usize) -> Option<String> {
        let shown = self.left_out.iter().take(NAMED_MAX).map(|name| quoted(name));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = self.left_out.len().saturating_sub(NAMED_MAX) + nested;
        let mut sentences = Vec::new();
        if more > 0 || !shown.is_empty() {
            let columns = match (more, shown.is_empty()) {
                (0, _) => shown,
                (more, true) => format!("{more} with columns or lists in them"),
                (more, false) => format!("{shown} and {more} more"),
            };
            sentences.push(format!(
                "these columns are left out, because no field has their type, or another column is \
                 that field: {columns}"
            ));
        }
        if self.beyond > 0 {
            sentences.push(format!(
                "of the columns that have no field's name, the first {EXTRA_FIELDS_MAX} are read, \
                 and {} more are left out",
                self.beyond
            ));
        }
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }
}

impl Named {
    fn of(column: &ColumnType, has: impl Fn(&str) -> bool) -> Result<Self, TableError> {
        Ok(match &column.name[..] {
            // The place of a line in a file that is not there.
            "line_offset" => Self::Spare,
            // The table was exported from another one, and a row is from the log that the first export read.
            "file" if has("log_file") => Self::Spare,
            "escaped_columns" if column.is_text() => Self::With(Role::EscapedColumns),
            "utc_offset_s" => Self::With(column.integer(Role::ZoneOffset)?),
            // The text tells more.
            "status_code" if has(Field::Status.name()) => Self::Second(Field::Status),
            "time" if has("time_ns") => Self::Second(Field::Time),
            "time_ns" => Self::Field(Field::Time),
            name => match nanoseconds_of(name).or_else(|| Field::by_name(name)) {
                Some(field) if has(&format!("{name}_ns")) && is_duration(field) => {
                    Self::Second(field)
                }
                Some(field) => Self::Field(field),
                None => Self::Extra,
            },
        })
    }
}

/// The duration whose nanoseconds a column with this name has.
fn nanoseconds_of(name: &str) -> Option<Field> {
    let field = Field::by_name(name.strip_suffix("_ns")?)?;
    is_duration(field).then_some(field)
}

/// Whether the records have a sum, or a number of errors, because of this field.
fn is_summed(field: Field) -> bool {
    field == Field::Status || Field::NUMBERS.contains(&field)
}

fn is_duration(field: Field) -> bool {
    Field::DURATIONS.contains(&field)
}

impl ColumnType {
    fn field_role(&self, field: Field) -> Result<Role, TableError> {
        match field.kind() {
            _ if self.name == "time_ns" => self.integer(Role::Time(TimeUnit::Nanoseconds)),
            ColumnKind::Number(Unit::Nanoseconds) if self.name.ends_with("_ns") => {
                self.integer(Role::Number(field))
            }
            ColumnKind::Number(Unit::Nanoseconds) => self.number(Role::Seconds(field)),
            ColumnKind::Number(_) => self.number(Role::Number(field)),
            _ if field == Field::Time => self.time(),
            _ if self.is_text() => Ok(Role::Text(field)),
            _ => Err(self.refused("a text or an integer")),
        }
    }

    fn time(&self) -> Result<Role, TableError> {
        match (self.physical, self.meaning) {
            (Physical::Int64, Meaning::Timestamp(unit)) => Ok(Role::Time(unit)),
            (Physical::Int96, _) => Ok(Role::OldTime),
            _ => Err(self.refused("a timestamp")),
        }
    }

    fn integer(&self, role: Role) -> Result<Role, TableError> {
        match self.is_integer() {
            true => Ok(role),
            false => Err(self.refused("an integer")),
        }
    }

    /// Programs that have no integers without a value write floating-point numbers instead.
    fn number(&self, role: Role) -> Result<Role, TableError> {
        let is_double = matches!(self.physical, Physical::Float | Physical::Double);
        match is_double || self.is_integer() {
            true => Ok(role),
            false => Err(self.refused("a number")),
        }
    }

    fn is_integer(&self) -> bool {
        matches!(self.physical, Physical::Int32 | Physical::Int64)
            && matches!(self.meaning, Meaning::Plain | Meaning::Unsigned)
    }

    /// Whether values can be shown as texts.
    fn is_text(&self) -> bool {
        match self.physical {
            Physical::Bytes => matches!(self.meaning, Meaning::Plain | Meaning::Text),
            Physical::Boolean | Physical::Float | Physical::Double => true,
            _ => self.is_integer(),
        }
    }

    fn refused(&self, expected: &str) -> TableError {
        TableError::refused(format_args!(
            "is of the type {}, but has to be {expected}; cast it, or give it another name",
            self.type_name()
        ))
    }

    fn type_name(&self) -> &'static str {
        match (self.meaning, self.physical) {
            (Meaning::Decimal, _) => "DECIMAL",
            (Meaning::Timestamp(_), _) => "TIMESTAMP",
            (Meaning::Other(name), _) => name,
            (Meaning::Text, _) => "STRING",
            (Meaning::Unsigned, _) => "unsigned INTEGER",
            (Meaning::Plain, physical) => match physical {
                Physical::Boolean => "BOOLEAN",
                Physical::Int32 => "INT32",
                Physical::Int64 => "INT64",
                Physical::Int96 => "INT96",
                Physical::Float => "FLOAT",
                Physical::Double => "DOUBLE",
                Physical::Bytes => "BYTE_ARRAY",
                Physical::Fixed(_) => "FIXED_LEN_BYTE_ARRAY",
            },
        }
    }
}
