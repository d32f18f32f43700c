//! The pipeline against the naive oracle: every number of a report, at every chunking and number
//! of threads.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use weir_core::{BlockLimits, Evaluation, Fold, Format, ReadCounts};
use weir_demo::{Shape, Traffic, TrafficOptions};
use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd, SourceWriter,
};
use weir_query::ParsedQuery;
use weir_testkit::chunking;
use weir_testkit::oracle::{Layout, Oracle, Record};
use weir_view::{Query, Report, Timeline};

const ROWS: usize = 25;

/// A filter, and the same as plain code.
type Case = (&'static [&'static str], fn(&Record) -> bool);

const FILTERS: [Case; 14] = [
    (&["status=404"], |record| text(record, "status") == Some(b"404")),
    (&["status=404", "status=200"], |record| {
        matches!(text(record, "status"), Some(b"404" | b"200"))
    }),
    (&["status!=200"], |record| text(record, "status") != Some(b"200")),
    (&["status>=400", "status<500"], |record| {
        record.status().is_some_and(|status| (400..500).contains(&status))
    }),
    (&["method=POST", "status>=300"], |record| {
        text(record, "method") == Some(b"POST")
            && record.status().is_some_and(|status| status >= 300)
    }),
    (&["path^=/api/"], |record| {
        text(record, "path").is_some_and(|path| path.starts_with(b"/api/"))
    }),
    (&["path~[.](css|js)$"], |record| {
        text(record, "path").is_some_and(|path| path.ends_with(b".css") || path.ends_with(b".js"))
    }),
    (&["user_agent!~Mozilla"], |record| {
        text(record, "user_agent")
            .is_none_or(|agent| !agent.windows(7).any(|part| part == b"Mozilla"))
    }),
    (&["method!=GET"], |record| text(record, "method") != Some(b"GET")),
    (&["request~."], |record| text(record, "request").is_some_and(|text| !text.is_empty())),
    (&["bytes>100000"], |record| record.bytes.is_some_and(|bytes| bytes > 100_000)),
    (&["bytes<=0"], |record| record.bytes == Some(0)),
    (&["path=/no/such/path"], |_| false),
    (&["status=200", "path!=/", "bytes>10", "method~^G"], |record| {
        text(record, "status") == Some(b"200")
            && text(record, "path") != Some(b"/")
            && record.bytes.is_some_and(|bytes| bytes > 10)
            && text(record, "method").is_some_and(|method| method.starts_with(b"G"))
    }),
];

fn text<'a>(record: &'a Record, field: &str) -> Option<&'a [u8]> {
    record.fields.get(field).map(Vec::as_slice)
}

fn generated(bytes: u64) -> Vec<u8> {
    let options = TrafficOptions {
        seed: 7,
        bytes: Some(bytes),
        shape: Shape::Combined,
        ..TrafficOptions::default()
    };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

fn report(pieces: &[&[u8]], jobs: usize, limits: BlockLimits, query: &Query) -> Report {
    report_of(jobs, limits, query, |mut writer| {
        for piece in pieces {
            writer.write_all(piece).expect("the pipeline takes it");
        }
        writer
    })
}

/// The same report, with the parsers reading the pieces themselves.
fn report_pulled(pieces: &[&[u8]], jobs: usize, limits: BlockLimits, query: &Query) -> Report {
    let pieces = pieces.iter().map(|piece| piece.to_vec()).collect();
    report_of(jobs, limits, query, |writer| {
        let (writer, result) = writer.pull(Box::new(Pieces(pieces))).expect("it goes on");
        result.expect("nothing fails");
        writer
    })
}

/// Returns one piece per read, and is interrupted before each.
struct Pieces(VecDeque<Vec<u8>>);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.0.front_mut() else { return Ok(0) };
        let length = piece.len().min(buffer.len());
        if length == 0 {
            self.0.pop_front();
            return Err(io::ErrorKind::Interrupted.into());
        }
        buffer[..length].copy_from_slice(&piece[..length]);
        piece.drain(..length);
        Ok(length)
    }
}

fn report_of(
    jobs: usize,
    limits: BlockLimits,
    query: &Query,
    feed: impl FnOnce(SourceWriter) -> SourceWriter,
) -> Report {
    let data = DataSet::new(Retention::ValuesOnly, 1 << 30, &[]);
    let question = ParsedQuery::parse(query).and_then(|query| query.question(&data.values()));
    let question = question.expect("the query is a good one");
    let options = PipelineOptions { limits, ..PipelineOptions::new(jobs, Retention::ValuesOnly) };
    let (pipeline, answer) =
        Pipeline::start_with(&options, data.clone(), Evaluation::new(&question));
    let combined = Arc::new(Format::parse("COMBINED").expect("a known format"));
    let writer = pipeline.source("test", None, FormatChoice::Forced(combined));
    let progress = writer.progress().clone();
    let writer = feed(writer);
    writer.finish(SourceEnd::Done).expect("the pipeline takes it");
    pipeline.finish();
    let evaluation = answer.merged().expect("no thread failed");
    let source = progress.snapshot();
    let read = ReadCounts {
        lines: source.lines,
        records: source.records,
        empty_lines: source.empty_lines,
        unparsed_lines: source.unparsed_lines,
        too_long_lines: source.too_long_lines,
        bytes_read: source.bytes_parsed,
    };
    Report::new(&evaluation, &data.values(), &read, weir_view::Format::default(), ROWS)
        .with_timeline(&Timeline::of(&evaluation), &data.values())
}

/// Compares the report with the oracle's answer about the records that match.
fn compare(log: &[u8], report: &Report, matches: impl Fn(&Record) -> bool) {
    let step_s = report.histogram.as_ref().map_or(1, |histogram| histogram.step_s);
    let mut oracle = Oracle::read(Layout::Combined, log);
    oracle.retain(|record| matches(record));
    let expected = oracle.to_json(ROWS, step_s, 0);
    let actual = serde_json::to_value(report).expect("a report is JSON");
    for (key, expected) in expected.as_object().expect("an object") {
        let mut actual = actual[key].clone();
        let mut expected = expected.clone();
        for value in [&mut actual, &mut expected] {
            if let Some(object) = value.as_object_mut() {
                object.remove("zone");
                object.remove("groups");
            }
            strip_hex(value);
        }
        assert_eq!(actual, expected, "{key}");
    }
}

fn strip_hex(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip_hex),
        Value::Object(object) => {
            object.remove("value_hex");
            object.values_mut().for_each(strip_hex);
        }
        _ => {}
    }
}

#[test]
fn a_report_agrees_with_the_oracle() {
    let log = generated(6 << 20);
    compare(&log, &report(&[&log], 2, BlockLimits::default(), &Query::default()), |_| true);
}

/// Meanwhile the parsers forget what they remember of the values.
#[test]
fn a_pause_changes_no_report() {
    let log = generated(6 << 20);
    let report = report_of(2, BlockLimits::default(), &Query::default(), |mut writer| {
        for piece in log.chunks(log.len() / 2) {
            writer.write_all(piece).expect("the pipeline takes it");
            // Longer than they wait for the next block.
            std::thread::sleep(Duration::from_millis(2_500));
        }
        writer
    });
    compare(&log, &report, |_| true);
}

#[test]
fn the_report_does_not_depend_on_chunking_or_threads() {
    let log = generated(120_000);
    let small = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 20 };
    let query = Query { top: ROWS as u32, ..Query::default() };
    let expected = report(&[&log], 1, BlockLimits::default(), &query);
    compare(&log, &expected, |_| true);
    for jobs in [1, 2, 5] {
        for size in [1, 7, 100, 4_095, 4_096, 4_097, 50_000] {
            let pieces = chunking::of_size(&log, size);
            assert_eq!(report(&pieces, jobs, small, &query), expected, "{jobs} jobs, {size} bytes");
            let fetched = report_pulled(&pieces, jobs, small, &query);
            assert_eq!(fetched, expected, "fetched by {jobs} jobs, {size} bytes");
        }
    }
    for seed in 0..20 {
        let pieces = chunking::of_random_sizes(&log, seed, 9_000);
        assert_eq!(report(&pieces, 3, small, &query), expected, "seed {seed}");
        assert_eq!(report_pulled(&pieces, 3, small, &query), expected, "pulled, seed {seed}");
    }
}

#[test]
fn filtered_reports_agree_with_the_oracle() {
    let log = generated(1 << 20);
    for (conditions, matches) in FILTERS {
        let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
        let query = Query { conditions, ..Query::default() };
        let report = report(&[&log], 2, BlockLimits::default(), &query);
        compare(&log, &report, matches);
    }
}

#[test]
fn a_time_filter_includes_its_start_and_excludes_its_end() {
    let log = generated(1 << 20);
    let (first_s, last_s) =
        Oracle::read(Layout::Combined, &log).time_s().expect("there are records");
    let (from_s, until_s) = (first_s + (last_s - first_s) / 3, first_s + (last_s - first_s) / 2);
    let stamp = |unix_s: i64| {
        weir_core::format_rfc3339(weir_core::Timestamp {
            unix_ns: unix_s * 1_000_000_000,
            offset_s: 0,
        })
    };
    let conditions = vec![format!("time>={}", stamp(from_s)), format!("time<{}", stamp(until_s))];
    let query = Query { conditions, ..Query::default() };
    let report = report(&[&log], 2, BlockLimits::default(), &query);
    assert!(report.matching > 0 && report.matching < report.records);
    compare(&log, &report, |record| (from_s..until_s).contains(&record.time_s));
}

#[test]
fn merging_any_split_of_the_segments_returns_the_same_answer() {
    let log = generated(300_000);
    let limits = BlockLimits { block_bytes: 5_000, line_bytes_max: 1 << 20 };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions { limits, ..PipelineOptions::new(2, Retention::Segments) };
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("test", None, FormatChoice::Detect);
    writer.write_all(&log).expect("the pipeline takes it");
    writer.finish(SourceEnd::Done).expect("the pipeline takes it");
    pipeline.finish();

    let kept = data.snapshot().segments;
    let segments: Vec<_> = kept.iter().map(|kept| &kept.segment).collect();
    assert!(segments.len() > 20);
    let all = ParsedQuery::parse(&Query::default()).expect("a good query");
    let question = all.question(&data.values()).expect("a good query");
    let evaluate = |numbers: &mut dyn Iterator<Item = usize>| {
        let mut evaluation = Evaluation::new(&question);
        evaluation.refresh(&data.values());
        numbers.for_each(|number| evaluation.update(segments[number]));
        evaluation
    };
    let report = |evaluation: &Evaluation| {
        let (read, format) = (ReadCounts::default(), weir_view::Format::default());
        Report::new(evaluation, &data.values(), &read, format, ROWS)
            .with_timeline(&Timeline::of(evaluation), &data.values())
    };
    let whole = report(&evaluate(&mut (0..segments.len())));
    assert_eq!(whole, report(&evaluate(&mut (0..segments.len()).rev())), "any order");
    for parts in [2, 3, 7, segments.len()] {
        let mut merged = Evaluation::new(&question);
        // The last part first, so that time ranges grow in both directions.
        for part in (0..parts).rev() {
            let mut numbers = (0..segments.len()).filter(|number| number % parts == part);
            merged.merge(&evaluate(&mut numbers));
        }
        assert_eq!(whole, report(&merged), "{parts} parts");
    }
}
