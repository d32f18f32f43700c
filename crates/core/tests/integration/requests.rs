//! Counts of requests against those of their lines, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, DURATION_BOUNDS_NS, Field, Format, REQUEST_METHODS,
    RequestCounter, RequestCounts, RowGroups, STATUS_CLASSES, Values,
};

const METHODS: [&str; 5] = ["GET", "POST", "get", "PROPFIND", "-"];
const STATUSES: [&str; 7] = ["200", "204", "304", "404", "503", "600", "-"];
/// In milliseconds: on a bound, between two, beyond all.
const TIMES: [&str; 6] = ["0.000", "0.005", "0.006", "10.000", "10.001", "-"];
const SIZES: [&str; 4] = ["0", "17", "18446744073709551614", "-"];

/// The indices of host, method, status, size and duration.
type Row = (u8, usize, usize, usize, usize);

fn line((host, method, status, bytes, time): Row) -> String {
    let (method, status) = (METHODS[method], STATUSES[status]);
    format!("host{host} {method} {status} {} {}\n", SIZES[bytes], TIMES[time])
}

/// What a monitoring system would be told of one host: requests by method and class, bytes, and
/// durations by bucket with their sum in milliseconds.
#[derive(Debug, Default, PartialEq)]
struct Naive {
    requests: BTreeMap<(String, String), u64>,
    bytes: u64,
    durations: BTreeMap<usize, u64>,
    duration_ms: u128,
}

impl Naive {
    fn add(&mut self, (_, method, status, bytes, time): Row) {
        let method = match METHODS[method] {
            known @ ("GET" | "POST") => known,
            _ => "other",
        };
        let class = match STATUSES[status] {
            "200" | "204" => "2xx",
            "304" => "3xx",
            "404" => "4xx",
            "503" => "5xx",
            _ => "other",
        };
        *self.requests.entry((method.to_owned(), class.to_owned())).or_default() += 1;
        self.bytes = self.bytes.saturating_add(SIZES[bytes].parse().unwrap_or(0));
        if let Ok(seconds) = TIMES[time].parse::<f64>() {
            let bounds = [
                0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
                10.0,
            ];
            let bucket = bounds.iter().position(|bound| seconds <= *bound).unwrap_or(bounds.len());
            *self.durations.entry(bucket).or_default() += 1;
            self.duration_ms += (seconds * 1e3).round() as u128;
        }
    }

    fn of(counts: &RequestCounts) -> Self {
        let mut naive = Self { bytes: counts.bytes(), ..Self::default() };
        for (method, classes) in REQUEST_METHODS.iter().zip(counts.requests()) {
            for (class, count) in
                STATUS_CLASSES.iter().zip(classes).filter(|(_, count)| **count > 0)
            {
                naive.requests.insert(((*method).to_owned(), (*class).to_owned()), *count);
            }
        }
        let buckets = counts.durations().iter().enumerate().filter(|(_, count)| **count > 0);
        naive.durations = buckets.map(|(bucket, count)| (bucket, *count)).collect();
        naive.duration_ms = counts.duration_ns() / 1_000_000;
        naive
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_the_lines(
        blocks in prop::collection::vec(prop::collection::vec(
            (0u8..4, 0..METHODS.len(), 0..STATUSES.len(), 0..SIZES.len(), 0..TIMES.len()), 1..40,
        ), 1..5),
        is_grouped: bool,
    ) {
        let definition = "$host $request_method $status $body_bytes_sent $request_time";
        let format = Arc::new(Format::parse(definition).expect("a format"));
        let mut values = Values::new(1 << 20);
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let mut counter = RequestCounter::default();
        let mut counts = vec![RequestCounts::default(); 4];
        let mut naive: BTreeMap<u8, Naive> = BTreeMap::new();
        let host = Field::Host.column();
        for rows in &blocks {
            let text: String = rows.iter().copied().map(line).collect();
            let segment = reader.read_segment(&Block::new(text.into_bytes()), 0, &mut values);
            prop_assert_eq!(segment.rows(), rows.len());
            counter.refresh(&values);
            let dictionary = values.dictionary(host);
            // Of the last host only the others know: its group has no counts.
            let group = |id| match dictionary.value(id as u32) {
                Some(b"host0") => 0,
                Some(b"host1") => 1,
                Some(b"host2") => 2,
                _ => 100,
            };
            let groups: Vec<u8> = (0..dictionary.ids()).map(group).collect();
            let groups = match segment.text(host).filter(|_| is_grouped) {
                Some(codes) => RowGroups::ByValue { codes, groups: &groups },
                None => RowGroups::All(3),
            };
            counter.count(&segment, groups, &mut counts);
            for row in rows {
                naive.entry(if is_grouped { row.0 } else { 3 }).or_default().add(*row);
            }
        }
        if is_grouped {
            naive.remove(&3);
        }
        for (group, counts) in counts.iter().enumerate() {
            let expected = naive.remove(&(group as u8)).unwrap_or_default();
            prop_assert_eq!(Naive::of(counts), expected, "group {}", group);
        }
    }
}

#[test]
fn merged_counts_are_those_of_all_requests() {
    let format = Arc::new(
        Format::parse("$request_method $status $body_bytes_sent $request_time").expect("a format"),
    );
    let mut values = Values::new(1 << 20);
    let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    let lines = b"GET 200 5 0.010\nPUT 500 7 20.000\n";
    let segment = reader.read_segment(&Block::new(lines.to_vec()), 0, &mut values);
    let mut counter = RequestCounter::default();
    counter.refresh(&values);
    let mut once = [RequestCounts::default()];
    counter.count(&segment, RowGroups::All(0), &mut once);
    let mut twice = once.clone();
    counter.count(&segment, RowGroups::All(0), &mut twice);
    let [mut merged] = once.clone();
    merged.merge(&once[0]);
    assert_eq!([merged.clone()], twice);
    assert_eq!((merged.bytes(), merged.duration_ns()), (24, 40_020_000_000));
    assert_eq!(merged.durations()[DURATION_BOUNDS_NS.len()], 2);
}
