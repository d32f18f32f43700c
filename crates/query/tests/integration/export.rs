//! Exported rows are those of a walk over all rows, one by one.

use std::sync::Arc;

use weir_core::{BlockLimits, Record, RowReader};
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{ExportFormat, RowExport};
use weir_view::{FieldValues, LogLine, Query, RecordKind, line_csv_header, line_csv_row};

/// Blocks of a few lines, so that there are many segments.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 20 };

fn log(seed: u64, bytes: u64) -> Vec<u8> {
    let options = weir_demo::Options { seed, bytes: Some(bytes), ..Default::default() };
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

/// All parts, each with at most 64 KiB and one row.
fn exported(data: &Arc<DataSet>, condition: &str, format: ExportFormat) -> String {
    let conditions = (!condition.is_empty()).then(|| condition.to_owned()).into_iter().collect();
    let query = Query { conditions, ..Query::default() };
    let mut export = RowExport::new(data.clone(), query, format, name_of).expect("valid");
    let mut text = Vec::new();
    while let Some(part) = export.next_part().expect("valid") {
        assert!(part.len() < (64 << 10) + 4_096, "{} bytes", part.len());
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
    let columns = reader.fields().accessors();
    let mut rows = Vec::new();
    for segment in snapshot.segments.iter().map(|segment| &segment.segment) {
        for row in 0..segment.rows() {
            let mut record = Record::new();
            assert!(reader.read(segment, row, &values, &mut record));
            if !accepts(&record) {
                continue;
            }
            let fields = FieldValues { columns: &columns, record: &record, zone: None };
            let name = name_of(segment.source());
            let text = match format {
                ExportFormat::Csv => line_csv_row(&name, None, Some(fields)),
                ExportFormat::JsonLines => {
                    let mut json = Vec::new();
                    let line = LogLine { file: &name, text: None, fields: fields.named() };
                    line.write_json(&mut json).expect("memory");
                    String::from_utf8(json).expect("text")
                }
            };
            rows.push(((segment.source(), segment.line_offset(row)), text));
        }
    }
    rows.sort();
    let header = if format == ExportFormat::Csv { line_csv_header(false) } else { String::new() };
    header + &rows.into_iter().map(|(_, text)| text).collect::<String>()
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
