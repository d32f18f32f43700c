//! The route against the naive oracle: every number of a report, at every chunking and
//! number of threads.

use std::sync::Arc;

use serde_json::Value;
use weir_core::{BlockLimits, Format};
use weir_demo::{Options, Shape, Traffic};
use weir_ingest::{DataSet, FormatChoice, Keep, Pipeline, PipelineOptions, SourceEnd};
use weir_testkit::chunking;
use weir_testkit::oracle::{Layout, Oracle};
use weir_view::{Query, ReadCounts, Report};

const ROWS: usize = 25;

fn generated(bytes: u64) -> Vec<u8> {
    let options =
        Options { seed: 7, bytes: Some(bytes), shape: Shape::Combined, ..Options::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

fn report(pieces: &[&[u8]], jobs: usize, limits: BlockLimits, query: &Query) -> Report {
    let data = DataSet::new(Keep::ValuesOnly, 1 << 30, &[]);
    let question = query.question(&data.values()).expect("the query is a good one");
    let options = PipelineOptions { limits, ..PipelineOptions::new(jobs, Keep::ValuesOnly) };
    let pipeline = Pipeline::start(&options, data.clone(), Some(&question));
    let combined = Arc::new(Format::parse("COMBINED").expect("a known format"));
    let mut writer = pipeline.source("test", None, FormatChoice::Forced(combined));
    let progress = writer.progress().clone();
    for piece in pieces {
        writer.write_all(piece).expect("the pipeline takes it");
    }
    writer.finish(SourceEnd::Done).expect("the pipeline takes it");
    let evaluation = pipeline.finish().expect("a question was asked");
    let source = progress.snapshot();
    let read = ReadCounts {
        lines: source.lines,
        records: source.records,
        unmatched: source.unmatched,
        too_long: source.too_long,
        bytes_read: source.bytes_parsed,
    };
    Report::new(&evaluation, &data.values(), &read, weir_view::Format::default(), ROWS)
}

/// The oracle's answer, and the report's same keys.
fn compare(log: &[u8], report: &Report) {
    let step_s = report.histogram.as_ref().map_or(1, |histogram| histogram.step_s);
    let expected = Oracle::read(Layout::Combined, log).to_json(ROWS, step_s, 0);
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
    compare(&log, &report(&[&log], 2, BlockLimits::default(), &Query::default()));
}

#[test]
fn any_chunking_and_any_number_of_threads_gives_the_same_report() {
    let log = generated(120_000);
    let small = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 20 };
    let query = Query { top: ROWS as u32, ..Query::default() };
    let expected = report(&[&log], 1, BlockLimits::default(), &query);
    compare(&log, &expected);
    for jobs in [1, 2, 5] {
        for size in [1, 7, 100, 4_095, 4_096, 4_097, 50_000] {
            let pieces = chunking::of_size(&log, size);
            assert_eq!(report(&pieces, jobs, small, &query), expected, "{jobs} jobs, {size} bytes");
        }
    }
    for seed in 0..20 {
        let pieces = chunking::of_random_sizes(&log, seed, 9_000);
        assert_eq!(report(&pieces, 3, small, &query), expected, "seed {seed}");
    }
}
