//! The columns of exported records.

mod table_column;

use std::collections::HashSet;

use weir_core::{ColumnId, Field, RecordFields, RecordKind, Segment, Unit, UnknownField, Values};

pub(crate) use table_column::CellSource;
pub use table_column::{CellKind, TableColumn};

/// The columns of an export of records of one kind.
///
/// Names are the same in tables and texts. In tables, the columns for the fields that every format
/// may have are always there, so that the tables of several logs can be read as one. Texts have
/// those of the fields that the logs have.
///
/// | column | cells | in tables | in texts |
/// |---|---|---|---|
/// | `file` | the name of the source | yes | yes |
/// | `line_offset` | the offset of the line in its source, in bytes | yes | if named |
/// | `time` | the instant, in tables in microseconds | yes | if filled |
/// | `time_ns` | the instant in nanoseconds | if the logs have them | if named |
/// | `utc_offset_s` | the zone offset that was logged with it, in seconds east of UTC | yes | if named |
/// | `client` to `request` | the text fields, see [`Field::TEXT`] | yes | if filled |
/// | `status_code` | the status as a number | yes | if filled |
/// | `bytes` | a size in bytes | yes | if filled |
/// | `request_time` to `body_time` | durations in seconds, see [`Field::DURATIONS`] | yes | if filled |
/// | `request_time_ns` to `body_time_ns` | durations in nanoseconds | if named | if named |
/// | others | further fields of the formats; `log_` stands before the name of one that another format has in another case | yes | yes |
/// | `other_fields` | a JSON object of fields that no column is for | yes | if named |
/// | `escaped_columns` | the columns whose value is [`escaped`](crate::escaped) in this row | yes | no |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    pub(crate) columns: Vec<TableColumn>,
    /// Columns that the export has only if they are named.
    further: Vec<TableColumn>,
    /// The fields that the logs were known to have, or that have a column.
    known: HashSet<String>,
    /// The kind of the records, and whether their times are those at which requests arrived.
    pub(crate) kind: RecordKind,
    pub(crate) has_arrival_times: bool,
}

/// The name that stands for the default columns in [`TableSchema::select`].
pub const ALL_COLUMNS: &str = "*";

/// The name of the column with the nanoseconds of times.
const TIME_NS: &str = "time_ns";

impl TableSchema {
    /// Creates the columns of a table of records with these fields. `has_nanoseconds` says whether
    /// their times have parts below a microsecond.
    ///
    /// ```
    /// use weir_core::{Format, RecordFields, RecordKind};
    /// use weir_export::TableSchema;
    ///
    /// let format = Format::parse("$remote_addr $status $ssl_protocol $file")?;
    /// let schema = TableSchema::of_table(&format.record_fields(), false);
    /// let names: Vec<&str> = schema.columns().iter().map(|it| it.name.as_str()).collect();
    /// assert_eq!(names[..4], ["file", "line_offset", "time", "utc_offset_s"]);
    /// assert_eq!(names[23..], ["ssl_protocol", "log_file", "other_fields", "escaped_columns"]);
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn of_table(fields: &RecordFields, has_nanoseconds: bool) -> Self {
        let mut columns = Columns { fields, is_table: true, schema: Self::empty() };
        columns.push_all(has_nanoseconds);
        let mut schema = columns.schema;
        (schema.kind, schema.has_arrival_times) = (fields.kind(), fields.has_arrival_times());
        schema.know(Field::ALL.map(Field::name));
        schema.know(fields.extra_fields().iter().map(String::as_str));
        schema
    }

    /// Creates the columns of a text with records with these fields: those that the records may
    /// have.
    ///
    /// ```
    /// use weir_core::Format;
    /// use weir_export::TableSchema;
    ///
    /// let format = Format::parse("$remote_addr [$time_local] $status $ssl_protocol")?;
    /// let schema = TableSchema::of_text(&format.record_fields());
    /// let names = |schema: &TableSchema| schema.columns().iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    /// let expected = ["file", "time", "client", "status", "status_code", "ssl_protocol"];
    /// assert_eq!(names(&schema), expected);
    ///
    /// let named = schema.select(&["status".to_owned(), "remote_addr".to_owned()])?;
    /// assert_eq!(names(&named), ["status", "client"]);
    /// let error = schema.select(&["stauts".to_owned()]).unwrap_err();
    /// assert!(error.to_string().contains("`status`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_text(fields: &RecordFields) -> Self {
        let mut columns = Columns { fields, is_table: false, schema: Self::empty() };
        columns.push_all(false);
        let mut schema = columns.schema;
        schema.know(fields.accessors().iter().map(|(name, _)| name.as_str()));
        schema
    }

    fn empty() -> Self {
        Self {
            columns: Vec::new(),
            further: Vec::new(),
            known: HashSet::new(),
            kind: RecordKind::Request,
            has_arrival_times: false,
        }
    }

    /// Returns the named columns, in the order of the names. A field may have any of its names.
    /// [`ALL_COLUMNS`] stands for all columns that the export has by default. A column that is named
    /// again is not repeated.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn select(&self, names: &[String]) -> Result<Self, UnknownField> {
        let mut selected: Vec<TableColumn> = Vec::new();
        for name in names {
            let columns = match name.as_str() {
                ALL_COLUMNS => &self.columns[..],
                name => std::slice::from_ref(self.find(name)?),
            };
            for column in columns {
                if !selected.contains(column) {
                    selected.push(column.clone());
                }
            }
        }
        let (is_selected, known) = (|it: &TableColumn| selected.contains(it), self.known.clone());
        let others = self.columns.iter().chain(&self.further).filter(|it| !is_selected(it));
        let further = others.cloned().collect();
        let mut schema = Self { further, columns: selected, known, ..*self };
        let names: Vec<String> = schema.columns.iter().filter_map(TableColumn::field).collect();
        schema.know(names.iter().map(String::as_str));
        Ok(schema)
    }

    /// Returns a column by its name, or by any name of its field.
    fn find(&self, name: &str) -> Result<&TableColumn, UnknownField> {
        let all = || self.columns.iter().chain(&self.further);
        let field = Field::by_name(name).map_or(name, |field| field.name());
        let mut found = [name, field].into_iter();
        found.find_map(|name| all().find(|column| column.name == name)).ok_or_else(|| {
            let fields = all().map(|column| column.name.clone()).collect();
            UnknownField { name: name.to_owned(), fields }
        })
    }

    /// Returns the names of a segment's columns that the export neither has nor could have named. They
    /// belong to fields that first appeared after the export had begun.
    pub fn late_fields<'v>(
        &self,
        segment: &Segment,
        values: &'v Values,
    ) -> impl Iterator<Item = (ColumnId, &'v str)> {
        let columns = segment.columns();
        let named =
            columns.filter_map(|(id, _)| Some((id, values.schema().column(id)?.name.as_str())));
        named.filter(|(_, name)| !self.knows(name))
    }

    /// Returns whether a field was known when the columns were created.
    fn knows(&self, field: &str) -> bool {
        self.known.contains(field)
    }

    /// Returns whether the nanoseconds of times have a column, or could have one.
    pub(crate) fn knows_nanoseconds(&self) -> bool {
        self.knows(TIME_NS)
    }

    fn know<'a>(&mut self, fields: impl IntoIterator<Item = &'a str>) {
        self.known.extend(fields.into_iter().map(str::to_owned));
    }

    /// Returns the metadata entries of a file about its records, for the program that reads them back: the
    /// kind, unless they are requests, and whether times are those at which requests arrived.
    pub(crate) fn record_entries(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let kind = match self.kind {
            RecordKind::Request => None,
            RecordKind::ErrorLogLine => Some(("weir.records", "error_log_lines")),
            RecordKind::FirewallEvent => Some(("weir.records", "firewall_events")),
        };
        kind.into_iter().chain(self.has_arrival_times.then_some(("weir.times", "arrival")))
    }

    /// Returns the index of the column with the cells of this origin.
    pub(crate) fn index_of(&self, source: &CellSource) -> Option<usize> {
        self.columns.iter().position(|column| column.source == *source)
    }

    /// Returns the columns in order.
    pub fn columns(&self) -> &[TableColumn] {
        &self.columns
    }
}

/// The columns of an export, while they are collected.
struct Columns<'a> {
    fields: &'a RecordFields,
    is_table: bool,
    schema: TableSchema,
}

impl Columns<'_> {
    fn push_all(&mut self, has_nanoseconds: bool) {
        let is_table = self.is_table;
        self.push("file", CellKind::Text, CellSource::File, true);
        self.push("line_offset", CellKind::Number(Unit::Bytes), CellSource::LineOffset, is_table);
        self.push_known(Field::Time, CellKind::Instant, CellSource::Time);
        self.push(TIME_NS, CellKind::InstantNanoseconds, CellSource::Time, has_nanoseconds);
        if has_nanoseconds {
            self.schema.know([TIME_NS]);
        }
        self.push("utc_offset_s", CellKind::ZoneOffset, CellSource::ZoneOffset, is_table);
        for field in Field::TEXT {
            self.push_known(field, CellKind::Text, CellSource::Text(field.name().to_owned()));
            if field == Field::Status {
                let is_default = is_table || self.fields.fills(field);
                self.push("status_code", CellKind::Status, CellSource::StatusCode, is_default);
            }
        }
        let bytes = CellKind::Number(Unit::Bytes);
        self.push_known(Field::Bytes, bytes, CellSource::Number(Field::Bytes));
        for field in Field::DURATIONS {
            self.push_known(field, CellKind::Seconds, CellSource::Number(field));
        }
        for field in Field::DURATIONS {
            let (name, kind) =
                (format!("{}_ns", field.name()), CellKind::Number(Unit::Nanoseconds));
            self.push(&name, kind, CellSource::Number(field), false);
        }
        self.push_extra_fields();
        self.push("other_fields", CellKind::Text, CellSource::OtherFields, is_table);
        if is_table {
            self.push("escaped_columns", CellKind::Text, CellSource::EscapedColumns, true);
        }
    }

    /// Adds the columns of the fields that only some formats have. Tables have the leading column of
    /// their kind in any case.
    fn push_extra_fields(&mut self) {
        let leading = match self.fields.kind() {
            RecordKind::Request => None,
            RecordKind::ErrorLogLine => Some("level"),
            RecordKind::FirewallEvent => Some("action"),
        };
        let extra_fields = self.fields.extra_fields().iter().map(String::as_str);
        for name in leading.filter(|_| self.is_table).into_iter().chain(extra_fields) {
            let source = CellSource::Text(name.to_owned());
            if self.schema.columns.iter().all(|column| column.source != source) {
                self.push(name, CellKind::Text, source, true);
            }
        }
    }

    fn push_known(&mut self, field: Field, kind: CellKind, source: CellSource) {
        self.push(field.name(), kind, source, self.is_table || self.fields.fills(field));
    }

    fn push(&mut self, name: &str, kind: CellKind, source: CellSource, is_default: bool) {
        let has_literal_dash = self.fields.has_literal_dash(name);
        let mut name = name.to_owned();
        let is_taken = |name: &str| {
            // Programs that read tables often ignore the case of names, also of letters beyond ASCII.
            let folded = name.to_lowercase();
            let is_same = |other: &str| other.to_lowercase() == folded;
            let mut all = self.schema.columns.iter().chain(&self.schema.further);
            all.any(|column| is_same(&column.name))
        };
        // Fields of several formats may differ in the case of their names alone.
        while is_taken(&name) {
            name.insert_str(0, "log_");
        }
        let column = TableColumn { name, kind, source, has_literal_dash };
        match is_default {
            true => self.schema.columns.push(column),
            false => self.schema.further.push(column),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::{Format, RecordFields, RecordKind};

    use super::{CellSource, TableSchema};

    fn fields(kind: RecordKind, formats: &[&str]) -> RecordFields {
        let formats: Vec<Format> =
            formats.iter().map(|it| Format::parse(it).expect("a format")).collect();
        RecordFields::of(formats.iter(), kind, |_| true)
    }

    fn names(schema: &TableSchema) -> Vec<&str> {
        schema.columns().iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn columns_are_found_by_their_origin() {
        let fields = fields(RecordKind::Request, &["$line_offset $other_fields $escaped_columns"]);
        let schema = TableSchema::of_table(&fields, false);
        let name =
            |source| schema.index_of(&source).map(|index| schema.columns()[index].name.as_str());
        assert_eq!(name(CellSource::LineOffset), Some("line_offset"));
        assert_eq!(name(CellSource::OtherFields), Some("other_fields"));
        assert_eq!(name(CellSource::Text("log_other_fields".to_owned())), Some("log_other_fields"));
        assert_eq!(name(CellSource::Text("other_fields".to_owned())), None);
        let last = schema.columns().last().map(|column| &column.source);
        assert_eq!(last, Some(&CellSource::EscapedColumns));
    }

    #[test]
    fn columns_have_the_same_names_in_texts_and_tables() {
        let format = ["$remote_addr $status $Time_ns $escaped_columns $raw $file"];
        let fields = fields(RecordKind::Request, &format);
        let text = TableSchema::of_text(&fields);
        let expected = [
            "file",
            "client",
            "status",
            "status_code",
            "log_Time_ns",
            "log_escaped_columns",
            "log_raw",
            "log_file",
        ];
        assert_eq!(names(&text), expected);
        let table = TableSchema::of_table(&fields, true);
        let own: Vec<&str> = names(&table).into_iter().filter(|it| expected.contains(it)).collect();
        assert_eq!(own, expected);
        assert!(names(&table).contains(&"time_ns"));
    }

    #[test]
    fn names_of_several_formats_differ_in_more_than_case() {
        let fields = fields(RecordKind::Request, &["$remote_addr $Tenant", "$remote_addr $tenant"]);
        let names_of = |schema: &TableSchema| names(schema)[2..].join(" ");
        assert_eq!(names_of(&TableSchema::of_text(&fields)), "Tenant log_tenant");
    }

    #[test]
    fn named_columns_are_in_their_order() {
        let format = ["$remote_addr $status $b"];
        let schema = TableSchema::of_text(&fields(RecordKind::Request, &format));
        let select = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            schema.select(&names).map_err(|error| error.to_string())
        };
        let selected = select(&["b", "*", "request_time_ns", "sc-bytes"]).expect("columns");
        let expected = ["b", "file", "client", "status", "status_code", "request_time_ns", "bytes"];
        assert_eq!(names(&selected), expected);
        assert!(select(&["escaped_columns"]).is_err(), "texts have no escapes");
        assert!(select(&["clint"]).is_err_and(|error| error.contains("`client`")));
    }
}
