//! The text of a record, field by field, for comparison with exports.

use std::borrow::Cow;

use weir_core::{Field, FieldAccessor, Record, Zone};
use weir_query::ExportFormat;
use weir_view::{csv_row, to_json, value_in};

/// The fields that have a column in CSV.
const CSV_FIELDS: [Field; 19] = [
    Field::Time,
    Field::Client,
    Field::User,
    Field::Host,
    Field::Method,
    Field::Path,
    Field::Query,
    Field::Protocol,
    Field::Status,
    Field::Referer,
    Field::UserAgent,
    Field::Request,
    Field::Bytes,
    Field::RequestTime,
    Field::UpstreamTime,
    Field::UpstreamConnectTime,
    Field::UpstreamHeaderTime,
    Field::WaitTime,
    Field::BodyTime,
];

/// The text before the first record.
pub(crate) fn header(format: ExportFormat) -> String {
    let names = ["file"].into_iter().chain(CSV_FIELDS.map(Field::name));
    match format {
        ExportFormat::Csv => csv_row(names.map(str::as_bytes)),
        _ => String::new(),
    }
}

/// The text of a record with these fields.
pub(crate) fn record_text(
    format: ExportFormat,
    file: &str,
    fields: &[(String, FieldAccessor)],
    record: &Record<'_>,
    zone: Option<&Zone>,
) -> String {
    match format {
        ExportFormat::Csv => {
            let value = |field| value_in(zone, FieldAccessor::Field(field), record);
            let values = CSV_FIELDS.map(|field| value(field).unwrap_or_default());
            csv_row([file.as_bytes()].into_iter().chain(values.iter().map(AsRef::as_ref)))
        }
        ExportFormat::JsonLines => {
            let members = fields.iter().filter_map(|(name, field)| {
                let value = value_in(zone, *field, record)?;
                Some(format!(",{}:{}", json(key(name).as_bytes()), json_value(*field, &value)))
            });
            format!("{{\"file\":{}{}}}\n", json(file.as_bytes()), members.collect::<String>())
        }
        ExportFormat::Parquet | ExportFormat::Arrow => unreachable!("not a text"),
    }
}

/// Returns the key of a field. A name that the line itself uses gets a prefix.
fn key(name: &str) -> Cow<'_, str> {
    match name {
        "file" | "line" | "raw" | "raw_hex" => format!("log_{name}").into(),
        name => name.into(),
    }
}

fn json_value(field: FieldAccessor, value: &[u8]) -> String {
    match field.is_number() {
        true => String::from_utf8(value.to_vec()).expect("digits"),
        false => json(value),
    }
}

fn json(text: &[u8]) -> String {
    to_json(&String::from_utf8_lossy(text)).expect("text")
}
