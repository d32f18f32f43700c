//! Rules that read rows by their distinct values decide the same as rules that read each record.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::{BlockLimits, RecordFields, RowReader};
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::{RuleAnswer, replay_rule};
use weir_rules::{
    Decision, Event, Family, LimitSweep, MissingField, Observer, Replay, Rule, RuleError,
    RuleReport,
};
use weir_view::Query;

use crate::parsed;

use crate::rules::rule;

/// Rules that can read rows, and some that cannot.
const RULES: [&str; 9] = [
    "limit_req_zone $binary_remote_addr zone=one:1m rate=1r/s; limit_req zone=one burst=2;",
    "limit_req_zone $remote_user zone=one:1m rate=20r/m; limit_req zone=one nodelay;",
    // By location, with a path in the key.
    "limit_req_zone $uri zone=one:1m rate=1r/s; limit_req_zone $remote_addr zone=two:1m rate=2r/s;
     server { limit_req zone=two burst=3;
         location /a/ { limit_req zone=one burst=1 delay=1; limit_req zone=two burst=1; }
         location ~ c$ { return 403; } }",
    // Texts, maps and networks around one field.
    "map $http_user_agent $class { default other; ~bot bot; a \"\"; }
     limit_req_zone x$class zone=one:1m rate=1r/s; limit_req zone=one burst=1;",
    "geo $block { default far; 192.0.2.0/30 near; 192.0.2.3 \"\"; }
     limit_req_zone $block zone=one:1m rate=1r/s; limit_req zone=one burst=4;",
    "limit_req_zone all$arg_q zone=one:1m rate=3r/s; limit_req zone=one burst=2;",
    "limit_req_zone $server_name zone=one:1m rate=5r/s;
     server { server_name a.example; limit_req zone=one burst=2; }",
    // Two fields, and servers with different limits.
    "limit_req_zone $remote_addr$uri zone=one:1m rate=1r/s; limit_req zone=one;",
    "limit_req_zone $binary_remote_addr zone=one:1m rate=1r/s;
     server { server_name a; limit_req zone=one; } server { server_name b; }",
];

/// A rule whose replay accepts only events.
#[derive(Debug)]
struct ByRecord(Box<dyn Rule>);

struct EventReplay<'r>(Box<dyn Replay + 'r>);

impl Rule for ByRecord {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn family(&self) -> Family {
        self.0.family()
    }

    fn description(&self) -> String {
        self.0.description()
    }

    fn notes(&self) -> &[RuleError] {
        self.0.notes()
    }

    fn reads(&self) -> Option<Vec<String>> {
        self.0.reads()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        self.0.bind(fields)
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(EventReplay(self.0.replay()))
    }
}

impl Replay for EventReplay<'_> {
    fn take(&mut self, source: u32, line: u64, event: &Event<'_>) {
        self.0.take(source, line, event);
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    fn sweep(&self) -> Option<LimitSweep> {
        self.0.sweep()
    }

    fn finish(self: Box<Self>, decide: Option<&mut dyn FnMut(&Decision<'_>)>) -> RuleReport {
        self.0.finish(decide)
    }
}

/// A request: the last part of its client's address, and numbers that select the other fields.
type Request = (u8, usize, usize, usize, u16);

/// Formats a line with milliseconds and durations, or a combined one with whole seconds.
fn line((client, path, user, agent, step): Request, now_ms: &mut i64, is_precise: bool) -> String {
    const TARGETS: [&str; 12] = [
        "/",
        "/a/b",
        "/a//b",
        "/a/../c",
        "/b/c",
        "/%zz",
        "/../x",
        "/?q=1",
        "/?q=2&r=1",
        "/a/?q=",
        "*",
        "http://a.example/a/b",
    ];
    *now_ms += i64::from(step);
    let target = TARGETS[path % TARGETS.len()];
    let request = match path % 13 {
        12 => "\\x16\\x03".to_owned(),
        // Hardly any other row has this path.
        11 => format!("GET /a/only-one-request-has-this-path-{step} HTTP/1.1"),
        _ => format!("GET {target} HTTP/1.1"),
    };
    let (user, agent) = (["-", "eve", "joe"][user % 3], ["a", "b", "Abot", "-"][agent % 4]);
    let (second, ms) = (*now_ms / 1_000, *now_ms % 1_000);
    let host = ["a", "b"][path % 2];
    match is_precise {
        // Every 17th has no time.
        true if step % 17 == 16 => {
            format!("192.0.2.{client} {user} - 0.010 {host} \"{request}\" \"{agent}\"\n")
        }
        true => {
            let duration_ms = step % 900;
            format!(
                "192.0.2.{client} {user} {second}.{ms:03} 0.{duration_ms:03} {host} \
                 \"{request}\" \"{agent}\"\n"
            )
        }
        false => format!(
            "192.0.2.{client} - {user} [17/Dec/2025:09:{:02}:{:02} +0000] \"{request}\" {} 10 \
             \"-\" \"{agent}\"\n",
            second / 60 % 60,
            second % 60,
            200 + client
        ),
    }
}

const PRECISE: &str =
    r#"$remote_addr $remote_user $msec $request_time $host "$request" "$http_user_agent""#;

/// Creates a data set of sources, each with its format, in blocks of this size.
fn data(sources: &[(String, bool)], block_bytes: usize, memory_bytes: usize) -> Arc<DataSet> {
    let limits = BlockLimits { block_bytes, line_bytes_max: 1 << 12 };
    let options = PipelineOptions { limits, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, memory_bytes, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    for (log, is_precise) in sources {
        let format = match is_precise {
            true => {
                FormatChoice::Forced(Arc::new(weir_core::Format::parse(PRECISE).expect("valid")))
            }
            false => FormatChoice::Detect,
        };
        let mut writer = pipeline.source("a", None, format);
        writer.write_all(log.as_bytes()).expect("there is memory");
        writer.finish(SourceEnd::Done).expect("there is memory");
    }
    pipeline.finish();
    data
}

fn answer(data: &Arc<DataSet>, query: &Query, rule: &dyn Rule, jobs: usize) -> Option<RuleAnswer> {
    let go_on = AtomicBool::new(false);
    let answer = replay_rule(data, &parsed(query), rule, jobs, &go_on).ok()?;
    Some(answer.expect("it is not abandoned"))
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec((1..7u8, 0..60usize, 0..3usize, 0..4usize, 0..1_500u16), 1..150)
}

fn assert_same(
    sources: &[(Vec<Request>, bool)],
    block_bytes: usize,
    memory_bytes: usize,
) -> Result<(), TestCaseError> {
    let logs: Vec<(String, bool)> = sources
        .iter()
        .map(|(requests, is_precise)| {
            let mut now_ms = 1_765_962_000_000;
            let lines = requests.iter().map(|request| line(*request, &mut now_ms, *is_precise));
            (lines.collect(), *is_precise)
        })
        .collect();
    let data = data(&logs, block_bytes, memory_bytes);
    let of = |condition: &str| Query { conditions: vec![condition.to_owned()], ..Query::default() };
    let queries = [Query::default(), of("client=192.0.2.1"), of("path^=/a"), of("not user=eve")];
    for text in RULES {
        let by_record = ByRecord(rule(text));
        for query in &queries {
            let expected = answer(&data, query, &by_record, 1);
            for jobs in [1, 3] {
                prop_assert_eq!(&answer(&data, query, &*rule(text), jobs), &expected, "{}", text);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_are_decided_as_records(
        sources in prop::collection::vec((requests(), any::<bool>()), 1..3),
        block_bytes in prop::sample::select(vec![300usize, 900, 1 << 14]),
    ) {
        assert_same(&sources, block_bytes, 1 << 30)?;
    }

    /// Rows with values that were not kept are left out.
    #[test]
    fn rows_with_unknown_values_are_decided_as_records(
        requests in requests(),
        is_precise in any::<bool>(),
        memory_bytes in 4_000..40_000usize,
    ) {
        assert_same(&[(requests, is_precise)], 1 << 14, memory_bytes)?;
    }
}

#[test]
fn simple_rules_take_rows() {
    let mut now_ms = 1_765_962_000_000;
    let log: String = (0..9).map(|it| line((it, 0, 0, 0, 9), &mut now_ms, true)).collect();
    let data = data(&[(log, true)], 1 << 14, 1 << 30);
    let snapshot = weir_core::Snapshots::snapshot(&*data);
    let values = weir_core::Snapshots::values(&*data);
    let rows = RowReader::new(&snapshot.formats, &values, weir_core::RecordKind::Request);
    for (number, text) in RULES.iter().enumerate() {
        let rule = rule(text);
        let rows = rows.clone().only(&rule.reads().expect("it names them"));
        assert_eq!(rule.replay().bind_rows(&rows), number < RULES.len() - 2, "{text}");
    }
}

/// Ensures that the property above includes rows with values that were not kept.
#[test]
fn a_small_memory_leaves_rows_out() {
    let mut now_ms = 1_765_962_000_000;
    let request = |it: usize| ((it % 6) as u8 + 1, 11, it, it, it as u16);
    let log: String = (0..400).map(|it| line(request(it), &mut now_ms, true)).collect();
    let data = data(&[(log, true)], 1 << 14, 30_000);
    let found = answer(&data, &Query::default(), &*rule(RULES[0]), 1).expect("it is valid");
    assert!((1..400).contains(&found.unknown_records), "{}", found.unknown_records);
    let by_record = answer(&data, &Query::default(), &ByRecord(rule(RULES[0])), 1);
    assert_eq!(Some(found), by_record);
}
