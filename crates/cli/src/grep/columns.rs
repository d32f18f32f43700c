//! The columns of the lines in CSV and JSON.

use weir_core::{
    Field, FieldAccessor, Format, Record, RecordFields, RecordKind, UnknownField, Zone,
};
use weir_view::{LineMember, csv_header, field_value};

use crate::options::OutputKind;
use crate::scan::LogFields;

/// The names of the columns that are no fields.
const FILE: &str = "file";
const LINE: &str = "line";
const OTHER_FIELDS: &str = "other_fields";
const RAW: &str = "raw";

/// The name that stands for the columns that are printed by default.
const ALL_COLUMNS: &str = "*";

/// The columns of the lines, in their order.
#[derive(Debug)]
pub(super) struct LineColumns {
    columns: Vec<LineColumn>,
    /// Whether a field without a column is missing, not left out.
    are_complete: bool,
}

/// A column of the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LineColumn {
    File,
    Line,
    /// The field of this name.
    Field(String),
    /// The fields that no column is for.
    OtherFields,
    Raw,
}

impl LineColumn {
    fn name(&self) -> &str {
        match self {
            Self::File => FILE,
            Self::Line => LINE,
            Self::Field(name) => name,
            Self::OtherFields => OTHER_FIELDS,
            Self::Raw => RAW,
        }
    }
}

impl LineColumns {
    /// Returns the columns of the lines of some logs. `names` are those that a person has named; without
    /// them, lines of JSON have all fields of their records, and `None` is returned.
    ///
    /// # Errors
    /// If the logs have no field of a name.
    pub(super) fn new(
        output: OutputKind,
        names: &[String],
        logs: &LogFields,
    ) -> Result<Option<Self>, UnknownField> {
        if output == OutputKind::Text || output == OutputKind::Json && names.is_empty() {
            return Ok(None);
        }
        let default = default_columns(logs);
        if names.is_empty() {
            return Ok(Some(Self { columns: default, are_complete: true }));
        }
        let known = known_fields(logs, |_| true);
        let mut columns: Vec<LineColumn> = Vec::new();
        for name in names {
            let named = match name.as_str() {
                ALL_COLUMNS => default.clone(),
                name => vec![column(name, &known)?],
            };
            for column in named {
                if !columns.contains(&column) {
                    columns.push(column);
                }
            }
        }
        let are_complete = names.iter().any(|name| name == ALL_COLUMNS);
        Ok(Some(Self { columns, are_complete }))
    }

    /// Returns the header as a row of CSV.
    pub(super) fn header(&self) -> String {
        csv_header(self.columns.iter().map(LineColumn::name))
    }

    /// Resolves the columns for the records of a format.
    pub(super) fn bind(&self, format: &Format) -> BoundColumns {
        let accessors = format.accessors();
        let is_column = |name: &str| {
            self.columns.iter().any(|it| matches!(it, LineColumn::Field(field) if field == name))
        };
        let bound = |column: &LineColumn| match column {
            LineColumn::File => BoundColumn::File,
            LineColumn::Line => BoundColumn::Line,
            LineColumn::Raw => BoundColumn::Raw,
            LineColumn::OtherFields => BoundColumn::OtherFields,
            LineColumn::Field(name) => {
                let found = accessors.iter().find(|(known, _)| known == name);
                BoundColumn::Field(name.clone(), found.map(|(_, accessor)| *accessor))
            }
        };
        BoundColumns {
            columns: self.columns.iter().map(bound).collect(),
            others: accessors.iter().filter(|(name, _)| !is_column(name)).cloned().collect(),
            are_missing: self.are_complete && !self.columns.contains(&LineColumn::OtherFields),
        }
    }

    /// Resolves the columns for lines that are no records.
    pub(super) fn without_fields(&self) -> BoundColumns {
        let bound = |column: &LineColumn| match column {
            LineColumn::File => BoundColumn::File,
            LineColumn::Line => BoundColumn::Line,
            LineColumn::Raw => BoundColumn::Raw,
            LineColumn::OtherFields => BoundColumn::OtherFields,
            LineColumn::Field(name) => BoundColumn::Field(name.clone(), None),
        };
        let columns = self.columns.iter().map(bound).collect();
        BoundColumns { columns, others: Vec::new(), are_missing: false }
    }
}

/// The columns of the records of one format.
#[derive(Debug, Default)]
pub(super) struct BoundColumns {
    columns: Vec<BoundColumn>,
    /// The fields that no column is for.
    others: Vec<(String, FieldAccessor)>,
    /// Whether those are missing in the output.
    are_missing: bool,
}

#[derive(Debug)]
enum BoundColumn {
    File,
    Line,
    /// A field by its name; `None` if the format lacks it.
    Field(String, Option<FieldAccessor>),
    OtherFields,
    Raw,
}

impl BoundColumns {
    /// Returns all fields of a format, as lines of JSON have them.
    pub(super) fn of_format(format: &Format) -> Self {
        let fields = format.accessors().into_iter();
        let fields = fields.map(|(name, field)| BoundColumn::Field(name, Some(field)));
        let columns = [BoundColumn::File, BoundColumn::Line].into_iter().chain(fields);
        let columns = columns.chain([BoundColumn::Raw]).collect();
        Self { columns, others: Vec::new(), are_missing: false }
    }

    /// Returns the columns of a line that is no record, as lines of JSON have them.
    pub(super) fn of_line() -> Self {
        let columns = vec![BoundColumn::File, BoundColumn::Line, BoundColumn::Raw];
        Self { columns, others: Vec::new(), are_missing: false }
    }

    /// Returns the members of a line, in the order of the columns. Times are in `zone`, or as logged.
    pub(super) fn members<'a>(
        &'a self,
        record: Option<&Record<'a>>,
        zone: Option<&Zone>,
    ) -> Vec<LineMember<'a>> {
        let value = |field: FieldAccessor| record.and_then(|it| field_value(zone, field, it));
        let member = |column: &'a BoundColumn| match column {
            BoundColumn::File => LineMember::File,
            BoundColumn::Line => LineMember::Line,
            BoundColumn::Raw => LineMember::Raw,
            BoundColumn::Field(name, field) => LineMember::Field(name, field.and_then(value)),
            BoundColumn::OtherFields => {
                let other = |(name, field): &'a (String, FieldAccessor)| {
                    Some((name.as_str(), value(*field)?))
                };
                LineMember::Fields(OTHER_FIELDS, self.others.iter().filter_map(other).collect())
            }
        };
        self.columns.iter().map(member).collect()
    }

    /// Returns the names of the fields of a record that the output lacks.
    pub(super) fn missing<'a>(&'a self, record: &Record<'a>) -> impl Iterator<Item = &'a str> {
        let others = self.others.iter().filter(|_| self.are_missing);
        let found = others.filter(|(_, field)| field.value(record).is_some());
        found.map(|(name, _)| name.as_str())
    }
}

/// Returns the column of this name, or of the field that has it among its names.
fn column(name: &str, known: &[String]) -> Result<LineColumn, UnknownField> {
    let field = Field::by_name(name).map_or(name, |field| field.name());
    Ok(match name {
        FILE => LineColumn::File,
        LINE => LineColumn::Line,
        OTHER_FIELDS => LineColumn::OtherFields,
        RAW => LineColumn::Raw,
        _ if known.iter().any(|known| known == field) => LineColumn::Field(field.to_owned()),
        _ => {
            let own = [FILE, LINE].map(str::to_owned).into_iter();
            let fields = own.chain(known.iter().cloned()).chain([RAW.to_owned()]).collect();
            return Err(UnknownField { name: name.to_owned(), fields });
        }
    })
}

/// Returns the columns of the fields that the first records of the logs have. If later ones may have others,
/// there is a column for those.
fn default_columns(logs: &LogFields) -> Vec<LineColumn> {
    let records = logs.records();
    let all = known_fields(logs, |_| true);
    let filled = known_fields(logs, |name| records.filled.contains(name));
    let are_all = logs.are_all_inputs() && records.are_all;
    let may_have_others = !are_all && (filled != all || logs.formats().is_empty());
    let others = may_have_others.then_some(LineColumn::OtherFields);
    let own = [LineColumn::File, LineColumn::Line].into_iter();
    own.chain(filled.into_iter().map(LineColumn::Field))
        .chain(others)
        .chain([LineColumn::Raw])
        .collect()
}

/// Returns the names of the fields of the logs, of all kinds of records: the known ones in their order, then
/// the others. Of a format whose lines may lack a field, only those count that `is_seen` accepts.
fn known_fields(logs: &LogFields, is_seen: impl Fn(&str) -> bool) -> Vec<String> {
    let of_kind = |kind| RecordFields::of(logs.formats().iter().map(AsRef::as_ref), kind, &is_seen);
    let kinds: Vec<RecordFields> = RecordKind::ALL.into_iter().map(of_kind).collect();
    let is_filled = |field: &Field| kinds.iter().any(|fields| fields.fills(*field));
    let known = [Field::Time].into_iter().chain(Field::TEXT).chain(Field::NUMBERS);
    let mut names: Vec<String> =
        known.filter(is_filled).map(|field| field.name().to_owned()).collect();
    for name in kinds.iter().flat_map(RecordFields::extra_fields) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
