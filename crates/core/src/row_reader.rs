//! Reads the rows of segments as records.

use std::sync::Arc;

use crate::column::{ABSENT, REMAINDER, Segment};
use crate::field::Field;
use crate::format::Format;
use crate::record::{FieldAccessor, Record, RecordFields};
use crate::schema::{ColumnId, RecordKind};
use crate::values::Values;

/// Fills records from the rows of a data set.
///
/// What can only be decided record by record, such as a rule with a key of several fields, runs
/// over a data set as it runs over lines.
#[derive(Debug, Clone)]
pub struct RowReader {
    /// The columns of the fields that only some formats have, by their index in a record.
    extra_columns: Vec<ColumnId>,
    fields: RecordFields,
    /// The known fields to read.
    text_fields: Vec<Field>,
    number_fields: Vec<Field>,
    /// The extra fields to read, by their index in a record.
    extra_fields: Vec<usize>,
}

impl RowReader {
    /// A reader of the rows of one kind, of a data set with these formats.
    pub fn new(formats: &[Arc<Format>], values: &Values, kind: RecordKind) -> Self {
        let formats = || formats.iter().filter(|format| format.kind() == kind);
        let fields = Field::ALL.into_iter().filter(|field| formats().any(|it| it.fills(*field)));
        let is_extra =
            |name: &str| formats().any(|it| it.extra_fields().iter().any(|has| has == name));
        let is_own = |column: &ColumnId| Field::TEXT.iter().all(|field| field.column() != *column);
        let columns = values.schema().text_columns().filter(|(column, _)| is_own(column));
        let is_derived = |column: &ColumnId| values.schema().is_derived(*column);
        let mut extra: Vec<(ColumnId, String)> = columns
            .filter(|(_, name)| is_extra(name))
            .map(|(column, name)| (column, name.to_owned()))
            .collect();
        extra.sort_by_key(|(column, _)| is_derived(column));
        let logged = extra.iter().filter(|(column, _)| !is_derived(column)).count();
        let (extra_columns, names): (Vec<ColumnId>, Vec<String>) = extra.into_iter().unzip();
        let all = |holds: fn(&Format) -> bool| {
            formats().next().is_some() && formats().all(|format| holds(format))
        };
        let has_arrival_times = all(Format::has_arrival_times);
        let has_plain_texts = all(Format::has_plain_texts);
        let fields = RecordFields::new(fields.collect(), names, kind)
            .with_literal_dashes(|name| has_literal_dashes(formats().map(Arc::as_ref), name))
            .with_logged(logged);
        let extra_fields = (0..extra_columns.len()).collect();
        Self {
            extra_columns,
            fields: fields.with_arrival_times(has_arrival_times).with_plain_texts(has_plain_texts),
            text_fields: Field::TEXT.to_vec(),
            number_fields: Field::NUMBERS.to_vec(),
            extra_fields,
        }
    }

    /// A reader of these fields alone, by any of their names, and of the time. The others are
    /// absent.
    #[must_use]
    pub fn only(mut self, names: &[String]) -> Self {
        let is_named =
            |field: &Field| names.iter().any(|name| Field::by_name(name) == Some(*field));
        self.text_fields.retain(is_named);
        self.number_fields.retain(is_named);
        self.extra_fields.retain(|index| names.contains(&self.fields.extra_fields()[*index]));
        self
    }

    /// Returns the fields of the records.
    pub fn fields(&self) -> &RecordFields {
        &self.fields
    }

    /// Fills `record` from a row. Returns whether all of its values are known: if the memory of the
    /// data set was used up, some were not kept, and are absent.
    pub fn read<'v>(
        &self,
        segment: &Segment,
        row: usize,
        values: &'v Values,
        record: &mut Record<'v>,
    ) -> bool {
        record.clear(self.extra_columns.len());
        record.time = segment.time(row);
        for field in &self.number_fields {
            record.set_number(*field, segment.number(*field, row));
        }
        let mut is_known = true;
        let mut value = |column: ColumnId| {
            let id = segment.text(column)?.get(row) as u32;
            is_known &= id != REMAINDER;
            if id == ABSENT || id == REMAINDER { None } else { values.dictionary(column).value(id) }
        };
        for field in &self.text_fields {
            record.put_text(*field, value(field.column()));
        }
        for index in &self.extra_fields {
            if let Some(value) = value(self.extra_columns[*index]) {
                record.set_extra(*index, value);
            }
        }
        is_known
    }

    /// Returns the text columns that are read.
    pub fn text_columns(&self) -> impl Iterator<Item = ColumnId> {
        let known = self.text_fields.iter().map(|field| field.column());
        known.chain(self.extra_fields.iter().map(|index| self.extra_columns[*index]))
    }

    /// Returns the text column of a field, if it is read. Numbers and times have none.
    pub fn text_column(&self, field: FieldAccessor) -> Option<ColumnId> {
        match field {
            FieldAccessor::Field(field) => {
                self.text_fields.contains(&field).then(|| field.column())
            }
            FieldAccessor::Extra(index) => {
                self.extra_fields.contains(&index).then(|| self.extra_columns[index])
            }
            FieldAccessor::StatusClass => None,
        }
    }

    /// Fills `record` with one value of a text column and nothing else, by its id. A consumer whose
    /// answer depends on one field asks once for each distinct value instead of each row.
    ///
    /// [`ABSENT`] leaves the record empty.
    pub fn read_value<'v>(
        &self,
        column: ColumnId,
        id: u32,
        values: &'v Values,
        record: &mut Record<'v>,
    ) {
        record.clear(self.extra_columns.len());
        let Some(value) = values.dictionary(column).value(id) else { return };
        match self.text_fields.iter().find(|field| field.column() == column) {
            Some(field) => record.put_text(*field, Some(value)),
            None => {
                let index = self.extra_columns.iter().position(|extra| *extra == column);
                index.into_iter().for_each(|index| record.set_extra(index, value));
            }
        }
    }
}

impl RecordFields {
    /// Returns the fields of the records of this kind in logs with these formats. Extra fields are in
    /// the order of the formats.
    ///
    /// A format with values in fixed places has all of its fields. Of a format of JSON objects or of
    /// messages, which may have any of its members, only those count that `is_seen` accepts by their
    /// names.
    ///
    /// ```
    /// use weir_core::{Field, Format, RecordFields, RecordKind};
    ///
    /// let formats = ["$remote_addr $b $a", "json:status=code,user=name"].map(Format::parse);
    /// let formats: Vec<Format> = formats.into_iter().collect::<Result<_, _>>()?;
    /// let fields = RecordFields::of(formats.iter(), RecordKind::Request, |name| name == "status");
    /// assert_eq!(fields.extra_fields(), ["b", "a"]);
    /// assert!(fields.fills(Field::Client) && fields.fills(Field::Status));
    /// assert!(!fields.fills(Field::User));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn of<'a>(
        formats: impl Iterator<Item = &'a Format> + Clone,
        kind: RecordKind,
        is_seen: impl Fn(&str) -> bool,
    ) -> Self {
        let formats = formats.filter(|format| format.kind() == kind);
        let has = |format: &Format, name: &str| format.is_in_every_line(name) || is_seen(name);
        let is_filled = |field: &Field| {
            formats.clone().any(|format| format.fills(*field) && has(format, field.name()))
        };
        let fields = Field::ALL.into_iter().filter(is_filled).collect();
        let mut extra_fields: Vec<String> = Vec::new();
        for format in formats.clone() {
            for name in format.extra_fields().iter().filter(|name| has(format, name)) {
                if !extra_fields.contains(name) {
                    extra_fields.push(name.clone());
                }
            }
        }
        Self::new(fields, extra_fields, kind)
            .with_literal_dashes(|name| has_literal_dashes(formats.clone(), name))
    }
}

/// Returns whether a value `-` of an extra field is a value in all formats that have the field.
fn has_literal_dashes<'a>(mut formats: impl Iterator<Item = &'a Format>, name: &String) -> bool {
    formats.all(|it| it.has_literal_dashes() || !it.extra_fields().contains(name))
}
