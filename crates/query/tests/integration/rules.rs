//! Replays over a data set equal replays over the lines, on any number of threads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{BlockLimits, LineOutcome, Lines, LogReader, detect};
use weir_demo::Traffic;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{NoLines, RuleAnswer, RuleOptions, RuleQueryError, replay_rule, replay_rules};
use weir_rules::{Events, Line, LineTally, LogCounts, Rule, RuleFiles, RuleReport, parse_rules};
use weir_view::{Query, ReplayedRule};

use crate::{all_records, parsed};

const RULE: &str = "limit_req_zone $binary_remote_addr zone=one:10m rate=2r/s;
    limit_req zone=one burst=3;";

fn log() -> Vec<u8> {
    let options = weir_demo::TrafficOptions { bytes: Some(400_000), ..Default::default() };
    let mut traffic = Traffic::new(options).with_dirt_every(50);
    let mut log = Vec::new();
    while traffic.fill(&mut log, 1 << 16) > 0 {}
    log
}

pub(crate) fn rule(text: &str) -> Box<dyn Rule> {
    parse_rules(text, "test", None, &RuleFiles::default()).expect(text).remove(0)
}

pub(crate) async fn data_of(log: &[u8]) -> Arc<DataSet> {
    let limits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 16 };
    let options = PipelineOptions { limits, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    let mut writer = pipeline.source("a", None, FormatChoice::Detect);
    writer.write_all_async(log).await.expect("there is memory");
    writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    data
}

/// Replays the rule over the lines one after another. Lines are numbered by their offsets.
fn naive(rule: &dyn Rule, log: &[u8], accepts: impl Fn(&[u8]) -> bool) -> (RuleReport, LogCounts) {
    let format = detect(log).best().expect("a format").format.clone();
    let mut observer = rule.bind(&format.record_fields()).expect("it has the fields");
    let (mut reader, mut events) = (LogReader::new(format), Events::default());
    let mut counts = LogCounts::default();
    for line in Lines::new(log) {
        counts.lines += 1;
        let number = line.bytes.as_ptr() as u64 - log.as_ptr() as u64;
        reader.read(line.bytes, |_, outcome| {
            let is_record = matches!(outcome, LineOutcome::Record(_));
            counts.unparsed += u64::from(!is_record);
            if let LineOutcome::Record(record) = outcome
                && accepts(line.bytes)
            {
                counts.records[0] += 1;
                let record = Some(record);
                observer.observe(&Line { number, bytes: line.bytes, record }, &mut events);
            }
        });
    }
    let mut replay = rule.replay();
    events.iter().for_each(|event| replay.take(0, event.line, &event));
    (replay.finish(None), counts)
}

#[tokio::test]
async fn the_limits_of_a_zone_whose_key_the_log_lacks_are_left_out() {
    let zones = "limit_req_zone $remote_addr zone=a:1m rate=1r/m;
        limit_req_zone $http_x_key zone=b:1m rate=1r/m; limit_req zone=b;";
    let data = data_of(&log()).await;
    let go_on = AtomicBool::new(false);
    let replayed = |text: &str| replay_rule(&data, &all_records(), &*rule(text), 2, &go_on);
    // The rows are taken by their columns, or one after another for a key of two fields.
    for key in ["", "limit_req_zone $remote_addr$uri zone=c:1m rate=1r/s; limit_req zone=c;"] {
        let with = format!("{zones} limit_req zone=a; {key}");
        let without = with.replace("limit_req zone=b;", "");
        let answer =
            |text: &str| replayed(text).expect("a zone has a key").expect("it goes on").rule;
        let (found, expected) = (answer(&with), answer(&without));
        assert!(
            found.notes[0].contains("the key of zone `b` has $http_x_key"),
            "{:?}",
            found.notes
        );
        // The bounds of several limits are wider than those of one.
        let requests = |rule: &ReplayedRule| {
            let weir_view::RequestCounts { passed, delayed, rejected, undecided } = rule.requests;
            passed + delayed + rejected + undecided
        };
        assert_eq!((found.keys.seen, requests(&found)), (expected.keys.seen, requests(&expected)));
        assert!(found.keys.tripped > 0 && found.keys.tripped <= expected.keys.tripped, "{key}");
    }
    let error = replayed(zones).expect_err("no zone that is used has a key");
    assert!(matches!(error, RuleQueryError::MissingField(_)), "{error}");
}

#[tokio::test]
async fn a_replay_over_rows_is_that_over_lines() {
    let (log, rule) = (log(), rule(RULE));
    let data = data_of(&log).await;
    let go_on = AtomicBool::new(false);
    let only_404 = parsed(&Query { conditions: vec!["status=404".to_owned()], ..Query::default() });
    let has_404 = |line: &[u8]| line.windows(6).any(|part| part == b"\" 404 ");
    for (query, expected) in
        [(all_records(), naive(&*rule, &log, |_| true)), (only_404, naive(&*rule, &log, has_404))]
    {
        let (expected, counts) = expected;
        let counts = if query == all_records() { counts } else { counts.of_selected() };
        let tally = LineTally::default();
        let expected = ReplayedRule::new(&*rule, expected, &counts, &tally, &["a".to_owned()]);
        assert!(expected.keys.seen > 20);
        let mut curves = Vec::new();
        for jobs in [1, 3] {
            let answer = replay_rule(&data, &query, &*rule, jobs, &go_on).expect("a valid query");
            let answer = answer.expect("it is not abandoned");
            assert_eq!(answer.rule, expected);
            assert_eq!(answer.unknown_records, 0);
            curves.push(answer.curve.expect("a single limit"));
        }
        assert_eq!(curves[0], curves[1]);
        let point = |burst| curves[0].points.iter().find(|point| point.burst == burst);
        let last = curves[0].points.last().expect("a point");
        assert_eq!((last.keys, last.requests), (0, 0));
        let over = curves[0].peaks.iter().filter(|peak| **peak > 3.0).count();
        assert_eq!(point(3).map(|point| point.keys), Some(over as u64));
    }
    let abandoned = replay_rule(&data, &all_records(), &*rule, 1, &AtomicBool::new(true));
    assert_eq!(abandoned, Ok(None));
}

#[tokio::test]
async fn a_field_that_the_data_lacks_is_named() {
    let data = data_of(&log()).await;
    let rule = rule("limit_req_zone $http_x_key zone=one:10m rate=2r/s; limit_req zone=one;");
    let error = replay_rule(&data, &all_records(), &*rule, 1, &AtomicBool::new(false));
    let Err(RuleQueryError::MissingField(error)) = error else { panic!("{error:?}") };
    assert!(error.message.contains("$http_x_key"), "{error}");
}

/// Replays rules of a text over the records of a query, whose lines are gone.
fn replayed(data: &Arc<DataSet>, query: &Query, texts: &[&str]) -> Vec<RuleAnswer> {
    let rules: Vec<Box<dyn Rule>> = texts.iter().map(|text| rule(text)).collect();
    let rules: Vec<&dyn Rule> = rules.iter().map(|rule| &**rule).collect();
    let (options, go_on) = (RuleOptions::default(), AtomicBool::new(false));
    replay_rules(data, &parsed(query), (&rules, &NoLines), &options, 2, &go_on)
        .expect("a valid query")
        .expect("it is not abandoned")
}

#[tokio::test]
async fn a_rule_that_cannot_be_replayed_leaves_the_others() {
    let data = data_of(&log()).await;
    let connections = "limit_conn_zone $http_x_key zone=c:1m; limit_conn c 1;";
    let jail = "[web]\nfailregex = ^<HOST>";
    let alone = replayed(&data, &Query::default(), &[RULE]);
    let found = replayed(&data, &Query::default(), &[connections, RULE, jail]);
    assert_eq!(found[1], alone[0]);
    assert!(alone[0].rule.keys.seen > 0);
    for (answer, reason) in [(&found[0], "$request_time"), (&found[2], "whole lines")] {
        let error = answer.unanswered.as_ref().expect("a reason").to_string();
        assert!(error.contains(reason), "{error}");
        assert_eq!(answer.rule.looked_at.nothing.as_ref(), Some(&error));
        assert_eq!((answer.rule.keys.seen, answer.rule.looked_at.evaluated), (0, 0));
    }
}

#[tokio::test]
async fn with_a_filter_a_rule_looked_at_what_the_filter_selects() {
    let mut log = log();
    log.extend_from_slice(b"in no known format\n");
    let data = data_of(&log).await;
    let [all] = &replayed(&data, &Query::default(), &[RULE])[..] else { panic!("one rule") };
    let found = &all.rule.looked_at;
    assert!(found.unparsed > 0);
    assert_eq!(found.lines, found.records + found.unparsed);
    let filtered = |condition: &str| {
        let query = Query { conditions: vec![condition.into()], ..Query::default() };
        let [answer] = &replayed(&data, &query, &[RULE])[..] else { panic!("one rule") };
        answer.rule.clone()
    };
    let (ok, other) = (filtered("status=200"), filtered("status!=200"));
    for part in [&ok, &other] {
        assert!(part.looked_at.evaluated > 0);
        assert_eq!((part.looked_at.lines, part.looked_at.unparsed), (part.looked_at.records, 0));
        // The lines that no filter can select may be requests.
        assert!(part.notes.iter().any(|note| note.contains("in no known format")));
    }
    assert_eq!(ok.looked_at.lines + other.looked_at.lines, found.records);
    let none = filtered("status=299").looked_at;
    assert_eq!((none.lines, none.records, none.evaluated), (0, 0, 0));
    assert!(none.nothing.is_some_and(|why| why.contains("conditions select none")));
}
