//! Windows whose oldest rows are evicted. For any times, pieces and moments of a query, an answer
//! equals a new count of the remaining rows.

mod memory;
mod naive;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use naive::{Line, NaiveWindow};
use proptest::prelude::*;
use weir_core::{Format, Snapshot, Snapshots, Values};
use weir_ingest::{
    DataSet, FormatChoice, Phase, Pipeline, PipelineOptions, Retention, SourceSnapshot,
    SourceWriter,
};
use weir_query::{Evaluator, report};
use weir_view::{Query, Report};

use crate::parsed;

const WIDTH_S: i64 = 100;

const QUERIES: [(&[&str], &str); 6] = [
    (&[], "status_class"),
    (&["status=404"], "status_class"),
    (&["status!=404"], "method"),
    (&["status!=404", "bytes>500"], "status_class"),
    (&["path~[02468]$"], "path"),
    (&[], "client"),
];

fn query(number: usize) -> Query {
    let (conditions, stack) = QUERIES[number % QUERIES.len()];
    let conditions = conditions.iter().map(|text| (*text).to_owned()).collect();
    Query { conditions, stack: stack.to_owned(), top: 50, ..Query::default() }
}

fn format() -> FormatChoice {
    let definition = r#"$remote_addr $msec "$request" $status $bytes_sent $request_time"#;
    FormatChoice::Forced(Arc::new(Format::parse(definition).expect("a format")))
}

/// A pipeline with one source.
fn pipeline(
    retention: Retention,
    memory_bytes_max: usize,
    jobs: usize,
) -> (Pipeline, SourceWriter) {
    pipeline_of(DataSet::new(retention, memory_bytes_max, &[]), jobs)
}

/// A pipeline that fills this data set, with one source.
fn pipeline_of(data: Arc<DataSet>, jobs: usize) -> (Pipeline, SourceWriter) {
    let (retention, memory_bytes_max) = (data.retention(), data.memory_bytes_max());
    let options = PipelineOptions { memory_bytes_max, ..PipelineOptions::new(jobs, retention) };
    let pipeline = Pipeline::start(&options, data);
    let writer = pipeline.source("feed", None, format());
    (pipeline, writer)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn write(writer: &mut SourceWriter, text: &str) {
    writer.write_all_async(text.as_bytes()).await.expect("there is room");
    writer.flush_async().await.expect("there is room");
    writer.wait_until_parsed().await;
}

/// Some lines as if they were all that another data set has kept, which may have a window.
struct Kept {
    data: Arc<DataSet>,
    window_ns: Option<i64>,
}

impl Snapshots for Kept {
    type Source = SourceSnapshot;

    fn values(&self) -> impl Deref<Target = Values> {
        self.data.values()
    }

    fn snapshot(&self) -> Snapshot<SourceSnapshot> {
        self.data.snapshot()
    }

    fn memory_bytes_max(&self) -> usize {
        self.data.memory_bytes_max()
    }

    fn window_ns(&self) -> Option<i64> {
        self.window_ns
    }
}

/// Returns the report on only these lines of a data set, with the counts of all lines that were read.
async fn expected(lines: &str, query: &Query, read: &Report, of: &DataSet) -> Report {
    let (pipeline, mut writer) = pipeline(Retention::Segments, 1 << 30, 1);
    write(&mut writer, lines).await;
    let data = Arc::new(Kept { data: pipeline.data().clone(), window_ns: of.window_ns() });
    let fresh = report(&data, query, 1).expect("a valid query");
    assert_eq!(fresh.unparsed_lines, 0);
    let Report { lines, records, bytes_read, .. } = *read;
    let mut expected = Report { lines, records, bytes_read, ..fresh };
    expected.formats.clone_from(&read.formats);
    expected.time.zone.clone_from(&read.time.zone);
    expected
}

/// Removes the differences that eviction is allowed to make. Groups are in the order in which their
/// values were first read, and if there are too many, only the first have names.
fn sorted(mut report: Report) -> Report {
    if let Some(histogram) = &mut report.histogram {
        histogram.groups.sort();
        if histogram.groups.iter().any(|group| group == "(all other values)") {
            histogram.groups.clear();
            histogram.buckets.iter_mut().for_each(|bucket| bucket.by.clear());
        }
    }
    report
}

/// A step of a feed: a piece of lines, and then perhaps a query.
#[derive(Debug, Clone)]
struct Step {
    /// The time of the machine's clock.
    machine_s: i64,
    lines: Vec<Line>,
    /// The number of a new query.
    change: Option<usize>,
    has_query: bool,
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let late = prop_oneof![6 => 0i64..5, 2 => 0i64..150, 1 => 90i64..110];
    let wrong = prop_oneof![
        30 => Just(0i64),
        1 => Just(1_000_000i64),
        1 => Just(-1_000_000i64),
        1 => 95i64..300,
        1 => 5i64..95,
    ];
    let line = (late, wrong, 0u8..40, 0u16..1_200).prop_map(|(late, wrong, value, bytes)| Line {
        time_s: wrong - late,
        value,
        bytes,
    });
    prop::collection::vec(line, 0..30)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let silence = prop_oneof![10 => 0i64..20, 1 => 100i64..500, 1 => -200i64..0];
    let step = (lines(), silence, prop::option::weighted(0.3, 0usize..6), any::<bool>());
    // How far the log's clock is ahead of the machine's.
    let lead = prop_oneof![3 => Just(0i64), 1 => 1i64..60, 1 => 60i64..7_200, 1 => -7_200i64..0];
    (prop::collection::vec(step, 1..40), lead).prop_map(|(steps, lead_s)| {
        let mut now_s = 1_760_000_000;
        let mut machine_s = now_s - lead_s;
        let step = |(mut lines, silence, change, has_query): (Vec<Line>, i64, _, _)| {
            now_s += silence;
            machine_s += silence.max(0);
            lines.iter_mut().for_each(|line| line.time_s += now_s);
            Step { machine_s, lines, change, has_query }
        };
        steps.into_iter().map(step).collect()
    })
}

async fn check(steps: Vec<Step>, is_live: bool) -> Result<(), TestCaseError> {
    let retention = Retention::Window { width: Some(Duration::from_secs(WIDTH_S as u64)) };
    let machine_s = Arc::new(AtomicI64::new(0));
    let clock = {
        let machine_s = machine_s.clone();
        Box::new(move || machine_s.load(Ordering::Relaxed) * 1_000_000_000)
    };
    let (pipeline, mut writer) =
        pipeline_of(DataSet::with_clock(retention, 1 << 30, &[], clock), 2);
    if is_live {
        writer.progress().set_phase(Phase::Listening);
    }
    let mut naive = NaiveWindow::new(WIDTH_S, is_live);
    let abandoned = AtomicBool::new(false);
    let mut current = query(0);
    let mut evaluator =
        Evaluator::new(pipeline.data().clone(), parsed(&current), 2).expect("a valid query");
    for step in steps {
        machine_s.store(step.machine_s, Ordering::Relaxed);
        let text: String = step.lines.iter().map(Line::text).collect();
        write(&mut writer, &text).await;
        if !step.lines.is_empty() {
            naive.pass(&step.lines, step.machine_s);
        }
        if let Some(number) = step.change {
            current = query(number);
            evaluator = evaluator.change(parsed(&current)).expect("a valid query");
        }
        if step.has_query {
            let got = evaluator.answer(&abandoned).expect("an answer").report;
            let kept: String = naive.kept().map(Line::text).collect();
            let expected = expected(&kept, &current, &got, pipeline.data()).await;
            prop_assert_eq!(sorted(got), sorted(expected));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_equal_those_of_the_remaining_rows(steps in steps(), is_live: bool) {
        runtime().block_on(check(steps, is_live))?;
    }
}
