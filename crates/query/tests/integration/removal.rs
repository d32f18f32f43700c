//! After its removal, a source leaves no trace in any number.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{Evaluator, report};
use weir_view::Query;

use crate::parsed;

/// Small blocks, so that a source has several segments.
const LIMITS: BlockLimits = BlockLimits { block_bytes: 512, line_bytes_max: 1 << 12 };

/// A source: the hours of its zone, and for each line the second and the number of the client.
type Log = (i8, Vec<(u8, u8)>);

fn text((hours, lines): &Log) -> String {
    let line = |(second, client): &(u8, u8)| {
        format!(
            "192.0.2.{client} - - [17/Dec/2025:09:00:{:02} {hours:+03}00] \"GET /{client} \
             HTTP/1.1\" {} 10 \"-\" \"curl/8\"\n",
            second % 60,
            200 + u32::from(client % 4) * 100,
        )
    };
    // A second format, with fields that the other one lacks.
    match hours % 2 {
        0 => lines.iter().map(line).collect(),
        _ => lines.iter().map(|own| format!("site.example:443 {}", line(own))).collect(),
    }
}

fn pipeline(retention: Retention) -> (Arc<DataSet>, Pipeline) {
    let data = DataSet::new(retention, 1 << 30, &[]);
    let options = PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, retention) };
    (data.clone(), Pipeline::start(&options, data))
}

/// Reads a log to its end. Returns the number of its source.
fn read(pipeline: &Pipeline, log: &Log) -> u32 {
    let mut writer = pipeline.source("log", None, FormatChoice::Detect);
    let number = writer.progress().number();
    writer.write_all(text(log).as_bytes()).expect("there is memory");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(writer.finish_async(SourceEnd::Done)).expect("there is memory");
    number
}

fn queries() -> [Query; 4] {
    let filtered = |text: &str| Query { conditions: vec![text.to_owned()], ..Query::default() };
    let stack = Query { stack: "client".to_owned(), ..Query::default() };
    [Query::default(), stack, filtered("client=192.0.2.3"), filtered("status!=200")]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn answers_are_those_of_a_data_set_that_never_had_the_source(
        logs in prop::collection::vec(
            (-3i8..4, prop::collection::vec((0u8..60, 1u8..9), 1..60)), 2..5),
        removed in any::<prop::sample::Index>(),
        later in (-3i8..4, prop::collection::vec((0u8..60, 1u8..9), 1..60)),
        window in any::<bool>(),
    ) {
        let retention = match window {
            true => Retention::Window { width: None },
            false => Retention::Segments,
        };
        let removed = removed.index(logs.len());
        let (data, pipeline_with) = pipeline(retention);
        let numbers: Vec<u32> = logs.iter().map(|log| read(&pipeline_with, log)).collect();
        // These have counted the source before its removal.
        let go_on = AtomicBool::new(false);
        let evaluator = |query| Evaluator::new(data.clone(), parsed(&query), 2).expect("a query");
        let mut evaluators = queries().map(evaluator);
        for evaluator in &mut evaluators {
            evaluator.answer(&go_on).expect("an answer");
        }
        prop_assert!(data.remove_source(numbers[removed]));
        prop_assert!(!data.remove_source(numbers[removed]), "it is gone");

        let (never, pipeline_without) = pipeline(retention);
        for (number, log) in logs.iter().enumerate() {
            if number != removed {
                read(&pipeline_without, log);
            }
        }
        let check = |evaluators: &mut [Evaluator<DataSet>; 4]| {
            for (query, evaluator) in queries().into_iter().zip(evaluators) {
                // Neither follows the zone of the log, as whoever asks again does.
                let other = Evaluator::new(never.clone(), parsed(&query), 2);
                let answer = other.expect("a query").answer(&go_on);
                let mut expected = answer.expect("an answer").report;
                let mut actual = evaluator.answer(&go_on).expect("an answer").report;
                // The list of a field that no format has any more remains, but is empty.
                for report in [&mut expected, &mut actual] {
                    report.top.retain(|_, rows| !rows.is_empty());
                    report.distinct.retain(|_, count| *count > 0);
                }
                prop_assert_eq!(&actual, &expected);
            }
            Ok(())
        };
        check(&mut evaluators)?;
        read(&pipeline_with, &later);
        read(&pipeline_without, &later);
        check(&mut evaluators)?;
    }
}

#[test]
fn a_source_that_is_removed_while_it_is_read_does_not_return() {
    let (data, pipeline) = pipeline(Retention::Segments);
    let log: Log = (0, (0..60).map(|second| (second, 1)).collect());
    read(&pipeline, &log);
    let mut writer = pipeline.source("half", None, FormatChoice::Detect);
    writer.write_all(text(&log).as_bytes()).expect("there is memory");
    assert!(data.remove_source(writer.progress().number()));
    assert!(writer.write_all(text(&log).repeat(10).as_bytes()).is_err(), "it must stop");
    drop(writer);
    pipeline.finish();
    let report = report(&data, &Query::default(), 1).expect("a query");
    assert_eq!((report.lines, report.matching), (60, 60));
    assert_eq!(data.snapshot().sources.len(), 1);
}
