//! Requests that are counted for a monitoring system while they are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weir_core::{BlockLimits, Format, RequestCounts};
use weir_ingest::{
    DataSet, FormatChoice, Pipeline, PipelineOptions, RequestGroup, RequestTotals, RequestsBy,
    Retention, SourceEnd,
};

fn format() -> FormatChoice {
    let definition = "[$time_iso8601] $host $request_method $status $body_bytes_sent";
    FormatChoice::Forced(Arc::new(Format::parse(definition).expect("a format")))
}

fn records(counts: &RequestCounts) -> u64 {
    counts.requests().as_flattened().iter().sum()
}

/// A data set whose requests are counted, and its pipeline of small blocks.
fn counted(by: RequestsBy, width: Option<Duration>, memory: usize) -> (Arc<DataSet>, Pipeline) {
    let retention = Retention::Window { width };
    let limits = BlockLimits { block_bytes: 4 << 10, ..BlockLimits::default() };
    let options =
        PipelineOptions { memory_bytes_max: memory, limits, ..PipelineOptions::new(3, retention) };
    let data = DataSet::new(retention, memory, &[]);
    data.count_requests(RequestTotals::new(Some(by)));
    (data.clone(), Pipeline::start(&options, data))
}

fn field(name: &str) -> RequestsBy {
    name.parse().expect("a field")
}

/// The requests and the bytes of each value, and those of the others.
fn by_value(data: &DataSet) -> (BTreeMap<String, (u64, u64)>, (u64, u64)) {
    let (mut values, mut others) = (BTreeMap::new(), (0, 0));
    for (group, counts) in data.request_counts().expect("nothing is followed") {
        let sums = (records(&counts), counts.bytes());
        match group {
            RequestGroup::Value(value) => {
                values.insert(String::from_utf8(value.to_vec()).expect("UTF-8"), sums);
            }
            RequestGroup::Others => others = sums,
            RequestGroup::Unnamed => assert_eq!(sums, (0, 0), "every line has a host"),
        }
    }
    (values, others)
}

#[test]
fn counts_of_values_hold_while_their_ids_are_used_for_others() {
    let (data, pipeline) = counted(field("host"), Some(Duration::from_secs(60)), 4 << 20);
    let mut source = pipeline.source("access.log", None, format());
    let mut naive: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut last = 0;
    for minute in 0..40 {
        for number in 0..3_000 {
            // Every second host is new, and so are all ids as soon as the window has moved on.
            let host = match number % 2 {
                0 => format!("known{}", number % 7),
                _ => format!("host-of-minute-{minute}-number-{number}-of-a-client-that-asks-once"),
            };
            let line = format!("[2025-12-17T09:{minute:02}:00Z] {host} GET 200 {number}\n");
            source.write_all(line.as_bytes()).expect("there is room");
            let sums = naive.entry(host).or_default();
            *sums = (sums.0 + 1, sums.1 + number);
        }
        source.flush().expect("there is room");
        let groups = data.request_counts().expect("nothing is followed");
        let now = groups.iter().map(|(_, counts)| records(counts)).sum();
        assert!(now >= last, "a counter has fallen from {last} to {now}");
        last = now;
    }
    source.finish(SourceEnd::Done).expect("there is room");
    pipeline.finish();
    assert!(data.values().reuses() > 0, "ids were used again");
    let kept: usize = data.snapshot().segments.iter().map(|it| it.rows()).sum();
    assert!(kept < 40 * 3_000, "records have expired");

    let (values, others) = by_value(&data);
    assert_eq!(values.len(), RequestTotals::VALUES_MAX);
    for (value, sums) in &values {
        assert_eq!(naive.remove(value), Some(*sums), "{value}");
    }
    let rest = naive.values().fold((0, 0), |rest, sums| (rest.0 + sums.0, rest.1 + sums.1));
    assert_eq!(others, rest);
    for known in (0..7).map(|n| format!("known{n}")) {
        assert!(values.contains_key(&known), "{known} was among the first");
    }
}

#[test]
fn a_removed_source_stays_in_the_counts() {
    let (data, pipeline) = counted(RequestsBy::Source, None, 64 << 20);
    for (name, lines) in [("a.log", 3), ("b.log", 5)] {
        let mut source = pipeline.source(name, None, format());
        let line = b"[2025-12-17T09:00:00Z] shop.example GET 200 10\n";
        source.write_all(&line.repeat(lines)).expect("there is room");
        source.finish(SourceEnd::Done).expect("there is room");
    }
    pipeline.finish();
    let expected = BTreeMap::from([("a.log".to_owned(), (3, 30)), ("b.log".to_owned(), (5, 50))]);
    assert_eq!(by_value(&data), (expected.clone(), (0, 0)));
    assert!(data.remove_source(1));
    assert_eq!(by_value(&data), (expected, (0, 0)));
}

#[test]
fn only_requests_are_counted() {
    let (data, pipeline) = counted(RequestsBy::Source, None, 64 << 20);
    let mut source = pipeline.source("mixed.log", None, FormatChoice::Detect);
    let request = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n";
    let error = "2025/12/17 09:03:01 [error] 7#7: *1 open() \"/srv/x\" failed (2: No such file or directory), \
                 client: 192.0.2.7, server: _, request: \"GET /x HTTP/1.1\", host: \"shop.example\"\n";
    source.write_all(request.repeat(20).as_bytes()).expect("there is room");
    source.write_all(error.repeat(5).as_bytes()).expect("there is room");
    source.finish(SourceEnd::Done).expect("there is room");
    pipeline.finish();
    assert_eq!(data.snapshot().sources[0].records, 25);
    let expected = BTreeMap::from([("mixed.log".to_owned(), (20, 340))]);
    assert_eq!(by_value(&data), (expected, (0, 0)));
}
