//! Records by time and duration, against reports on the same conditions and a naive look at the log.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Field, TimeSpans, Timestamp, format_rfc3339};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{report, series};
use weir_view::{MeasureValue, Query, Series};

use crate::parsed;

/// The first second of the log.
const FIRST_S: i64 = 1_793_577_600;

/// Bounds after the first second; the second span is empty.
const BOUNDS_S: [i64; 5] = [0, 1_000, 1_001, 1_500, 4_000];

struct Row {
    second: i64,
    path: u64,
    request_ms: u64,
    /// Of one request in three.
    upstream_us: Option<u64>,
}

fn rows() -> Vec<Row> {
    let row = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let second = (number * 2) as i64;
        Row {
            // No record is in the span of a second.
            second: if second == 1_000 { 999 } else { second },
            path: mixed % 4,
            // From 0 ms to 16 s, most of them short.
            request_ms: (mixed % 128) << (mixed % 8),
            upstream_us: mixed.is_multiple_of(3).then_some(mixed % 5_000_000),
        }
    };
    (0..2_000).map(row).collect()
}

fn data(rows: &[Row], threads: usize) -> Arc<DataSet> {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline =
        Pipeline::start(&PipelineOptions::new(threads, Retention::Segments), data.clone());
    let mut source = pipeline.source("access.log", None, FormatChoice::Detect);
    for row in rows {
        let upstream = row.upstream_us.map_or(String::new(), |us| {
            format!(",\"upstream_response_time\":\"{}.{:06}\"", us / 1_000_000, us % 1_000_000)
        });
        let line = format!(
            "{{\"time_iso8601\":\"{}\",\"remote_addr\":\"192.0.2.1\",\"request_uri\":\"/{}\",\
             \"status\":200,\"request_time\":{}.{:03}{upstream}}}\n",
            stamp(row.second),
            row.path,
            row.request_ms / 1_000,
            row.request_ms % 1_000,
        );
        source.write_all(line.as_bytes()).expect("there is memory");
    }
    source.finish(SourceEnd::Done).expect("there is memory");
    pipeline.finish();
    data
}

fn stamp(second: i64) -> String {
    format_rfc3339(Timestamp { unix_ns: (FIRST_S + second) * 1_000_000_000, offset_s: 0 })
}

fn asked(data: &Arc<DataSet>, field: Field, conditions: &[&str]) -> Series {
    let query = Query {
        group: Some("path".to_owned()),
        measures: ["p50", "p95"].map(|name| format!("{name}:{}", field.name())).to_vec(),
        conditions: conditions.iter().map(|text| (*text).to_owned()).collect(),
        ..Query::default()
    };
    let spans = TimeSpans::new(BOUNDS_S.map(|bound| (FIRST_S + bound) * 1_000_000_000).to_vec());
    let (query, go_on) = (parsed(&query), AtomicBool::new(false));
    let answer = series(data, &query, &spans, Some(field), 2, &go_on);
    answer.expect("a valid query").expect("it was not abandoned")
}

#[test]
fn a_step_has_the_records_of_the_condition_that_it_becomes() {
    let data = data(&rows(), 2);
    for (field, path) in [(Field::RequestTime, "path!=/3"), (Field::UpstreamTime, "path=/0,/1")] {
        let answer = asked(&data, field, &[path]);
        let map = answer.map.expect("it was asked for");
        assert!(map.bounds_s.len() > 10, "{:?}", map.bounds_s);
        let name = field.name();
        for (span, counts) in BOUNDS_S.windows(2).zip(&map.counts) {
            for (bounds, count) in map.bounds_s.windows(2).zip(counts) {
                let time = format!("time>={} and time<{}", stamp(span[0]), stamp(span[1]));
                let step = format!("{name}>={} and {name}<{}", bounds[0], bounds[1]);
                let query = Query {
                    conditions: vec![path.to_owned(), time.clone(), step.clone()],
                    ..Query::default()
                };
                let matching = report(&data, &query, 1).expect("a valid query").matching;
                assert_eq!(*count, matching, "{path} and {time} and {step}");
            }
        }
    }
}

#[test]
fn a_map_and_its_lines_are_those_of_a_look_at_each_record() {
    let rows = rows();
    let data = data(&rows, 1);
    let answer = asked(&data, Field::RequestTime, &[]);
    let map = answer.map.expect("it was asked for");
    for (at, span) in BOUNDS_S.windows(2).enumerate() {
        let is_in = |row: &&Row| (span[0]..span[1]).contains(&row.second);
        let mut own: Vec<u64> = rows.iter().filter(is_in).map(|row| row.request_ms).collect();
        own.sort_unstable();
        assert_eq!(map.counts[at].iter().sum::<u64>(), own.len() as u64);
        for (q, name) in [(0.5, "p50:request_time"), (0.95, "p95:request_time")] {
            let rank = (q * own.len() as f64).ceil() as usize;
            let exact = own.get(rank.wrapping_sub(1)).map(|ms| *ms as f64 / 1e3);
            let shown = match answer.spans[at].measures.get(name) {
                Some(Some(MeasureValue::Number(seconds))) => Some(*seconds),
                _ => None,
            };
            // Above 2 s the quantiles of groups are rounded to 11 bits.
            let is_near = match (exact, shown) {
                (Some(exact), Some(shown)) => (exact - shown).abs() <= exact / 2_048.0,
                (exact, shown) => exact == shown,
            };
            assert!(is_near, "{name} of {span:?}: {shown:?} instead of {exact:?}");
        }
    }
    assert_eq!(map.counts[1].iter().sum::<u64>(), 0, "an empty span has a row");
}

#[test]
fn a_duration_that_no_record_has_has_no_steps() {
    let data = data(&rows(), 1);
    let map = asked(&data, Field::WaitTime, &[]).map.expect("it was asked for");
    assert!(map.bounds_s.is_empty());
    assert_eq!(map.counts, vec![Vec::<u64>::new(); BOUNDS_S.len() - 1]);
}
