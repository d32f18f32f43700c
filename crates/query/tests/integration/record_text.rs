//! The text of a record, field by field, for comparison with exports.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use weir_core::{
    Field, FieldAccessor, Format, Record, RecordFields, RecordKind, RowReader, Snapshots, Zone,
};
use weir_query::ExportFormat;
use weir_view::{csv_row, to_json, value_in};

/// The columns of an export, found by reading all records.
pub(crate) struct TextColumns {
    fields: RecordFields,
    /// Their names, and how they are read.
    columns: Vec<(String, FieldAccessor)>,
}

impl TextColumns {
    pub(crate) fn new<D: Snapshots>(data: &D, kind: RecordKind, format: ExportFormat) -> Self {
        let (snapshot, values) = (data.snapshot(), data.values());
        let reader = RowReader::new(&snapshot.formats, &values, kind);
        let mut filled = HashSet::new();
        for segment in snapshot.segments.iter().map(|it| &it.segment) {
            for row in (0..segment.rows()).filter(|_| segment.kind() == kind) {
                let mut record = Record::new();
                let is_known = reader.read(segment, row, &values, &mut record);
                for (name, field) in reader.fields().accessors() {
                    if field.value(&record).is_some() || !is_known {
                        filled.insert(name);
                    }
                }
            }
        }
        let formats = snapshot.formats.iter().map(Arc::<Format>::as_ref);
        let is_filled = |name: &str| format != ExportFormat::Csv || filled.contains(name);
        let fields = RecordFields::of(formats, kind, is_filled);
        let names = fields.accessors().into_iter().map(|(name, _)| name);
        let column = |name: String| {
            let accessor = reader.fields().accessor(&name).expect("a field");
            (name, accessor)
        };
        let columns = names.map(column).collect();
        Self { fields, columns }
    }

    pub(crate) fn fields(&self) -> &RecordFields {
        &self.fields
    }

    /// The text before the first record.
    pub(crate) fn header(&self, format: ExportFormat) -> String {
        let names = self.columns.iter().flat_map(|(name, field)| {
            let code = (*field == STATUS).then_some("status_code");
            [name.as_str()].into_iter().chain(code)
        });
        let names: Vec<&str> = ["file"].into_iter().chain(names).collect();
        match format {
            ExportFormat::Csv => csv_row(names.iter().map(|name| name.as_bytes())),
            _ => String::new(),
        }
    }

    /// The text of a record.
    pub(crate) fn row(
        &self,
        format: ExportFormat,
        file: &str,
        record: &Record<'_>,
        zone: Option<&Zone>,
    ) -> String {
        let mut cells = vec![("file", Some(Cow::from(file.as_bytes())), false)];
        for (name, field) in &self.columns {
            let has_literal_dash = self.fields.has_literal_dash(name);
            let value = value_in(zone, *field, record);
            let value = value.filter(|value| has_literal_dash || **value != *b"-");
            let code =
                value.clone().filter(|it| !it.is_empty() && it.iter().all(u8::is_ascii_digit));
            cells.push((name.as_str(), value, field.is_number()));
            if *field == STATUS {
                let code = code.map(|it| String::from_utf8(it.into_owned()).expect("digits"));
                let code = code.and_then(|it| it.parse::<i32>().ok()).map(|it| it.to_string());
                cells.push(("status_code", code.map(|it| it.into_bytes().into()), true));
            }
        }
        match format {
            ExportFormat::Csv => {
                // An empty text has quotes, as opposed to none.
                let cell = |value: &Option<Cow<'_, [u8]>>| match value.as_deref() {
                    None => String::new(),
                    Some(b"") => "\"\"".to_owned(),
                    Some(value) => csv_row([value]).trim_end_matches("\r\n").to_owned(),
                };
                let row: Vec<String> = cells.iter().map(|(_, value, _)| cell(value)).collect();
                row.join(",") + "\r\n"
            }
            ExportFormat::JsonLines => {
                let members = cells.iter().filter_map(|(name, value, is_number)| {
                    let value = value.as_ref()?;
                    let value = match is_number {
                        true => String::from_utf8(value.to_vec()).expect("digits"),
                        false => json(value),
                    };
                    Some(format!("{}:{value}", json(name.as_bytes())))
                });
                format!("{{{}}}\n", members.collect::<Vec<_>>().join(","))
            }
            ExportFormat::Parquet | ExportFormat::Arrow => unreachable!("not a text"),
        }
    }
}

const STATUS: FieldAccessor = FieldAccessor::Field(Field::Status);

fn json(text: &[u8]) -> String {
    to_json(&String::from_utf8_lossy(text)).expect("text")
}
