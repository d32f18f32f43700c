//! Windows that memory limits, and feeds whose values never recur.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_core::BlockLimits;
use weir_ingest::{DataSet, Pipeline, PipelineOptions, Retention};
use weir_query::Evaluator;
use weir_view::Report;

use super::{expected, format, query, runtime, sorted, write};
use crate::parsed;

/// A line with some unique values and some frequent ones.
fn line(number: usize) -> String {
    let (status, client) = ([200, 404, 200, 500][number % 4], number / 7 % 250);
    let time_s = 1_760_000_000 + number / 50;
    let path = number as u64 * 0x9E37_79B9 % (1 << 40);
    format!(
        "192.0.2.{client} {time_s}.000 \"GET /new/{path:012x}/{number} HTTP/1.1\" {status} {} 0.{:03}\n",
        number % 2_000,
        number % 1_000
    )
}

/// The lines of the rows that are kept, by their offsets in the log.
fn kept_lines(data: &DataSet, log: &str) -> String {
    let mut lines = String::new();
    for item in data.snapshot().segments.iter() {
        item.bounds.rows(&item.segment).selection().for_each(|row| {
            let start = item.segment.line_offset(row) as usize;
            let line = log[start..].split_inclusive('\n').next().expect("a line");
            lines.push_str(line);
        });
    }
    lines
}

/// Writes pieces of 1,000 lines, and checks answers between them. Returns the last answer.
async fn feed(
    retention: Retention,
    memory_bytes_max: usize,
    pieces: usize,
    line: impl Fn(usize) -> String,
) -> Report {
    let lines = 1_000;
    let limits = BlockLimits { block_bytes: 8_192, line_bytes_max: 1 << 12 };
    let options =
        PipelineOptions { memory_bytes_max, limits, ..PipelineOptions::new(2, retention) };
    let data = DataSet::new(retention, memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("feed", None, format());
    let abandoned = AtomicBool::new(false);
    let mut evaluator = Evaluator::new(data.clone(), parsed(&query(0)), 2).expect("a valid query");
    let (mut log, mut last) = (String::new(), Report::default());
    for piece in 0..pieces {
        let text: String = (piece * lines..(piece + 1) * lines).map(&line).collect();
        write(&mut writer, &text).await;
        log.push_str(&text);
        assert!(data.memory_bytes() <= memory_bytes_max, "{} bytes", data.memory_bytes());
        if piece % 7 != 3 {
            continue;
        }
        let query = query(if piece + 7 < pieces { piece } else { 0 });
        evaluator = evaluator.change(parsed(&query)).expect("a valid query");
        let kept_before = kept_lines(&data, &log);
        last = evaluator.answer(&abandoned).expect("an answer").report;
        if kept_lines(&data, &log) != kept_before {
            // Rows were evicted in the meantime.
            continue;
        }
        assert_eq!(last.estimated, Vec::<String>::new(), "no value is folded into the remainder");
        let expected = expected(&kept_before, &query, &last, &data).await;
        assert_eq!(sorted(last.clone()), sorted(expected));
    }
    last
}

#[test]
fn a_feed_of_unique_values_stays_within_its_memory() {
    let report = runtime().block_on(feed(Retention::Window { width: None }, 3 << 20, 150, line));
    assert!((10_000..60_000).contains(&report.matching), "{}", report.matching);
}

#[test]
fn a_feed_of_repeated_values_fills_its_memory() {
    let line = |number: usize| line(number % 500);
    let report = runtime().block_on(feed(Retention::Window { width: None }, 1 << 20, 100, line));
    assert!((20_000..90_000).contains(&report.matching), "{}", report.matching);
}

#[test]
fn a_window_of_time_also_releases_values() {
    // Two minutes are 6,000 lines.
    let retention = Retention::Window { width: Some(Duration::from_secs(120)) };
    let report = runtime().block_on(feed(retention, 3 << 20, 100, line));
    // On a busy machine the thread that frees values is late, and memory drops a segment or two more.
    assert!((5_000..=6_050).contains(&report.matching), "{}", report.matching);
}
