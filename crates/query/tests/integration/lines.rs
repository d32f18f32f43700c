//! The places of selected lines equal those that a text search finds.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{LineFinder, ParsedQuery, WantedLines};
use weir_view::{LineOrder, LineStart, LinesAnswer, Query};

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
    find_wanted(finder, data, filter, WantedLines { from, count, ..WantedLines::default() }, jobs)
}

fn find_wanted(
    finder: &mut LineFinder,
    data: &Arc<DataSet>,
    filter: &str,
    wanted: WantedLines,
    jobs: usize,
) -> LinesAnswer {
    let found = finder.find(data, &query(filter), wanted, jobs, &GO_ON);
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
    let none = finder.find(
        &data,
        &query("status=200"),
        WantedLines { count: 1, ..WantedLines::default() },
        1,
        &AtomicBool::new(true),
    );
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

/// A line of a log in the format `$msec $status $uri`, or `$status $uri` if `time` is `None`.
fn timed(time: Option<i64>, status: u64) -> String {
    let time = time.map_or_else(String::new, |time| format!("{time}.000 "));
    format!("{time}{status} /\n")
}

/// Logs whose times are those of the functions, as the tests of the order by time take them.
fn logs_of(times: &[&dyn Fn(u64) -> Option<i64>], lines: u64) -> Vec<String> {
    let log = |time: &&dyn Fn(u64) -> Option<i64>| {
        (0..lines).map(|number| timed(time(number), 200 + number % 3)).collect()
    };
    times.iter().map(log).collect()
}

fn start_timed(logs: &[String]) -> Arc<DataSet> {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    for log in logs {
        let has_time = log.lines().next().is_some_and(|line| line.split(' ').count() == 3);
        let definition = if has_time { "$msec $status $uri" } else { "$status $uri" };
        let format = Arc::new(weir_core::Format::parse(definition).expect("a format"));
        let mut source = pipeline.source("a", None, FormatChoice::Forced(format));
        source.write_all(log.as_bytes()).expect("there is memory");
        source.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    data
}

/// The places of the lines with a status, sorted by time, source and offset.
fn naive_by_time(logs: &[String], status: Option<&str>) -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    for (source, log) in (0_u32..).zip(logs) {
        let mut offset = 0;
        for line in log.split_inclusive('\n') {
            let words: Vec<&str> = line.split(' ').collect();
            let time = (words.len() == 3).then(|| words[0].parse::<f64>().expect("a time") as i64);
            if status.is_none_or(|status| words[words.len() - 2] == status) {
                all.push((time, source, offset));
            }
            offset += line.len() as u64;
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(_, source, offset)| (source, offset)).collect()
}

#[test]
fn lines_by_time_are_those_of_a_sort() {
    const LINES: u64 = 2_000;
    let cases: [&[&dyn Fn(u64) -> Option<i64>]; 5] = [
        // Two logs that alternate, and one that is not in the order of its times.
        &[
            &|number| Some(1_700_000_000 + 2 * number as i64),
            &|number| Some(1_700_000_001 + 2 * number as i64),
            &|number| Some(1_700_000_000 + (number * 7_919 % 4_001) as i64),
        ],
        // Many lines at one moment.
        &[&|number| Some(1_700_000_000 + (number / 1_500) as i64), &|_| Some(1_700_000_000)],
        // Lines without a time between others.
        &[&|number| Some(1_700_000_000 + number as i64), &|_| None, &|_| Some(1_700_000_003)],
        // All times that there are, so that most spans are empty.
        &[&|number| Some(if number % 2 == 0 { 1 } else { 9_000_000_000 + number as i64 })],
        &[&|_| None],
    ];
    for (number, times) in cases.iter().enumerate() {
        let logs = logs_of(times, LINES);
        let data = start_timed(&logs);
        let finder = RefCell::new(LineFinder::default());
        let parts = (0..6_500_u64, 0..300_usize, 1..3_usize, any::<bool>(), any::<bool>());
        proptest!(ProptestConfig::with_cases(60), |((from, count, jobs, newest, filtered) in parts)| {
            let (order, filter, status) = (
                if newest { LineOrder::Newest } else { LineOrder::Oldest },
                if filtered { "status=201" } else { "" },
                filtered.then_some("201"),
            );
            let mut expected = naive_by_time(&logs, status);
            if newest {
                expected.reverse();
            }
            let wanted = WantedLines { from, count, order, ..WantedLines::default() };
            let answer = find_wanted(&mut finder.borrow_mut(), &data, filter, wanted, jobs);
            prop_assert_eq!((answer.total, answer.from), (expected.len() as u64, from));
            let wanted: Vec<_> = expected.iter().skip(from as usize).take(count).copied().collect();
            prop_assert_eq!(places(&answer), wanted, "case {}", number);
            // The same lines are found by the line in their middle.
            let Some((source, offset)) = expected.get(from as usize + count / 2).copied() else {
                return Ok(());
            };
            let around = Some(LineStart { source, offset });
            let wanted = WantedLines { count, order, around, ..WantedLines::default() };
            let found = find_wanted(&mut finder.borrow_mut(), &data, filter, wanted, jobs);
            prop_assert_eq!(found.from, from);
            prop_assert_eq!(places(&found), places(&answer), "around {}", number);
        });
    }
}

#[test]
fn a_moment_with_more_lines_than_are_sorted_is_counted_off() {
    const LINES: u64 = 70_000;
    let one = |number: u64| Some(if number == 0 { 1_600_000_000 } else { 1_700_000_000 });
    let other = |number: u64| Some(1_700_000_000 + (number / 60_000) as i64);
    let logs = logs_of(&[&one, &other], LINES);
    let data = start_timed(&logs);
    let expected = naive_by_time(&logs, None);
    let mut finder = LineFinder::default();
    for from in [0, 1, 69_990, 70_005, 129_995, 139_990] {
        let (count, order) = (20, LineOrder::Oldest);
        let wanted = WantedLines { from, count, order, ..WantedLines::default() };
        let answer = find_wanted(&mut finder, &data, "", wanted, 2);
        let wanted: Vec<_> = expected.iter().skip(from as usize).take(count).copied().collect();
        assert_eq!(places(&answer), wanted, "from {from}");
    }
}

#[test]
fn lines_around_a_line_are_those_of_its_source() {
    let logs = logs_of(&[&|number| Some(number as i64), &|number| Some(number as i64)], 500);
    let data = start_timed(&logs);
    let mut finder = LineFinder::default();
    let all = find(&mut finder, &data, "", (0, usize::MAX), 1);
    for at in [0, 3, 499, 500, 731, 999] {
        let start = LineStart { source: all.lines[at].source, offset: all.lines[at].offset };
        let wanted = WantedLines { count: 11, around: Some(start), ..WantedLines::default() };
        let answer = find_wanted(&mut finder, &data, "", wanted, 1);
        let first = if at < 500 { at.saturating_sub(5) } else { at.saturating_sub(5).max(500) };
        let last = (first + 11).min(if at < 500 { 500 } else { 1_000 });
        assert_eq!(answer.from, first as u64, "around line {at}");
        assert_eq!(places(&answer), places(&all)[first..last], "around line {at}");
    }
    // A line that the filter leaves out has neighbours as well.
    let start = LineStart { source: 1, offset: all.lines[700].offset };
    let wanted = WantedLines { count: 2, around: Some(start), ..WantedLines::default() };
    let answer = find_wanted(&mut finder, &data, "status!=200,201,202", wanted, 1);
    assert_eq!((answer.total, answer.lines.len()), (0, 0));
    let answer = find_wanted(&mut finder, &data, "status=201", wanted, 1);
    assert!(
        answer.lines.iter().all(|line| line.source == 1 && line.status.as_deref() == Some("201"))
    );
    assert_eq!(answer.lines.len(), 2);
    let gone = LineStart { source: 7, offset: 0 };
    let wanted = WantedLines { count: 2, around: Some(gone), ..WantedLines::default() };
    assert_eq!(find_wanted(&mut finder, &data, "", wanted, 1).lines, []);
}

#[test]
fn a_line_has_all_fields_if_they_are_wanted() {
    let data = start_timed(&[timed(Some(1_700_000_000), 404), timed(None, 200)]);
    let mut finder = LineFinder::default();
    let wanted = WantedLines { count: 5, has_fields: true, ..WantedLines::default() };
    let answer = find_wanted(&mut finder, &data, "", wanted, 1);
    let fields = |at: usize| -> Vec<(&str, &str)> {
        answer.lines[at].fields.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect()
    };
    let time = ("time", "2023-11-14T22:13:20Z");
    assert_eq!(fields(0), [time, ("path", "/"), ("status", "404")]);
    assert_eq!(fields(1), [("path", "/"), ("status", "200")], "it has no time");
    let answer = find(&mut finder, &data, "", (0, 5), 1);
    assert!(answer.lines.iter().all(|line| line.fields.is_empty()), "they are not wanted");
}
