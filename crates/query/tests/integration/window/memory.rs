//! Windows that memory bounds, and feeds whose values never come again.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use weir_core::BlockLimits;
use weir_ingest::{DataSet, Keep, Pipeline, PipelineOptions};
use weir_query::Evaluator;
use weir_view::Report;

use super::{expected, format, query, runtime, sorted, write};

/// A line with values that no other has, and some that many have.
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

/// The lines of the rows that are kept, by where they begin in the log.
fn kept_lines(data: &DataSet, log: &str) -> String {
    let mut lines = String::new();
    for kept in data.snapshot().segments.iter() {
        kept.bounds.rows(&kept.segment).selection().for_each(|row| {
            let start = kept.segment.line_offset(row) as usize;
            let line = log[start..].split_inclusive('\n').next().expect("a line");
            lines.push_str(line);
        });
    }
    lines
}

/// Feeds so many pieces of 1,000 lines, and asks every now and then; gives the last answer.
async fn feed(
    keep: Keep,
    memory_bytes_max: usize,
    pieces: usize,
    line: impl Fn(usize) -> String,
) -> Report {
    let lines = 1_000;
    let limits = BlockLimits { block_bytes: 8_192, line_bytes_max: 1 << 12 };
    let options = PipelineOptions { memory_bytes_max, limits, ..PipelineOptions::new(2, keep) };
    let data = DataSet::new(keep, memory_bytes_max, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("feed", None, format());
    let go_on = AtomicBool::new(false);
    let mut evaluator = Evaluator::new(data.clone(), query(0), 2).expect("a good query");
    let (mut log, mut last) = (String::new(), Report::default());
    for piece in 0..pieces {
        let text: String = (piece * lines..(piece + 1) * lines).map(&line).collect();
        write(&mut writer, &text).await;
        log.push_str(&text);
        assert!(data.memory_bytes() <= memory_bytes_max, "{} bytes", data.memory_bytes());
        if piece % 7 != 3 {
            continue;
        }
        let asked = query(if piece + 7 < pieces { piece } else { 0 });
        evaluator = evaluator.change(asked.clone()).expect("a good query");
        let kept_before = kept_lines(&data, &log);
        last = evaluator.answer(&go_on).expect("nobody abandons it").report;
        if kept_lines(&data, &log) != kept_before {
            // Some left meanwhile, to make room.
            continue;
        }
        assert_eq!(last.estimated, Vec::<String>::new(), "nothing falls into the remainder");
        let expected = expected(&kept_before, &asked, &last).await;
        assert_eq!(sorted(last.clone()), sorted(expected));
    }
    last
}

#[test]
fn a_feed_of_ever_new_values_stays_within_its_memory() {
    let report = runtime().block_on(feed(Keep::Window { width: None }, 3 << 20, 150, line));
    assert!((10_000..60_000).contains(&report.matched), "{}", report.matched);
}

#[test]
fn a_feed_of_the_same_values_keeps_what_the_memory_holds() {
    let line = |number: usize| line(number % 500);
    let report = runtime().block_on(feed(Keep::Window { width: None }, 1 << 20, 100, line));
    assert!((20_000..90_000).contains(&report.matched), "{}", report.matched);
}

#[test]
fn a_window_of_time_gives_up_values_too() {
    // Two minutes are 6,000 lines.
    let keep = Keep::Window { width: Some(Duration::from_secs(120)) };
    let report = runtime().block_on(feed(keep, 3 << 20, 100, line));
    assert!((6_000..=6_050).contains(&report.matched), "{}", report.matched);
}
