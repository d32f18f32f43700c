//! The time axis of a chart is the requested time, regardless of the other conditions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::{Timestamp, format_rfc3339, parse_rfc3339};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{Evaluator, evaluation_by_kind, report, report_of_fold};
use weir_view::{Histogram, Query, REMAINDER_VALUE, Report};

use crate::parsed;

/// 2025-12-17T09:00:00Z.
const START_S: i64 = 1_765_962_000;

/// A request: minutes after the start, and the number of its host.
type Request = (i64, u16);

fn stamp(minute: i64) -> String {
    let unix_ns = (START_S + minute * 60) * 1_000_000_000;
    format_rfc3339(Timestamp { unix_ns, offset_s: 0 })
}

fn line((minute, host): Request) -> String {
    let time = stamp(minute);
    format!("{time} h{host} 200\n")
}

const FORMAT: &str = "$time_iso8601 $host $status";

/// A data set of requests, and the report of a fold about them.
fn data(requests: &[Request], query: &Query) -> (Arc<DataSet>, Report) {
    let query = parsed(query);
    let data = DataSet::new(Retention::Segments, 1 << 30, &query.extra_columns());
    let fold = evaluation_by_kind(&query, &data.values()).expect("a query");
    let options = PipelineOptions::new(2, Retention::Segments);
    let (pipeline, fold) = Pipeline::start_with(&options, data.clone(), fold);
    let format = Arc::new(weir_core::Format::parse(FORMAT).expect("a format"));
    let mut writer = pipeline.source("a", None, FormatChoice::Forced(format));
    let log: String = requests.iter().map(|request| line(*request)).collect();
    writer.write_all(log.as_bytes()).expect("there is memory");
    writer.finish(SourceEnd::Done).expect("there is memory");
    pipeline.finish();
    let fold = fold.merged().expect("all threads ended");
    let folded = report_of_fold(&fold, &data.values(), &data.snapshot(), &query);
    (data, folded)
}

fn query(host: Option<u16>, since: Option<i64>, until: Option<i64>) -> Query {
    let texts = [
        host.map(|host| format!("host=h{host}")),
        since.map(|minute| format!("time>={}", stamp(minute))),
        until.map(|minute| format!("time<{}", stamp(minute))),
    ];
    let conditions = texts.into_iter().flatten().collect();
    Query { conditions, stack: "host".to_owned(), buckets: 40, ..Query::default() }
}

fn seconds(stamp: &str) -> i64 {
    parse_rfc3339(stamp.as_bytes()).expect("a time").unix_ns / 1_000_000_000
}

/// The start and the end of the axis, in seconds.
fn axis_s(histogram: &Histogram) -> (i64, i64) {
    (seconds(&histogram.buckets[0].start), seconds(&histogram.until))
}

/// The naive count of the requests in each bucket.
fn naive(
    requests: &[Request],
    histogram: &Histogram,
    accepts: impl Fn(&Request) -> bool,
) -> Vec<u64> {
    let ends = histogram.buckets[1..].iter().map(|bucket| seconds(&bucket.start));
    let ends = ends.chain([seconds(&histogram.until)]);
    let buckets = histogram.buckets.iter().map(|bucket| seconds(&bucket.start)).zip(ends);
    let count = |(from, until): (i64, i64)| {
        let is_in = |request: &&Request| (from..until).contains(&(START_S + request.0 * 60));
        requests.iter().filter(is_in).filter(|request| accepts(request)).count() as u64
    };
    buckets.map(count).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_axis_is_the_time_that_was_asked_for(
        requests in prop::collection::vec((0i64..50_000, 0u16..4), 1..60),
        host in prop::option::of(0u16..4),
        since in prop::option::of(-5_000i64..50_000),
        length in prop::option::of(1i64..60_000),
    ) {
        let until = length.map(|length| since.unwrap_or(0) + length);
        let query = query(host, since, until);
        let (data, folded) = data(&requests, &query);
        let answer = report(&data, &query, 2).expect("a query");

        // Derived from the report without conditions, after another filter.
        let first = |count| Query {
            conditions: query.conditions.iter().take(count).cloned().collect(),
            ..query.clone()
        };
        let steps = [first(0), first(1)];
        let go_on = AtomicBool::new(false);
        let mut evaluator = Evaluator::new(data.clone(), parsed(&steps[0]), 2).expect("a query");
        evaluator.answer(&go_on).expect("an answer");
        for next in [&steps[1], &query, &steps[0], &query] {
            evaluator = evaluator.change(parsed(next)).expect("a query");
            evaluator.answer(&go_on).expect("an answer");
        }
        let in_steps = evaluator.answer(&go_on).expect("an answer").report;
        prop_assert_eq!(&in_steps, &answer);

        let Some(histogram) = answer.histogram else {
            prop_assert_eq!(answer.matching, 0);
            return Ok(());
        };
        let in_time = |request: &Request| {
            since.is_none_or(|since| request.0 >= since)
                && until.is_none_or(|until| request.0 < until)
        };
        let is_of_host = |request: &Request| host.is_none_or(|host| request.1 == host);
        let counts: Vec<u64> = histogram.buckets.iter().map(|bucket| bucket.count).collect();
        let expected =
            naive(&requests, &histogram, |request| in_time(request) && is_of_host(request));
        prop_assert_eq!(counts, expected);
        prop_assert_eq!(histogram.unfiltered.is_some(), host.is_some());
        if let Some(unfiltered) = &histogram.unfiltered {
            prop_assert_eq!(unfiltered, &naive(&requests, &histogram, in_time));
        }

        let times = requests.iter().map(|request| request.0);
        let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
        let (from, to) = match (since, until) {
            (Some(since), Some(until)) => (since, until - 1),
            (since, until) => (
                since.map_or(first, |since| since.max(first)),
                until.map_or(last, |until| (until - 1).min(last)),
            ),
        };
        let (start_s, end_s) = axis_s(&histogram);
        let step_s = histogram.step_s as i64;
        let [from_s, to_s] = [from, to].map(|minute| START_S + minute * 60);
        prop_assert!(start_s <= from_s && from_s < start_s + step_s + 3_600);
        prop_assert!(end_s > to_s && to_s + 60 >= end_s - step_s);

        let folded = folded.histogram.expect("the same records match");
        prop_assert_eq!(folded, histogram, "while it is read");
    }
}

#[test]
fn silence_at_the_ends_is_drawn() {
    let minutes = |hours: i64| hours * 60;
    let requests: Vec<Request> = (0..100).map(|hour| (minutes(hour), 1)).collect();
    // Of the three requested days, the last two have no requests.
    let quiet: Vec<Request> =
        requests.iter().filter(|(minute, _)| !(1_440..4_320).contains(minute)).copied().collect();
    let query = query(None, Some(0), Some(4_320));
    let (data, _) = data(&quiet, &query);
    let histogram = report(&data, &query, 1).expect("a query").histogram.expect("there are some");
    assert_eq!(axis_s(&histogram), (START_S, START_S + 3 * 86_400));
    assert!(histogram.buckets.iter().rev().take(16).all(|bucket| bucket.count == 0));
}

#[test]
fn groups_are_ordered_by_their_size_in_the_selection() {
    // The first host is the rarest, and there are more hosts than groups.
    let rare = (0..300u16).map(|host| (0, host));
    let frequent = (1..500).map(|minute| (minute, if minute % 3 == 0 { 7 } else { 250 }));
    let requests: Vec<Request> = rare.chain(frequent).collect();
    let groups = |query: &Query| {
        let (data, _) = data(&requests, query);
        report(&data, query, 1).expect("a query").histogram.expect("there are some").groups
    };
    let all = groups(&query(None, None, None));
    assert_eq!(all[..3], ["h250", "h7", "h0"]);
    assert_eq!(all.last().map(String::as_str), Some(REMAINDER_VALUE));
    let first = groups(&query(None, None, Some(4)));
    assert_eq!(first[..3], ["h250", "h7", "h0"]);
}
