//! Exported tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::{Field, Record, RecordKind, RowReader};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{ExportFormat, ParsedQuery, RowExport};
use weir_testkit::tables::{Cell, Rows, arrow_rows, parquet_rows};
use weir_view::Query;

/// Lines of any format: the rows of a Parquet file and of an Arrow stream are the records.
pub(crate) fn exports(bytes: &[u8]) {
    let data = DataSet::new(Retention::Segments, 1 << 24, &[]);
    let options = PipelineOptions::new(1, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut source = pipeline.source("a", None, FormatChoice::Detect);
    source.write_all(bytes).expect("there is memory");
    source.finish(SourceEnd::Done).expect("there is memory");
    pipeline.finish();
    for kind in RecordKind::ALL {
        let of_kind = Query { kind: Some(kind.into()), ..Query::default() };
        let of_kind = ParsedQuery::parse(&of_kind).expect("there are no conditions");
        let parquet = parquet_rows(export(&data, of_kind.clone(), ExportFormat::Parquet));
        let arrow = arrow_rows(&export(&data, of_kind.clone(), ExportFormat::Arrow));
        assert_eq!(parquet, arrow);
        let lines = export(&data, of_kind, ExportFormat::JsonLines);
        assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), parquet.len());
        check_records(&data, kind, parquet);
    }
}

fn export(data: &Arc<DataSet>, query: ParsedQuery, format: ExportFormat) -> Vec<u8> {
    let export = RowExport::new(data.clone(), &data.snapshot(), query, format, |_| "a".to_owned());
    let mut export = export.expect("a query without conditions is valid");
    let mut file = Vec::new();
    while let Some(part) = export.next_part().expect("every row can be encoded") {
        file.extend(part);
    }
    file
}

/// Checks that the rows are the records of a kind, in the order of their lines.
fn check_records(data: &DataSet, kind: RecordKind, rows: Rows) {
    let (snapshot, values) = (data.snapshot(), data.values());
    let reader = RowReader::new(&snapshot.formats, &values, kind);
    let mut by_line = BTreeMap::new();
    for segment in snapshot.segments.iter().map(|it| &it.segment) {
        let places = (0..segment.rows()).map(|row| (segment.line_offset(row), (segment, row)));
        by_line.extend(places.filter(|_| segment.kind() == kind));
    }
    assert_eq!(by_line.len(), rows.len());
    for ((offset, (segment, row)), cells) in by_line.into_iter().zip(rows) {
        let cells: BTreeMap<String, Cell> = cells.into_iter().collect();
        let mut record = Record::new();
        assert!(reader.read(segment, row, &values, &mut record), "all values are kept");
        assert_eq!(cells["line_offset"], long(offset));
        for field in Field::TEXT {
            let value = record.text(field).filter(|value| *value != b"-").map(<[u8]>::to_vec);
            assert_eq!(value_of(&cells, field.name()), value, "{}", field.name());
        }
        let size = record.number(Field::Bytes).map_or(Cell::Null, long);
        assert_eq!(cells["bytes"], size);
        let seconds = |nanoseconds: u64| Cell::Double(nanoseconds as f64 / 1e9);
        let duration = record.number(Field::RequestTime).map_or(Cell::Null, seconds);
        assert_eq!(cells["request_time"], duration);
        let time = record
            .time
            .map_or(Cell::Null, |time| Cell::TimestampMicros(time.unix_ns.div_euclid(1_000)));
        assert_eq!(cells["time"], time);
    }
}

/// A number, which is signed in tables.
fn long(number: u64) -> Cell {
    Cell::Long(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The bytes that a text stands for, as docs/exports.md describes it.
fn value_of(cells: &BTreeMap<String, Cell>, name: &str) -> Option<Vec<u8>> {
    let Cell::Str(text) = &cells[name] else { return None };
    let is_escaped = match &cells["escaped_columns"] {
        Cell::Str(names) => names.split(',').any(|escaped| escaped == name),
        _ => false,
    };
    if !is_escaped {
        return Some(text.clone().into_bytes());
    }
    let mut parts = text.split('\\');
    let mut value = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.strip_prefix('x').expect("an escape");
        value.push(u8::from_str_radix(&digits[..2], 16).expect("two digits"));
        value.extend(digits[2..].bytes());
    }
    Some(value)
}
