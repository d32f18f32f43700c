//! Answers do not depend on how they are computed: at once or in steps, on any number of threads,
//! and from any previous answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::BlockLimits;
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{Evaluator, count_selection, report};
use weir_view::{Clause, Compare, NO_VALUE, Operator, Query, Report};

use crate::{all_records, parsed};

/// The blocks are small, so that there are enough segments for several threads.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 16 };

fn log() -> Vec<u8> {
    let options = weir_demo::TrafficOptions { bytes: Some(400_000), ..Default::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

fn queries() -> [Query; 3] {
    let stack = Query { stack: "method".to_owned(), ..Query::default() };
    let conditions = ["status=404", "user_agent~Mozilla"].map(str::to_owned).to_vec();
    [Query::default(), stack, Query { conditions, ..Query::default() }]
}

#[tokio::test]
async fn threads_and_steps_make_no_difference() {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("a", None, FormatChoice::Detect);
    let evaluator = |query| Evaluator::new(data.clone(), parsed(&query), 3).expect("a valid query");
    let mut in_steps = queries().map(evaluator);
    let abandoned = AtomicBool::new(false);
    for piece in log().chunks(90_000) {
        writer.write_all_async(piece).await.expect("there is memory");
        for evaluator in &mut in_steps {
            let answer = evaluator.answer(&abandoned).expect("an answer");
            assert!(answer.report.matching <= answer.report.records);
        }
    }
    writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    assert!(data.snapshot().segments.len() > 60);
    for (query, evaluator) in queries().into_iter().zip(&mut in_steps) {
        let expected = report(&data, &query, 1).expect("a valid query");
        assert!(expected.matching > 0);
        for jobs in [2, 5] {
            assert_eq!(report(&data, &query, jobs).as_ref(), Ok(&expected), "{jobs} jobs");
            let count = count_selection(&data, &parsed(&query), jobs, &abandoned);
            let count = count.expect("a valid query");
            let count = count.expect("it is not abandoned");
            assert_eq!((count.kind, count.estimated), (expected.kind, false));
            let numbers = (expected.matching, expected.records_of_kind());
            assert_eq!((count.matching, count.records), numbers, "{jobs} jobs");
        }
        let none = count_selection(&data, &parsed(&query), 1, &AtomicBool::new(true));
        assert_eq!(none, Ok(None));
        let answer = evaluator.answer(&abandoned).expect("an answer");
        assert_eq!(answer.report, expected, "in steps");
    }
}

/// Filters that accept nearly all rows, nearly none, or nearly the same rows as another filter.
const CHANGES: [&[&str]; 8] = [
    &["status=404"],
    &["status!=404"],
    &["status!=404", "user_agent~Mozilla"],
    &["user_agent~Mozilla"],
    &[],
    &["bytes>1000", "user_agent~Mozilla"],
    &["path=/no/such/path"],
    &["method=GET"],
];

/// Queries with these conditions; every third one groups, every fourth one compares.
fn change((number, conditions): (usize, &&[&str])) -> Query {
    let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
    let group = number.is_multiple_of(3).then(|| "user_agent".to_owned());
    let compare = number.is_multiple_of(4).then(Compare::default);
    Query { conditions, group, compare, ..Query::default() }
}

#[tokio::test]
async fn the_answer_to_a_changed_query_equals_a_new_one() {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("a", None, FormatChoice::Detect);
    let abandoned = AtomicBool::new(false);
    let mut evaluator = Evaluator::new(data.clone(), all_records(), 3).expect("a valid query");
    for (piece, case) in log().chunks(40_000).zip(CHANGES.iter().cycle().enumerate()) {
        writer.write_all_async(piece).await.expect("there is memory");
        evaluator = evaluator.change(parsed(&change(case))).expect("a valid query");
        if evaluator.answer(&AtomicBool::new(case.1.len() == 2)).is_none() {
            continue;
        }
        writer.write_all_async(b"\n").await.expect("there is memory");
        evaluator.answer(&abandoned).expect("an answer");
    }
    writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    for case in CHANGES.iter().cycle().enumerate().take(25) {
        evaluator = evaluator.change(parsed(&change(case))).expect("a valid query");
        let answer = evaluator.answer(&abandoned).expect("an answer");
        let expected = report(&data, &change(case), 1).expect("a valid query");
        assert_eq!(answer.report, expected, "{case:?}");
        assert!(evaluator.memory_bytes() <= data.memory_bytes_max() / 8);
    }
    assert!(evaluator.memory_bytes() > 0);
}

#[tokio::test]
async fn abandoned_work_ends() {
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let options = PipelineOptions::new(1, Retention::Segments);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("a", None, FormatChoice::Detect);
    writer.write_all_async(&log()).await.expect("there is memory");
    writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    let mut evaluator = Evaluator::new(Arc::clone(&data), all_records(), 1).expect("a valid query");
    assert!(evaluator.answer(&AtomicBool::new(true)).is_none());
}

/// A data set with the log in it.
async fn data() -> Arc<DataSet> {
    let options =
        PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("a", None, FormatChoice::Detect);
    writer.write_all_async(&log()).await.expect("there is memory");
    writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    pipeline.finish();
    data
}

fn answer(data: &Arc<DataSet>, query: &Query) -> Report {
    report(data, query, 2).expect("a valid query")
}

#[tokio::test]
async fn a_group_counts_the_records_of_each_value() {
    let data = data().await;
    for field in ["method", "user_agent", "status", "status_class"] {
        let query = Query { group: Some(field.to_owned()), top: 4, ..Query::default() };
        let report = answer(&data, &query);
        let group = report.group.as_ref().expect("a group");
        let counts: Vec<u64> = group.rows.iter().map(|row| row.tally.selected.count).collect();
        assert!(counts.is_sorted_by(|one, next| one >= next), "{field}: {counts:?}");
        assert!(counts.len() <= 4);
        let rest = group.rest.tally.selected;
        assert_eq!(counts.iter().sum::<u64>() + rest.count, report.matching, "{field}");
        let bytes: u64 = group.rows.iter().map(|row| row.tally.selected.bytes_sent).sum();
        assert_eq!(bytes + rest.bytes_sent, report.bytes_sent, "{field}");
        for row in group.rows.iter().filter(|row| row.value.text != NO_VALUE) {
            let (field, op, value) = match (field, row.value.text.as_str()) {
                ("status_class", class) => ("status", Operator::Prefix, &class[..1]),
                (field, value) => (field, Operator::Equal, value),
            };
            let values = vec![value.to_owned()];
            let clauses = vec![Clause { field: field.to_owned(), op, values }];
            let alone = answer(&data, &Query { clauses, ..Query::default() });
            let tally = row.tally.selected;
            assert_eq!(
                (tally.count, tally.bytes_sent, tally.errors),
                (alone.matching, alone.bytes_sent, alone.errors),
                "{field}: {value}"
            );
            assert_eq!(row.tally.previous, None);
        }
    }
}

#[tokio::test]
async fn a_comparison_equals_two_reports() {
    let data = data().await;
    let compare = Some(Compare::default());
    let group = Some("method".to_owned());
    let query = Query { compare, group, top: 10_000, ..Query::default() };
    let report = answer(&data, &query);
    let comparison = report.compare.as_ref().expect("a comparison");
    let [now, before] = [&comparison.selected_period, &comparison.previous_period].map(|period| {
        let conditions = vec![format!("time>={}", period.since), format!("time<{}", period.until)];
        answer(&data, &Query { conditions, top: 10_000, ..Query::default() })
    });
    assert_eq!(before, *comparison.previous);
    assert_eq!(now, Report { group: None, compare: None, ..report.clone() });
    assert_eq!(now.matching + before.matching, answer(&data, &Query::default()).matching);
    let totals = &comparison.totals;
    assert_eq!(
        (totals.matching.selected, totals.matching.previous),
        (now.matching, before.matching)
    );
    for list in &comparison.lists {
        let counts = |report: &Report, value: &str| {
            let rows = report.top.get(&list.field).into_iter().flatten();
            rows.filter(|row| row.value.text == value).map(|row| row.tally.count).sum::<u64>()
        };
        for row in list.changed.iter().chain(&list.new).chain(&list.gone) {
            let expected = (counts(&now, &row.value.text), counts(&before, &row.value.text));
            let tally = &row.tally;
            assert_eq!((tally.selected.count, tally.previous().count), expected, "{}", list.field);
        }
        let of = |report: &Report| report.distinct.get(&list.field).copied().unwrap_or(0);
        assert_eq!(list.changed_values + list.new_values, of(&now), "{}", list.field);
        assert_eq!(list.changed_values + list.gone_values, of(&before), "{}", list.field);
    }
    let group = report.group.expect("a group");
    assert_eq!(
        group.rows.iter().map(|row| row.tally.previous().count).sum::<u64>(),
        before.matching
    );
}
