//! Exported rows equal those of a naive walk over all rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field as Cell;
use serde_json::Value;
use weir_core::{BlockLimits, Record, RowReader, format_by_name};
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{
    ExportColumns, ExportError, ExportFormat, LinePlaces, ParsedQuery, RowExport, SegmentExport,
};
use weir_testkit::arrow::{ArrowCell, ArrowStream};
use weir_view::{Query, RecordKind};

use crate::parsed;

use super::record_text::TextColumns;

/// Blocks of a few lines, so that there are many segments.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 20 };

fn log(seed: u64, bytes: u64) -> Vec<u8> {
    let options = weir_demo::TrafficOptions { seed, bytes: Some(bytes), ..Default::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

/// A data set whose sources were read at the same time, so that their segments are mixed.
fn data_of(logs: &[&[u8]]) -> Arc<DataSet> {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writers: Vec<_> =
        (0..logs.len()).map(|_| pipeline.source("a", None, FormatChoice::Detect)).collect();
    let mut pieces: Vec<_> = logs.iter().map(|log| log.chunks(5_000)).collect();
    while pieces.iter().any(|pieces| pieces.len() > 0) {
        for (writer, pieces) in writers.iter_mut().zip(&mut pieces) {
            writer.write_all(pieces.next().unwrap_or_default()).expect("there is memory");
        }
    }
    for writer in writers {
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    data
}

fn name_of(source: u32) -> String {
    format!("source {source}, \"first\"")
}

/// The query of a condition, which may be empty.
fn query_of(condition: &str) -> ParsedQuery {
    let conditions = (!condition.is_empty()).then(|| condition.to_owned()).into_iter().collect();
    parsed(&Query { conditions, ..Query::default() })
}

/// Returns all parts. Each has less than 64 KiB plus the rows of a block.
fn exported(data: &Arc<DataSet>, condition: &str, format: ExportFormat) -> String {
    let query = query_of(condition);
    let mut export =
        RowExport::new(data.clone(), &data.snapshot(), query, format, name_of).expect("valid");
    let mut text = Vec::new();
    while let Some(part) = export.next_part().expect("valid") {
        assert!(part.len() < (64 << 10) + 3 * LIMITS.block_bytes, "{} bytes", part.len());
        text.extend(part);
    }
    String::from_utf8(text).expect("text")
}

/// The rows whose record a test accepts, read and sorted one by one.
fn naive(
    data: &Arc<DataSet>,
    format: ExportFormat,
    accepts: impl Fn(&Record<'_>) -> bool,
) -> String {
    let (snapshot, values) = (data.snapshot(), data.values());
    let reader = RowReader::new(&snapshot.formats, &values, RecordKind::Request.into());
    let columns = TextColumns::new(&**data, RecordKind::Request.into(), format);
    let mut rows = Vec::new();
    for segment in snapshot.segments.iter().map(|segment| &segment.segment) {
        for row in 0..segment.rows() {
            let mut record = Record::new();
            assert!(reader.read(segment, row, &values, &mut record));
            if !accepts(&record) {
                continue;
            }
            let name = name_of(segment.source());
            let text = columns.row(format, &name, &record, None);
            rows.push(((segment.source(), segment.line_offset(row)), text));
        }
    }
    rows.sort();
    columns.header(format) + &rows.into_iter().map(|(_, text)| text).collect::<String>()
}

#[test]
fn rows_are_those_of_a_walk_one_by_one() {
    let logs = [log(1, 300_000), Vec::new(), log(2, 90_000)];
    let logs: Vec<&[u8]> = logs.iter().map(Vec::as_slice).collect();
    let data = data_of(&logs);
    assert!(data.snapshot().segments.len() > 60);
    let status = |wanted: &'static [u8]| {
        move |record: &Record<'_>| record.text(weir_core::Field::Status) == Some(wanted)
    };
    for format in [ExportFormat::Csv, ExportFormat::JsonLines] {
        let all = exported(&data, "", format);
        assert!(all.len() > 200_000);
        assert_eq!(all, naive(&data, format, |_| true));
        let some = exported(&data, "status=404", format);
        assert!(some.lines().count() > 10);
        assert_eq!(some, naive(&data, format, status(b"404")));
        assert_eq!(exported(&data, "status=999", format), naive(&data, format, status(b"999")));
    }
}

/// Lines so long that a thread does not write all rows that it received.
fn long_lines() -> Vec<u8> {
    let agent = "x".repeat(3_000);
    let line = |number: usize| {
        format!(
            "192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 5 \"-\" \
             \"{}\"\n",
            &agent[number % 2_000..]
        )
    };
    (0..2_000).map(line).collect::<String>().into_bytes()
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions::new(2, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    for log in [log(5, 3_000_000), long_lines()] {
        let mut writer = pipeline.source("a", None, FormatChoice::Detect);
        writer.write_all(&log).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    let snapshot = data.snapshot();
    for condition in ["", "status>=300"] {
        for format in ExportFormat::ALL {
            let files = [1, 2, 3, 4].map(|jobs| {
                let query = query_of(condition);
                let export = RowExport::new(data.clone(), &snapshot, query, format, name_of);
                let mut export = export.expect("valid").with_jobs(jobs);
                let mut file = Vec::new();
                while let Some(part) = export.next_part().expect("valid") {
                    file.extend(part);
                }
                file
            });
            assert!(files[0].len() > 10_000, "{format:?}");
            assert!(files.iter().all(|file| *file == files[0]), "{format:?} {condition}");
        }
    }
}

#[test]
fn hostile_text_is_harmless() {
    let log = b"192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] \
        \"GET /\x1b[31m,\xff HTTP/1.1\" 200 5 \"@x\" \"=1+1\"\n";
    let data = data_of(&[&log.repeat(3)]);
    let csv = exported(&data, "", ExportFormat::Csv);
    assert!(
        csv.contains(",\"'@x\",\"'=1+1\",") && csv.contains(",\"/\u{1b}[31m,\u{fffd}\","),
        "{csv}"
    );
    let json = exported(&data, "", ExportFormat::JsonLines);
    assert!(json.contains("\\u001b[31m,\u{fffd}") && !json.contains('\u{1b}'), "{json}");
    assert_eq!(json.lines().count(), 3);
}

/// The members that rows of a table and lines of JSON have in common.
const COMMON: [&str; 8] =
    ["file", "client", "path", "status", "status_code", "user_agent", "request", "bytes"];

/// Converts the escaped text of a table to the text in lines of JSON.
fn lossy(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend(before.bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).expect("digits"));
        rest = &after[2..];
    }
    bytes.extend(rest.bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The rows of a Parquet file as JSON.
fn rows_of(file: Vec<u8>) -> Vec<Vec<Value>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a file");
    let rows = reader.get_row_iter(None).expect("rows");
    let json = |row: &parquet::record::Row, name: &str| {
        let cell = |name: &str| {
            let cell = row.get_column_iter().find(|(own, _)| *own == name).map(|(_, cell)| cell);
            cell.expect("a column")
        };
        let is_escaped = match cell("escaped_columns") {
            Cell::Str(names) => names.split(',').any(|escaped| escaped == name),
            _ => false,
        };
        match cell(name) {
            Cell::Str(text) if is_escaped => Value::from(lossy(text)),
            Cell::Str(text) => Value::from(text.as_str()),
            Cell::Long(number) => Value::from(*number),
            Cell::Int(number) => Value::from(*number),
            Cell::Null => Value::Null,
            other => panic!("unexpected {other:?}"),
        }
    };
    let rows = rows.map(|row| row.expect("a row"));
    rows.map(|row| COMMON.iter().map(|name| json(&row, name)).collect()).collect()
}

/// The rows of an Arrow stream as JSON.
fn rows_of_stream(stream: &[u8]) -> Vec<Vec<Value>> {
    let stream = ArrowStream::read(stream);
    let json = |row: usize, name: &str| {
        let is_escaped = match stream.cell(row, "escaped_columns") {
            ArrowCell::Text(names) => names.split(',').any(|escaped| escaped == name),
            _ => false,
        };
        match stream.cell(row, name) {
            ArrowCell::Text(text) if is_escaped => Value::from(lossy(text)),
            ArrowCell::Text(text) => Value::from(text.as_str()),
            ArrowCell::Integer(number) => Value::from(*number),
            ArrowCell::Null => Value::Null,
            other @ ArrowCell::Double(_) => panic!("unexpected {other:?}"),
        }
    };
    let rows = 0..stream.rows.len();
    rows.map(|row| COMMON.iter().map(|name| json(row, name)).collect()).collect()
}

/// The rows of a table as JSON.
fn rows_of_table(format: ExportFormat, table: Vec<u8>) -> Vec<Vec<Value>> {
    match format {
        ExportFormat::Arrow => rows_of_stream(&table),
        _ => rows_of(table),
    }
}

/// Returns the same rows from lines of JSON.
fn rows_of_json(text: &str) -> Vec<Vec<Value>> {
    let row = |line: &str| {
        let object: Value = serde_json::from_str(line).expect("JSON");
        COMMON.iter().map(|name| object[name].clone()).collect()
    };
    text.lines().map(row).collect()
}

#[test]
fn tables_have_the_rows_of_the_lines_of_json() {
    let logs = [log(3, 300_000), Vec::new(), log(4, 90_000)];
    let logs: Vec<&[u8]> = logs.iter().map(Vec::as_slice).collect();
    let data = data_of(&logs);
    let formats = [ExportFormat::Parquet, ExportFormat::Arrow];
    let conditions = ["", "status=404", "status=999"];
    for (condition, format) in conditions.into_iter().flat_map(|it| formats.map(|to| (it, to))) {
        let query = query_of(condition);
        let mut export =
            RowExport::new(data.clone(), &data.snapshot(), query, format, name_of).expect("valid");
        let mut file = Vec::new();
        while let Some(part) = export.next_part().expect("valid") {
            file.extend(part);
        }
        let json = exported(&data, condition, ExportFormat::JsonLines);
        let rows = rows_of_json(&json);
        assert_eq!(rows.is_empty(), condition == "status=999");
        let table = rows_of_table(format, file);
        assert_eq!(table.len(), rows.len(), "{condition}");
        for (own, expected) in table.iter().zip(&rows) {
            assert_eq!(own, expected, "{condition}");
        }
    }
}

/// A filter decides about all values before the first row, which may take long.
#[test]
fn a_stopped_export_has_no_rows() {
    let data = data_of(&[&log(3, 30_000)]);
    let begin = |stop: &Arc<AtomicBool>| {
        let (query, format) = (query_of("path~a"), ExportFormat::Csv);
        RowExport::new_until(data.clone(), &data.snapshot(), query, format, name_of, stop.clone())
    };
    let stop = Arc::new(AtomicBool::new(true));
    assert!(matches!(begin(&stop), Err(ExportError::Stopped)));
    stop.store(false, Ordering::Relaxed);
    let mut export = begin(&stop).unwrap_or_else(|error| panic!("{error}"));
    assert!(export.next_part().is_ok_and(|part| part.is_some()), "it was not stopped");
    let places = |stop: &Arc<AtomicBool>| {
        LinePlaces::new(data.clone(), &data.snapshot(), query_of("path~a"), stop.clone())
    };
    assert!(places(&stop).is_ok());
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(places(&stop), Err(ExportError::Stopped)));
}

/// Exports a log while it is read with so little memory that ids are reused.
fn exported_while_read(log: &[u8], condition: &str, format: ExportFormat) -> (Vec<u8>, u64) {
    const MEMORY_BYTES: usize = 2 << 20;
    const JOBS: usize = 3;
    let retention = Retention::UntilConsumed;
    let options = PipelineOptions {
        limits: LIMITS,
        memory_bytes_max: MEMORY_BYTES,
        ..PipelineOptions::new(2, retention)
    };
    let data = DataSet::new(retention, MEMORY_BYTES, &[]);
    let mut segments = data.subscribe(2);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut file = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut writer = pipeline.source("a", None, FormatChoice::Detect);
            writer.write_all(log).expect("there is memory");
            writer.finish(SourceEnd::Done).expect("there is memory");
            pipeline.finish();
        });
        let query = (query_of(condition), RecordKind::Request);
        let fields = format_by_name("COMBINED").expect("a format").record_fields();
        let columns = ExportColumns::new(format, &fields, false);
        let export = SegmentExport::new(query, None, format, columns, name_of);
        let mut export = export.expect("columns").with_jobs(JOBS);
        loop {
            let some = segments.next_some(JOBS);
            if some.is_empty() {
                break;
            }
            file.extend(export.push(&some, &data.formats(), &*data).expect("valid"));
        }
        file.extend(export.finish().expect("rows"));
        assert_eq!(export.counts().unknown_values, 0);
    });
    (file, data.values().reuses())
}

#[test]
fn a_log_is_exported_while_ids_are_used_again() {
    // Each path occurs in a few consecutive lines.
    let line = |number: u32| {
        let path = format!("{}{}", "p".repeat(40), number / 3);
        let (minute, second) = (number / 60 % 60, number % 60);
        format!(
            "192.0.2.{} - - [22/Nov/2026:10:{minute:02}:{second:02} +0000] \"GET /{path} HTTP/1.1\" \
             {} 5 \"-\" \"agent {}\"\n",
            number % 7,
            if number.is_multiple_of(5) { 404 } else { 200 },
            number / 9,
        )
    };
    let log: String = (0..60_000).map(line).collect();
    let data = data_of(&[log.as_bytes()]);
    for condition in ["", "path~9$ or status=404"] {
        let expected = exported(&data, condition, ExportFormat::JsonLines);
        assert!(expected.lines().count() > 10_000);
        let (lines, reuses) =
            exported_while_read(log.as_bytes(), condition, ExportFormat::JsonLines);
        assert!(reuses > 0, "ids are used again");
        assert!(lines == expected.as_bytes(), "the lines of {condition:?}");
        for format in [ExportFormat::Parquet, ExportFormat::Arrow] {
            let (file, reuses) = exported_while_read(log.as_bytes(), condition, format);
            assert!(reuses > 0, "ids are used again");
            let table = rows_of_table(format, file);
            assert!(table == rows_of_json(&expected), "{format:?}, {condition:?}");
        }
    }
}
