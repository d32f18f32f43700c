//! Requests, error-log lines and firewall events are counted separately, however they are mixed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{Evaluator, evaluation_by_kind, report, report_of_fold};
use weir_view::{KindCount, Query, RecordKind, Report};

use crate::parsed;

const KINDS: [RecordKind; 3] =
    [RecordKind::Request, RecordKind::ErrorLogLine, RecordKind::FirewallEvent];

/// Small blocks, so that a source has several segments.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 512, line_bytes_max: 1 << 12 };

/// A record: its kind and the last part of its client's address.
type Line = (RecordKind, u8);

fn text((kind, client): Line) -> String {
    match kind {
        RecordKind::Request => format!(
            "192.0.2.{client} - - [17/Dec/2025:09:00:{:02} +0000] \"GET / HTTP/1.1\" 404 10 \
             \"-\" \"curl/8\"\n",
            client % 60
        ),
        RecordKind::ErrorLogLine => format!(
            "2025/12/17 09:00:{:02} [warn] 7#7: *1 slow, client: 192.0.2.{client}, server: a, \
             request: \"GET / HTTP/1.1\", host: \"a\"\n",
            client % 60
        ),
        RecordKind::FirewallEvent => format!(
            "Dec 17 09:00:{:02} host kernel: [1.0] [UFW BLOCK] IN=eth0 OUT= \
             SRC=192.0.2.{client} DST=198.51.100.1 LEN=40 PROTO=TCP SPT=1 DPT=22\n",
            client % 60
        ),
    }
}

fn line() -> impl Strategy<Value = Line> {
    (prop::sample::select(&KINDS[..]), 1u8..6)
}

/// What a report about a kind should count.
fn naive(lines: &[Line], kind: RecordKind, client: Option<u8>) -> (u64, BTreeMap<String, u64>) {
    let mut clients = BTreeMap::new();
    for (_, own) in lines.iter().filter(|(own, _)| *own == kind) {
        if client.is_none_or(|client| client == *own) {
            *clients.entry(format!("192.0.2.{own}")).or_insert(0) += 1;
        }
    }
    (clients.values().sum(), clients)
}

fn counted(report: &Report) -> (u64, BTreeMap<String, u64>) {
    let rows = report.top.get("client").into_iter().flatten();
    (report.matching, rows.map(|row| (row.value.text.clone(), row.tally.count)).collect())
}

fn kinds(lines: &[Line]) -> Vec<KindCount> {
    let count = |kind| KindCount {
        kind,
        records: lines.iter().filter(|(own, _)| *own == kind).count() as u64,
    };
    KINDS.map(count).into_iter().filter(|count| count.records > 0).collect()
}

fn main_kind(lines: &[Line]) -> RecordKind {
    let kinds = kinds(lines);
    let requests = kinds.iter().any(|count| count.kind == RecordKind::Request);
    let most = kinds.iter().max_by_key(|count| count.records);
    match (requests, most) {
        (false, Some(most)) => most.kind,
        _ => RecordKind::Request,
    }
}

fn query(client: Option<u8>, kind: Option<RecordKind>) -> Query {
    let condition = |client| format!("client=192.0.2.{client}");
    Query { conditions: client.map(condition).into_iter().collect(), kind, ..Query::default() }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn each_kind_is_counted_alone(
        sources in prop::collection::vec(prop::collection::vec(line(), 0..40), 1..5),
        client in prop::option::of(1u8..6),
        jobs in 1usize..4,
    ) {
        let keep = Retention::Segments;
        let options = PipelineOptions { limits: LIMITS, ..PipelineOptions::new(jobs, keep) };
        let data = DataSet::new(keep, 1 << 30, &[]);
        let fold = evaluation_by_kind(&parsed(&query(client, None)), &data.values()).expect("a query");
        let (pipeline, fold) = Pipeline::start_with(&options, data.clone(), fold);
        // These two follow the log while it grows.
        let follow = |kind| {
            Evaluator::new(data.clone(), parsed(&query(client, kind)), 2).expect("a query")
        };
        let mut main = follow(None);
        let mut lines_of = follow(Some(RecordKind::ErrorLogLine));
        let abandoned = AtomicBool::new(false);
        let mut all: Vec<Line> = Vec::new();
        for (number, lines) in sources.iter().enumerate() {
            // One kind for each source, because a source has one format.
            for kind in KINDS {
                let own: Vec<Line> =
                    lines.iter().copied().filter(|(own, _)| *own == kind).collect();
                let name = format!("{number}-{kind:?}");
                let mut writer = pipeline.source(&name, None, FormatChoice::Detect);
                let log: String = own.iter().map(|line| text(*line)).collect();
                writer.write_all(log.as_bytes()).expect("there is memory");
                writer.finish(SourceEnd::Done).expect("there is memory");
                all.extend(own);
            }
            for evaluator in [&mut main, &mut lines_of] {
                evaluator.answer(&abandoned).expect("an answer");
            }
        }
        pipeline.finish();
        let answer = main.answer(&abandoned).expect("an answer").report;
        prop_assert_eq!(answer.kind, main_kind(&all));
        prop_assert_eq!(&answer.kinds, &kinds(&all));
        prop_assert_eq!(counted(&answer), naive(&all, answer.kind, client));
        let lines = lines_of.answer(&abandoned).expect("an answer").report;
        prop_assert_eq!(counted(&lines), naive(&all, RecordKind::ErrorLogLine, client));

        let whole = fold.merged().expect("no thread failed");
        let snapshot = data.snapshot();
        let folded = report_of_fold(&whole, &data.values(), &snapshot, &parsed(&query(client, None)));
        let mut reports: Vec<Report> = folded.other_kinds.clone();
        reports.push(Report { other_kinds: Vec::new(), ..folded });
        for report_of_kind in &reports {
            let kind = report_of_kind.kind;
            prop_assert_eq!(counted(report_of_kind), naive(&all, kind, client));
            let asked = report(&data, &query(client, Some(kind)), 1).expect("a query");
            prop_assert_eq!(report_of_kind, &asked);
        }
        let found = reports.iter().filter(|report| report.records_of_kind() > 0).count();
        prop_assert_eq!(found, kinds(&all).len());
    }
}

#[test]
fn the_leading_field_stacks_the_histogram_of_a_kind() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    for kind in KINDS {
        let mut writer = pipeline.source(kind.name(), None, FormatChoice::Detect);
        writer.write_all(text((kind, 1)).as_bytes()).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    let stacked = |kind| {
        let query = query(None, Some(kind));
        let report = report(&Arc::clone(&data), &query, 1).expect("a query");
        let histogram = report.histogram.expect("a time");
        (histogram.field, histogram.groups)
    };
    let expected = [("status_class", "4xx"), ("level", "warn"), ("action", "BLOCK")];
    for (kind, (field, group)) in KINDS.into_iter().zip(expected) {
        assert_eq!(stacked(kind), (field.to_owned(), vec![group.to_owned()]));
    }
}

#[test]
fn a_condition_on_a_field_that_a_kind_lacks_is_stated() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    for kind in [RecordKind::Request, RecordKind::ErrorLogLine] {
        let mut writer = pipeline.source(kind.name(), None, FormatChoice::Detect);
        writer.write_all(text((kind, 1)).as_bytes()).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    let asked = |kind| {
        let conditions = vec!["status=404".to_owned()];
        let query = Query { conditions, kind: Some(kind), ..Query::default() };
        let report = report(&data, &query, 1).expect("a query");
        (report.matching, report.missing_fields, report.absent)
    };
    assert_eq!(asked(RecordKind::Request), (1, Vec::new(), Vec::new()));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected = (0, names(&["status"]), names(&["bytes_sent", "errors"]));
    assert_eq!(asked(RecordKind::ErrorLogLine), expected);
}

#[test]
fn an_overlay_has_the_same_buckets() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&PipelineOptions::new(1, Retention::Segments), data.clone());
    // The events begin before the requests and end after them.
    let logs =
        [(RecordKind::Request, vec![20, 21, 21, 30]), (RecordKind::FirewallEvent, vec![5, 21, 50])];
    for (kind, clients) in logs {
        let mut writer = pipeline.source(kind.name(), None, FormatChoice::Detect);
        let log: String = clients.iter().map(|client| text((kind, *client))).collect();
        writer.write_all(log.as_bytes()).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    for buckets in [2, 10, 400] {
        let overlay = Some(RecordKind::FirewallEvent);
        let query = Query { overlay, buckets, ..Query::default() };
        let report = report(&data, &query, 1).expect("a query");
        assert_eq!(report.matching, 4, "the totals are those of requests");
        let (own, overlay) = (report.histogram.expect("a time"), report.overlay.expect("events"));
        assert!(own.buckets.len() <= buckets as usize);
        assert_eq!((own.step_s, &own.until), (overlay.step_s, &overlay.until));
        let pairs = own.buckets.iter().zip(&overlay.buckets);
        assert!(pairs.clone().all(|(own, overlay)| own.start == overlay.start));
        assert_eq!(own.buckets.len(), overlay.buckets.len());
        let sums = pairs.fold((0, 0), |sum, (own, overlay)| {
            (sum.0 + own.count, sum.1 + overlay.by.get("BLOCK").copied().unwrap_or(0))
        });
        assert_eq!(sums, (4, 3), "{buckets} buckets");
    }
}
