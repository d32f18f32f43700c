//! Consumers that are registered with a data set see every segment in the order of the log.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use weir_core::{BlockLimits, ColumnId, Fold, Format, Segment, Values};
use weir_ingest::{
    DataSet, FormatChoice, OrderedSegments, Pipeline, PipelineOptions, Retention, SourceEnd,
};

fn line(number: usize) -> String {
    format!("192.0.2.{} /path/{number}\n", number % 200)
}

fn log(lines: usize) -> String {
    (0..lines).map(line).collect()
}

fn retentions() -> impl Strategy<Value = Retention> {
    prop_oneof![
        Just(Retention::Segments),
        Just(Retention::ValuesOnly),
        Just(Retention::Window { width: None }),
        Just(Retention::UntilConsumed),
    ]
}

/// The options of a pipeline with small blocks.
fn options(retention: Retention, jobs: usize, memory_bytes_max: usize) -> PipelineOptions {
    let limits = BlockLimits { block_bytes: 2_000, line_bytes_max: 1 << 12 };
    PipelineOptions { limits, memory_bytes_max, ..PipelineOptions::new(jobs, retention) }
}

/// A data set, and the pipeline that fills it.
fn pipeline(
    retention: Retention,
    jobs: usize,
    memory_bytes_max: usize,
) -> (Arc<DataSet>, Pipeline) {
    let data = DataSet::new(retention, memory_bytes_max, &[]);
    (data.clone(), Pipeline::start(&options(retention, jobs, memory_bytes_max), data))
}

/// Reads the log into the pipeline, and ends it.
fn read(pipeline: Pipeline, log: &str) {
    let format = Arc::new(Format::parse("$remote_addr $request_uri").expect("a format"));
    let mut writer = pipeline.source("log", None, FormatChoice::Forced(format));
    for piece in log.as_bytes().chunks(777) {
        writer.write_all(piece).expect("there is room");
    }
    writer.finish(SourceEnd::Done).expect("there is room");
    pipeline.finish();
}

/// The lines of a segment, from its columns.
fn lines(segment: &Segment, values: &Values) -> String {
    let column = |name: &str| values.schema().text_column_by_name(name).expect("a column");
    let value = |column: ColumnId, row: usize| {
        let id = segment.text(column).expect("codes").get(row) as u32;
        let value = values.dictionary(column).value(id);
        let value = value.unwrap_or_else(|| panic!("id {id} has no value"));
        String::from_utf8_lossy(value).into_owned()
    };
    let (client, path) = (column("client"), column("path"));
    (0..segment.rows())
        .map(|row| format!("{} {}\n", value(client, row), value(path, row)))
        .collect()
}

/// All lines, from a consumer that reads `step` segments at a time.
fn all_lines(mut segments: OrderedSegments, step: usize, data: &DataSet) -> String {
    let mut shown = String::new();
    loop {
        let some = segments.next_some(step);
        assert!(some.len() <= step);
        if some.is_empty() {
            return shown;
        }
        shown.extend(some.iter().map(|segment| lines(segment, &data.values())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_consumer_sees_the_log(
        retention in retentions(),
        jobs in 1usize..9,
        capacities in prop::collection::vec(1usize..20, 1..4),
        step in 1usize..6,
        count in 0usize..2_000,
    ) {
        let log = log(count);
        let (data, pipeline) = pipeline(retention, jobs, 1 << 30);
        let consumers: Vec<_> = capacities
            .into_iter()
            .map(|capacity| {
                let (segments, data) = (data.subscribe(capacity), data.clone());
                thread::spawn(move || all_lines(segments, step, &data))
            })
            .collect();
        read(pipeline, &log);
        for consumer in consumers {
            prop_assert_eq!(&consumer.join().expect("it ends"), &log);
        }
    }
}

#[test]
fn a_slow_consumer_slows_the_source() {
    const CAPACITY: usize = 4;
    const JOBS: usize = 3;
    let (data, pipeline) = pipeline(Retention::ValuesOnly, JOBS, 1 << 30);
    let mut segments = data.subscribe(CAPACITY);
    let read = thread::spawn(move || read(pipeline, &log(5_000)));
    let first = segments.next().expect("a segment");
    // The segments that may wait, and those that were already parsed by then.
    let parsed_max = CAPACITY + JOBS * 6;
    for _ in 0..20 {
        thread::sleep(Duration::from_millis(5));
        let lines = data.sources()[0].snapshot().lines as usize;
        assert!(lines <= (parsed_max + 1) * (first.rows() + 1), "{lines}");
    }
    assert!(!read.is_finished());
    assert!(segments.count() > parsed_max);
    read.join().expect("it ends");
}

#[test]
fn a_dropped_consumer_does_not_block_the_pipeline() {
    let (data, pipeline) = pipeline(Retention::Segments, 2, 1 << 30);
    let segments = data.subscribe(1);
    let leaves = thread::spawn(move || segments.take(2).count());
    read(pipeline, &log(3_000));
    assert_eq!(leaves.join().expect("it ends"), 2);
    let rows: usize = data.snapshot().segments.iter().map(|kept| kept.rows()).sum();
    assert_eq!(rows, 3_000);
}

#[test]
fn consumers_end_with_a_pipeline_that_is_dropped() {
    let (data, pipeline) = pipeline(Retention::Segments, 2, 1 << 30);
    let segments = data.subscribe(3);
    drop(pipeline);
    assert_eq!(segments.count(), 0);
}

#[test]
fn values_of_waiting_segments_are_not_evicted() {
    // The window holds a small part of the log, whose paths are all different. The segments that
    // wait hold few values, so that there is memory for each value.
    let (data, pipeline) = pipeline(Retention::Window { width: None }, 2, 4 << 20);
    let mut segments = data.subscribe(8);
    let seen = Arc::new(AtomicUsize::new(0));
    let consumer = {
        let (data, seen) = (data.clone(), seen.clone());
        thread::spawn(move || {
            let mut shown = String::new();
            loop {
                let some = segments.next_some(3);
                if some.is_empty() {
                    return shown;
                }
                if seen.fetch_add(1, Ordering::Relaxed) % 20 == 0 {
                    thread::sleep(Duration::from_millis(5));
                }
                shown.extend(some.iter().map(|segment| lines(segment, &data.values())));
            }
        })
    };
    let log = log(150_000);
    read(pipeline, &log);
    let shown = consumer.join().expect("it ends");
    assert!(shown == log, "{} of {} bytes", shown.len(), log.len());
    assert!(data.values().reuses() > 0, "values were evicted meanwhile");
}

/// Waits until the values take this memory, so that the parsers pause, and until no more values are
/// evicted: while no segment is consumed, evictions must not run in a loop.
fn wait_for_a_pause(data: &DataSet, bytes: usize) {
    while data.values().used_bytes() < bytes {
        thread::sleep(Duration::from_millis(1));
    }
    let mut evictions = [0, 1];
    for _ in 0..600 {
        evictions = [evictions[1], data.values().reuses()];
        if evictions[0] == evictions[1] {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("evictions go on: {evictions:?}");
}

/// The values of the log take ten times the memory.
#[test]
fn no_value_is_lost_and_no_memory_kept_until_segments_are_consumed() {
    const MEMORY_BYTES_MAX: usize = 1 << 20;
    // With the last capacity, the values of the segments that may wait fill most of the memory.
    for (jobs, pause, capacity) in [
        (1, Duration::ZERO, 8),
        (4, Duration::ZERO, 8),
        (4, Duration::from_millis(1), 8),
        (1, Duration::ZERO, 400),
        (4, Duration::ZERO, 400),
    ] {
        let (data, pipeline) = pipeline(Retention::UntilConsumed, jobs, MEMORY_BYTES_MAX);
        let mut segments = data.subscribe(capacity);
        let log = log(150_000);
        let expected = log.clone();
        let reading = thread::spawn(move || read(pipeline, &log));
        if capacity > 8 {
            wait_for_a_pause(&data, MEMORY_BYTES_MAX / 2);
        }
        let (mut shown, mut highest) = (String::new(), 0);
        for segment in &mut segments {
            thread::sleep(pause);
            let values = data.values();
            highest = highest.max(values.memory_bytes());
            shown += &lines(&segment, &values);
        }
        reading.join().expect("it ends");
        assert!(shown == expected, "{} of {} bytes", shown.len(), expected.len());
        assert!(highest <= MEMORY_BYTES_MAX, "{highest}");
        assert_eq!(data.memory_bytes(), data.values().memory_bytes(), "no segment is kept");
    }
}

/// Stops the parser that has the first segment, between its turn and appending the segment, for as
/// long as the gate is locked.
#[derive(Clone)]
struct StoppedParser {
    gate: Arc<Mutex<()>>,
    updates: Arc<AtomicUsize>,
}

impl Fold for StoppedParser {
    fn update(&mut self, _: &Segment) {
        if self.updates.fetch_add(1, Ordering::Relaxed) == 0 {
            drop(self.gate.lock());
        }
    }

    fn merge(&mut self, _: &Self) {}
}

/// No segment arrives while one parser is stopped, however many the others have made by then.
#[test]
fn a_parser_that_is_stopped_stops_the_others() {
    const MEMORY_BYTES_MAX: usize = 1 << 20;
    const JOBS: usize = 4;
    for retention in [Retention::UntilConsumed, Retention::ValuesOnly] {
        let gate = Arc::new(Mutex::new(()));
        let stopped = StoppedParser { gate: gate.clone(), updates: Arc::default() };
        let updates = stopped.updates.clone();
        let data = DataSet::new(retention, MEMORY_BYTES_MAX, &[]);
        let options = options(retention, JOBS, MEMORY_BYTES_MAX);
        let is_stopped = gate.lock().expect("no thread has panicked");
        let (pipeline, _) = Pipeline::start_with(&options, data.clone(), stopped);
        let segments = data.subscribe(100_000);
        let log = log(if retention == Retention::UntilConsumed { 150_000 } else { 10_000 });
        let reader = {
            let log = log.clone();
            thread::spawn(move || read(pipeline, &log))
        };
        // Until they stop. Otherwise they read the whole log.
        let mut before = 0;
        let is_over = |now: usize, before: usize| now > 0 && now == before;
        while !is_over(updates.load(Ordering::Relaxed), before) {
            before = updates.load(Ordering::Relaxed);
            thread::sleep(Duration::from_millis(100));
        }
        // Those whose turn may be over, and those that each parser had read by then.
        assert!(before <= JOBS * (8 + 4), "{before}");
        drop(is_stopped);
        let shown = all_lines(segments, 3, &data);
        reader.join().expect("it ends");
        match retention {
            Retention::UntilConsumed => assert!(shown == log),
            _ => assert_eq!(shown.len(), log.len()),
        }
    }
}
