//! Text that is written from columns equals the text of each record.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Field, Format, LogSource, ReadCounts, Record, RecordKind,
    RowReader, SegmentList, Snapshot, SnapshotSegment, Snapshots, TimeBounds, Values, Zone,
};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{ExportColumns, ExportFormat, ParsedQuery, RowExport, SegmentExport, find_zone};
use weir_testkit::fixtures;
use weir_view::Query;

use crate::parsed;

use super::record_text::TextColumns;

const TEXTS: [ExportFormat; 2] = [ExportFormat::Csv, ExportFormat::JsonLines];

const ZONES: [Option<&str>; 3] = [None, Some("Europe/Berlin"), Some("America/St_Johns")];

/// Segments and values that do not change.
struct Archive {
    values: Values,
    segments: SegmentList,
    formats: Vec<Arc<Format>>,
}

struct File;

impl LogSource for File {
    fn read_counts(&self) -> ReadCounts {
        ReadCounts::default()
    }

    fn format(&self) -> Option<&Arc<Format>> {
        None
    }

    fn name(&self) -> &str {
        "a.log"
    }
}

impl Snapshots for Archive {
    type Source = File;

    fn values(&self) -> impl Deref<Target = Values> {
        &self.values
    }

    fn snapshot(&self) -> Snapshot<File> {
        Snapshot {
            segments: self.segments.clone(),
            departed: Default::default(),
            sources: vec![File],
            formats: self.formats.clone(),
            epoch: self.values.reuses(),
        }
    }

    fn memory_bytes_max(&self) -> usize {
        1 << 30
    }
}

fn name_of(source: u32) -> String {
    format!("={source}, \"\u{202e}")
}

/// Returns the text of the records of a kind in line order, and the number of records with a value
/// that was not kept in one of the format's fields.
fn expected<D: Snapshots>(
    data: &D,
    (format, kind, zone): (ExportFormat, RecordKind, Option<&Zone>),
    accepts: impl Fn(&Record<'_>) -> bool,
) -> (String, u64) {
    let (snapshot, values) = (data.snapshot(), data.values());
    let reader = RowReader::new(&snapshot.formats, &values, kind);
    let columns = TextColumns::new(data, kind, format);
    let (mut rows, mut unknown) = (Vec::new(), 0);
    for segment in snapshot.segments.iter().map(|it| &it.segment) {
        for row in (0..segment.rows()).filter(|_| segment.kind() == kind) {
            let mut record = Record::new();
            let is_known = reader.read(segment, row, &values, &mut record);
            if !accepts(&record) {
                continue;
            }
            unknown += u64::from(!is_known);
            let text = columns.row(format, &name_of(segment.source()), &record, zone);
            rows.push(((segment.source(), segment.line_offset(row)), text));
        }
    }
    rows.sort();
    (columns.header(format) + &rows.into_iter().map(|(_, text)| text).collect::<String>(), unknown)
}

/// Exports a data set that no longer changes.
fn exported<D: Snapshots>(
    data: &Arc<D>,
    query: &ParsedQuery,
    format: ExportFormat,
    jobs: usize,
) -> String {
    let export = RowExport::new(data.clone(), &data.snapshot(), query.clone(), format, name_of);
    let mut export = export.expect("a valid query").with_jobs(jobs);
    let mut text = Vec::new();
    while let Some(part) = export.next_part().expect("a valid query") {
        text.extend(part);
    }
    String::from_utf8(text).expect("UTF-8")
}

/// Exports the segments of a data set one after another, a few at a time. Also returns the number
/// of records with a value that was not kept.
fn exported_while_read<D: Snapshots>(
    data: &D,
    query: &ParsedQuery,
    (format, zone): (ExportFormat, Option<&Zone>),
    (jobs, step): (usize, usize),
) -> (String, u64) {
    let kind = query.kind().expect("a kind");
    let columns = TextColumns::new(data, kind.into(), format);
    let columns = ExportColumns::new(format, columns.fields(), false);
    let export = SegmentExport::new((query.clone(), kind), zone.cloned(), format, columns, name_of);
    let mut export = export.expect("columns").with_jobs(jobs);
    let snapshot = data.snapshot();
    let segments: Vec<_> = snapshot.segments.iter().map(|it| it.segment.clone()).collect();
    let mut text = Vec::new();
    for some in segments.chunks(step) {
        text.extend(export.push(some, &snapshot.formats, data).expect("a valid query"));
    }
    text.extend(export.finish().expect("no table"));
    (String::from_utf8(text).expect("UTF-8"), export.counts().unknown_values)
}

/// Two formats with own fields whose names are reserved.
fn formats() -> [Arc<Format>; 2] {
    let first =
        "$remote_addr [$time_iso8601] $body_bytes_sent $request_time \"$http_user_agent\" $raw";
    let second = "$status [$time_iso8601] \"$http_user_agent\" \"$file\" $remote_addr $ssl_cipher";
    [first, second].map(|it| Arc::new(Format::parse(it).expect("a format")))
}

/// A value with bytes that have to be quoted, replaced or left as they are.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"a".to_vec()),
        Just("é\u{202e}\u{e0041}".as_bytes().to_vec()),
        Just(vec![0xFF]),
        Just(vec![0xE2, 0x80]),
        Just(b"=-+@".to_vec()),
        Just(b"-5".to_vec()),
        Just(b"\x1b[0m,;'\t\r\x00\x7f".to_vec()),
        (b'b'..b'z').prop_map(|byte| vec![byte]),
    ];
    let short = prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat());
    prop_oneof![9 => short, 1 => (0usize..9_000).prop_map(|length| vec![b'x'; length])]
}

fn time() -> impl Strategy<Value = String> {
    let fraction = prop_oneof![
        Just(String::new()),
        (0u32..1_000).prop_map(|it| format!(".{it:03}")),
        (0u32..1_000_000_000).prop_map(|it| format!(".{it:09}")),
    ];
    (1u32..13, 0u32..24, 0u32..3, 0u32..60, fraction, -11i32..14).prop_map(
        |(month, hour, minute, second, fraction, zone)| {
            format!("2025-{month:02}-26T{hour:02}:{minute:02}:{second:02}{fraction}{zone:+03}:00")
        },
    )
}

/// The number of a format, and a line in it.
fn line() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let size = prop_oneof![Just("-".to_owned()), any::<u64>().prop_map(|it| (it / 2).to_string())];
    let duration =
        prop_oneof![Just("-".to_owned()), (0u32..9_999).prop_map(|it| format!("0.{it:04}"))];
    let fields = (any::<bool>(), 0u8..9, time(), size, duration, value(), 0u8..9);
    fields.prop_map(|(is_first, client, time, size, duration, agent, last)| {
        let (head, tail) = match is_first {
            true => (format!("::{client} [{time}] {size} {duration} \""), format!("\" r{last}\n")),
            false => (
                format!("40{client} [{time}] \""),
                format!("\" \"{last}.log\" 192.0.2.{client} cipher{last}\n"),
            ),
        };
        (is_first, [head.as_bytes(), &agent, tail.as_bytes()].concat())
    })
}

/// An archive of lines, whose values may take at most this much memory. Each segment has lines of
/// one format. If `is_mixed`, the lines of two consecutive segments interleave.
fn archive(lines: &[(bool, Vec<u8>)], memory_bytes_max: usize, is_mixed: bool) -> Archive {
    let (mut values, formats) = (Values::new(memory_bytes_max), formats());
    for format in &formats {
        // The columns of a format are there before its first line.
        BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    }
    let mut segments = SegmentList::default();
    let (mut offset, mut end) = (0, 0);
    for (number, run) in lines.chunk_by(|one, next| one.0 == next.0).enumerate() {
        let format = formats[usize::from(!run[0].0)].clone();
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let mut block = Block::new(run.iter().flat_map(|(_, line)| of_even_length(line)).collect());
        block.offset = offset;
        end = (offset + block.bytes().len() as u64).max(end);
        // Lines at odd offsets lie between those at even ones.
        offset = if is_mixed && number % 2 == 0 { offset + 1 } else { end.next_multiple_of(2) };
        let segment = Arc::new(reader.read_segment(&block, 0, &mut values));
        let bounds = TimeBounds::ALL;
        segments.push(SnapshotSegment { number: number as u64, segment, bounds });
    }
    Archive { values, segments, formats: formats.into() }
}

/// Appends a byte to the line if its length is odd.
fn of_even_length(line: &[u8]) -> Vec<u8> {
    let mut line = line.to_vec();
    if !line.len().is_multiple_of(2) {
        line.insert(line.len() - 1, b'x');
    }
    line
}

fn query_of(condition: &str, zone: Option<&str>, kind: RecordKind) -> ParsedQuery {
    parsed(&Query {
        conditions: (!condition.is_empty()).then(|| condition.to_owned()).into_iter().collect(),
        zone: zone.map(str::to_owned),
        kind: Some(kind.into()),
        ..Query::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_of_columns_is_that_of_records(
        lines in prop::collection::vec(line(), 1..80),
        memory_bytes_max in prop_oneof![Just(1 << 24), 0usize..6_000],
        is_mixed in any::<bool>(),
        zone in prop::sample::select(ZONES.to_vec()),
        is_filtered in any::<bool>(),
        jobs in 1usize..5,
        step in 1usize..6,
    ) {
        let data = Arc::new(archive(&lines, memory_bytes_max, is_mixed));
        let condition = if is_filtered { "client=192.0.2.1 or client=::2" } else { "" };
        let query = query_of(condition, zone, RecordKind::Request);
        let zone = zone.map(|name| find_zone(name).expect("a zone"));
        let accepts = |record: &Record<'_>| {
            let client = record.text(Field::Client);
            !is_filtered || [Some(&b"192.0.2.1"[..]), Some(b"::2")].contains(&client)
        };
        for format in TEXTS {
            let kind = RecordKind::Request;
            let (text, unknown) = expected(&*data, (format, kind, zone.as_ref()), accepts);
            prop_assert_eq!(&exported(&data, &query, format, jobs), &text);
            let pair = (format, zone.as_ref());
            let while_read = exported_while_read(&*data, &query, pair, (jobs, step));
            prop_assert_eq!(while_read, (text, unknown));
        }
    }
}

/// All files in a folder and its folders.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(files_in(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

/// Reads a log into a data set, in blocks of a few lines.
fn data_of(log: &[u8]) -> Arc<DataSet> {
    let limits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 20 };
    let options = PipelineOptions { limits, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut source = pipeline.source("a", None, FormatChoice::Detect);
    source.write_all(log).expect("there is memory");
    source.finish(SourceEnd::Done).expect("there is memory");
    pipeline.finish();
    data
}

#[test]
fn real_logs_are_exported_record_by_record() {
    let zone = find_zone("Europe/Berlin").expect("a zone");
    let mut exported_logs = [0; RecordKind::ALL.len()];
    for path in files_in(&fixtures::root()) {
        let data = data_of(&fs::read(&path).expect("a fixture"));
        for (kind, logs) in RecordKind::ALL.into_iter().zip(&mut exported_logs) {
            for (format, zone) in TEXTS.into_iter().flat_map(|it| [(it, None), (it, Some(&zone))]) {
                let query = query_of("", zone.map(Zone::name), kind);
                let (text, unknown) = expected(&*data, (format, kind, zone), |_| true);
                assert_eq!(unknown, 0, "{}", path.display());
                let at_rest = exported(&data, &query, format, 2);
                assert!(at_rest == text, "{} as {format:?}", path.display());
                let while_read = exported_while_read(&*data, &query, (format, zone), (2, 3));
                assert!(while_read.0 == text, "{} as {format:?}", path.display());
                *logs += usize::from(text.lines().count() > 1);
            }
        }
    }
    assert!(
        exported_logs[0] > 100 && exported_logs.iter().all(|logs| *logs > 0),
        "{exported_logs:?}"
    );
}
