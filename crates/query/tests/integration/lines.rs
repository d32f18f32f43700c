//! The places of selected lines equal those that a text search finds.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{LineFinder, ParsedQuery};
use weir_view::{LinesAnswer, Query};

use crate::parsed;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Blocks of a few lines, so that a part of the lines begins and ends in any segment.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 2_048, line_bytes_max: 1 << 16 };

/// Filters, and the texts that only the lines of their records contain.
const FILTERS: [(&str, &str); 4] = [
    ("", "] \""),
    ("status=404", "\" 404 "),
    ("method=POST", "] \"POST /"),
    ("path=/no/such/path", "no line contains this"),
];

fn log(seed: u64, bytes: u64) -> Vec<u8> {
    let options = weir_demo::TrafficOptions { seed, bytes: Some(bytes), ..Default::default() };
    let mut traffic = Traffic::new(options);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

fn start(log: &[&[u8]]) -> Arc<DataSet> {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    // The sources are read at the same time, so that their segments are mixed.
    let mut writers: Vec<_> =
        (0..log.len()).map(|_| pipeline.source("a", None, FormatChoice::Detect)).collect();
    let mut pieces: Vec<_> = log.iter().map(|log| log.chunks(5_000)).collect();
    while pieces.iter().any(|pieces| pieces.len() > 0) {
        for (writer, pieces) in writers.iter_mut().zip(&mut pieces) {
            let piece = pieces.next().unwrap_or_default();
            writer.write_all(piece).expect("there is memory");
        }
    }
    for writer in writers {
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    data
}

fn query(filter: &str) -> ParsedQuery {
    let conditions = (!filter.is_empty()).then(|| filter.to_owned()).into_iter().collect();
    parsed(&Query { conditions, ..Query::default() })
}

fn find(
    finder: &mut LineFinder,
    data: &Arc<DataSet>,
    filter: &str,
    (from, count): (u64, usize),
    jobs: usize,
) -> LinesAnswer {
    let found = finder.find(data, &query(filter), (from, count), jobs, &GO_ON);
    found.expect("a valid query").expect("it is not abandoned")
}

fn places(answer: &LinesAnswer) -> Vec<(u32, u64)> {
    answer.lines.iter().map(|line| (line.source, line.offset)).collect()
}

/// The sources and offsets of all lines with a text, one after another.
fn naive(logs: &[&[u8]], text: &str) -> Vec<(u32, u64)> {
    let mut places = Vec::new();
    for (source, log) in (0..).zip(logs) {
        let mut offset = 0;
        for line in log.split_inclusive(|byte| *byte == b'\n') {
            if line.windows(text.len()).any(|part| part == text.as_bytes()) {
                places.push((source, offset));
            }
            offset += line.len() as u64;
        }
    }
    places
}

#[test]
fn every_part_is_that_of_a_search() {
    let logs = [log(1, 160_000), log(2, 95_000), Vec::new(), log(3, 1_000)];
    let logs: Vec<&[u8]> = logs.iter().map(Vec::as_slice).collect();
    let data = start(&logs);
    assert!(data.snapshot().segments.len() > 60);
    let expected = FILTERS.map(|(_, text)| naive(&logs, text));
    assert!(expected[1].len() > 10 && expected[2].len() > 10 && expected[3].is_empty());
    let finder = RefCell::new(LineFinder::default());
    let parts = (0..FILTERS.len(), 0..1_600_u64, 0..120_usize, 1..4_usize);
    proptest!(|((number, from, count, jobs) in parts)| {
        let (filter, _) = FILTERS[number];
        let expected = &expected[number];
        let answer = find(&mut finder.borrow_mut(), &data, filter, (from, count), jobs);
        prop_assert_eq!((answer.total, answer.from), (expected.len() as u64, from));
        let wanted: Vec<_> = expected.iter().skip(from as usize).take(count).copied().collect();
        prop_assert_eq!(places(&answer), wanted);
    });
    let mut finder = finder.into_inner();
    let all = find(&mut finder, &data, "", (u64::MAX, usize::MAX), 1);
    assert_eq!((all.total as usize, all.lines.len()), (expected[0].len(), 0));
    assert_eq!(all.source_numbers, [0, 1, 3]);
    let none = finder.find(&data, &query("status=200"), (0, 1), 1, &AtomicBool::new(true));
    assert_eq!(none, Ok(None));
}

#[test]
fn lines_of_several_formats_in_a_block_keep_their_order() {
    let combined = |number: usize| {
        format!(
            "192.0.2.{} - - [22/Nov/2026:10:00:00 +0000] \"GET /{number} HTTP/1.1\" 200 5 \"-\" \"a\"\n",
            number % 9
        )
    };
    let json = |number: usize| {
        format!(
            "{{\"time\":\"2026-11-22T10:00:00Z\",\"remote_addr\":\"192.0.2.1\",\"request\":\
             \"GET /{number} HTTP/1.1\",\"status\":200}}\n"
        )
    };
    let lines: String = (0..900)
        .map(|number| if number % 3 == 1 { json(number) } else { combined(number) })
        .collect();
    let logs = [lines.as_bytes()];
    let data = start(&logs);
    let mut finder = LineFinder::default();
    let all = find(&mut finder, &data, "", (0, usize::MAX), 2);
    let offsets: Vec<u64> = all.lines.iter().map(|line| line.offset).collect();
    assert!(offsets.is_sorted_by(|one, other| one < other), "{offsets:?}");
    assert_eq!(all.total, offsets.len() as u64);
    for from in [0, 1, 31, 250, 299] {
        let part = find(&mut finder, &data, "", (from, 10), 1);
        let wanted: Vec<u64> = offsets.iter().skip(from as usize).take(10).copied().collect();
        assert_eq!(part.lines.iter().map(|line| line.offset).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn lines_that_are_new_are_found_and_removed_ones_are_not() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let pipeline = Pipeline::start(&options, data.clone());
    let (one, two) = (log(1, 90_000), log(2, 90_000));
    let mut finder = LineFinder::default();
    for bytes in [&one, &two] {
        let mut writer = pipeline.source("a", None, FormatChoice::Detect);
        writer.write_all(bytes).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
        let text = FILTERS[1].1;
        let whole = || data.sources().iter().all(|source| source.end().is_some());
        while !whole() {
            std::thread::yield_now();
        }
        let logs = [&one[..], &two[..]];
        let expected = naive(&logs[..data.sources().len()], text);
        let answer = find(&mut finder, &data, FILTERS[1].0, (0, usize::MAX), 2);
        assert_eq!(places(&answer), expected);
    }
    assert!(data.remove_source(0));
    let answer = find(&mut finder, &data, FILTERS[1].0, (0, usize::MAX), 2);
    let expected = naive(&[b"", &two], FILTERS[1].1);
    assert_eq!(places(&answer), expected);
    pipeline.finish();
}
