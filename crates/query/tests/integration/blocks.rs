//! Blocks beside requests, compared with a naive evaluation of the same lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use weir_core::BlockLimits;
use weir_ingest::{DataSet, FormatChoice, Pipeline, PipelineOptions, Retention, SourceEnd};
use weir_query::blocks;
use weir_view::{
    BlockCause, BlocksQuestion, BlocksReport, ClockEvidence, Histogram, Query, RecordKind,
    ValueShare,
};

use crate::{all_records, parsed};

/// A request of a client, by its number.
#[derive(Debug, Clone)]
struct Request {
    client: u8,
    second: i64,
    status: u16,
    path: u8,
    agent: u8,
}

/// A line of a block log.
#[derive(Debug, Clone)]
struct Blocked {
    client: u8,
    second: i64,
    cause: BlockCause,
    rule: u8,
    excess: u32,
}

const CAUSES: [BlockCause; 6] = [
    BlockCause::RequestLimit,
    BlockCause::RequestDelay,
    BlockCause::DryRun,
    BlockCause::ConnectionLimit,
    BlockCause::AccessRule,
    BlockCause::Jail,
];

fn address(client: u8) -> String {
    if client % 4 == 3 { format!("2001:db8::{client:x}") } else { format!("192.0.2.{client}") }
}

/// The same address as a kernel writes it.
fn long_address(client: u8) -> String {
    if client % 4 == 3 {
        format!("2001:0db8:0000:0000:0000:0000:0000:{client:04x}")
    } else {
        address(client)
    }
}

fn clock(second: i64) -> String {
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

fn access_log(requests: &[Request]) -> String {
    let line = |request: &Request| {
        let Request { client, second, status, path, agent } = request;
        format!(
            "{} - - [22/Nov/2026:{} +0000] \"GET /p{path} HTTP/1.1\" {status} 5 \"-\" \"a{agent}\"\n",
            address(*client),
            clock(*second)
        )
    };
    requests.iter().map(line).collect()
}

fn error_log(events: &[Blocked]) -> String {
    let line = |event: &&Blocked| {
        let Blocked { client, second, cause, rule, excess } = event;
        let excess = format!("{}.{:03}", excess / 1_000, excess % 1_000);
        let message = match cause {
            BlockCause::RequestLimit => {
                format!("limiting requests, excess: {excess} by zone \"z{rule}\"")
            }
            BlockCause::RequestDelay => {
                format!("delaying request, excess: {excess}, by zone \"z{rule}\"")
            }
            BlockCause::DryRun => {
                format!("limiting requests, dry run, excess: {excess} by zone \"z{rule}\"")
            }
            BlockCause::ConnectionLimit => format!("limiting connections by zone \"z{rule}\""),
            _ => "access forbidden by rule".to_owned(),
        };
        format!(
            "2026/11/22 {} [error] 1#1: *5 {message}, client: {}, server: _, request: \"GET / HTTP/1.1\"\n",
            clock(*second),
            long_address(*client)
        )
    };
    let noise = "2026/11/22 00:00:00 [notice] 1#1: start worker processes\n";
    let lines = events.iter().filter(|event| event.cause != BlockCause::Jail);
    noise.to_owned() + &lines.map(|event| line(&event)).collect::<String>()
}

fn ban_log(events: &[Blocked]) -> String {
    let head = |second: i64| {
        format!("2026-11-22 {},000 fail2ban.actions        [8]: NOTICE  ", clock(second))
    };
    let line = |event: &Blocked| {
        let (jail, address) = (format!("[z{}]", event.rule), address(event.client));
        let ban = format!("{}{jail} Ban {address}\n", head(event.second));
        ban.clone() + &ban.replace("Ban", "Unban") + &ban.replace("Ban", "Found")
    };
    let bans = events.iter().filter(|event| event.cause == BlockCause::Jail);
    head(29_999) + "server ready\n" + &bans.map(line).collect::<String>()
}

async fn data_of(logs: &[String]) -> Arc<DataSet> {
    let limits = BlockLimits { block_bytes: 1_024, line_bytes_max: 1 << 16 };
    let options = PipelineOptions { limits, ..PipelineOptions::new(2, Retention::Segments) };
    let data = DataSet::new(Retention::Segments, 1 << 30, &[]);
    let pipeline = Pipeline::start(&options, data.clone());
    for (number, log) in logs.iter().enumerate() {
        let mut writer = pipeline.source(&number.to_string(), None, FormatChoice::Detect);
        writer.write_all_async(log.as_bytes()).await.expect("there is memory");
        writer.finish_async(SourceEnd::Done).await.expect("there is memory");
    }
    pipeline.finish();
    data
}

async fn report(logs: &[String], question: &BlocksQuestion, jobs: usize) -> Option<BlocksReport> {
    let data = data_of(logs).await;
    let go_on = AtomicBool::new(false);
    let answer = blocks(&data, &all_records(), question, jobs, &go_on).expect("a valid query");
    answer.expect("it is not abandoned")
}

/// The value that most requests have, and their number.
fn most(values: impl Iterator<Item = String>) -> Option<ValueShare> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0) += 1);
    let first = counts.into_iter().min_by_key(|(value, count)| (u64::MAX - count, value.clone()));
    first.map(|(value, requests)| ValueShare { value, requests })
}

/// Computes the report about one client from the lists.
fn check(
    report: &BlocksReport,
    requests: &[Request],
    events: &[Blocked],
    question: BlocksQuestion,
) {
    let blocked: BTreeSet<u8> = events.iter().map(|event| event.client).collect();
    assert_eq!(report.addresses, blocked.len() as u64);
    assert_eq!(report.blocks, events.len() as u64);
    assert_eq!((report.unknown, report.sampled), (0, false));
    for cause in CAUSES {
        let of_cause = events.iter().filter(|event| event.cause == cause).count() as u64;
        let found = report.causes.iter().find(|count| count.cause == cause);
        assert_eq!(found.map_or(0, |count| count.blocks), of_cause);
    }
    assert!(report.causes.is_sorted_by_key(|count| u64::MAX - count.blocks));
    let offset_s = question.clock_offset_s.expect("it is given");
    let mut order = Vec::new();
    for client in &report.clients {
        let number = blocked.iter().find(|number| address(**number) == client.client);
        let number = *number.expect("a known address");
        let own: Vec<&Blocked> = events.iter().filter(|event| event.client == number).collect();
        let first_s = own.iter().map(|event| event.second).min().expect("a block");
        let last_s = own.iter().map(|event| event.second).max().expect("a block");
        assert_eq!(client.blocks, own.len() as u64);
        assert_eq!(client.first.as_deref(), Some(&*format!("2026-11-22T{}Z", clock(first_s))));
        assert_eq!(client.last.as_deref(), Some(&*format!("2026-11-22T{}Z", clock(last_s))));
        for rule in &client.rules {
            let is_by_rule = |event: &&&Blocked| {
                event.cause == rule.cause
                    && rule.name.as_ref().is_none_or(|name| *name == format!("z{}", event.rule))
            };
            let by_rule: Vec<&&Blocked> = own.iter().filter(is_by_rule).collect();
            assert_eq!(rule.blocks, by_rule.len() as u64);
            let has_excess = matches!(
                rule.cause,
                BlockCause::RequestLimit | BlockCause::RequestDelay | BlockCause::DryRun
            );
            let excesses = || by_rule.iter().map(|event| f64::from(event.excess) / 1_000.0);
            let (low, high) = (excesses().fold(f64::MAX, f64::min), excesses().fold(0.0, f64::max));
            assert_eq!(rule.excess, has_excess.then_some([low, high]));
        }
        let first_s = first_s - offset_s;
        let of_client = || requests.iter().filter(|request| request.client == number);
        let window_s = question.window_s as i64;
        let before: Vec<&Request> = of_client()
            .filter(|request| (first_s - window_s..=first_s).contains(&request.second))
            .collect();
        let after = of_client().filter(|request| request.second > first_s).count();
        assert_eq!(client.before.requests, before.len() as u64);
        assert_eq!(client.after.requests, after as u64);
        let seconds = before.iter().map(|request| request.second.to_string());
        let peak = most(seconds).map(|share| share.requests);
        assert_eq!(client.before.peak_per_second, peak);
        let text = |value: fn(&Request) -> String| most(before.iter().map(|it| value(it)));
        assert_eq!(client.before.statuses.first().cloned(), text(|it| it.status.to_string()));
        assert_eq!(client.before.target, text(|it| format!("GET /p{}", it.path)));
        assert_eq!(client.before.user_agent, text(|it| format!("a{}", it.agent)));
        assert!(client.sentence.starts_with(&format!("{} was ", client.client)));
        order.push((u64::MAX - client.blocks, client.client.clone().into_bytes()));
    }
    assert!(order.is_sorted(), "{order:?}");
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let request = (0..8u8, 0..900i64, 0..3usize, 0..4u8, 0..3u8);
    let request = request.prop_map(|(client, second, status, path, agent)| Request {
        client,
        second: 30_000 + second,
        status: [200, 404, 503][status],
        path,
        agent,
    });
    proptest::collection::vec(request, 1..120)
}

fn events() -> impl Strategy<Value = Vec<Blocked>> {
    let event = (0..9u8, 0..900i64, 0..CAUSES.len(), 0..2u8, 0..30_000u32);
    let event = event.prop_map(|(client, second, cause, rule, excess)| Blocked {
        client,
        second: 30_000 + second,
        cause: CAUSES[cause],
        rule,
        excess,
    });
    proptest::collection::vec(event, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_report_is_that_of_a_naive_look(
        requests in requests(),
        events in events(),
        window_s in prop_oneof![Just(1u64), Just(60), Just(600)],
        offset_s in prop_oneof![Just(0i64), -90..90i64],
        jobs in 1..4usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let question = BlocksQuestion { window_s, clock_offset_s: Some(offset_s), ..BlocksQuestion::default() };
        let logs = [access_log(&requests), error_log(&events), ban_log(&events)];
        let report = runtime.block_on(report(&logs, &question, jobs)).expect("there are blocks");
        prop_assert_eq!(report.clock.offset_s, offset_s);
        check(&report, &requests, &events, question);
    }

    #[test]
    fn the_overlay_has_the_blocks_of_all_logs_at_their_times(
        requests in requests(),
        events in events(),
        ahead_s in prop_oneof![Just(0i64), Just(7_200), -90..90i64],
        since in prop_oneof![Just(None), (0..900i64).prop_map(Some)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let logs = [access_log(&requests), error_log(&events), ban_log(&events)];
        let data = runtime.block_on(data_of(&logs));
        let since_s = since.map_or(0, |since| 30_000 + since);
        let condition = format!("time>=2026-11-22T{}Z", clock(since_s));
        let query = Query {
            conditions: since.map(|_| condition).into_iter().collect(),
            overlay: Some(RecordKind::FirewallEvent),
            overlay_ahead_s: ahead_s,
            buckets: 10_000,
            ..Query::default()
        };
        let found = weir_query::report(&data, &query, 1).expect("a valid query");
        let mut expected: BTreeMap<(String, String), u64> = BTreeMap::new();
        for event in &events {
            let second = event.second - ahead_s;
            if second < since_s {
                continue;
            }
            let labels: &[&str] = match event.cause {
                BlockCause::Jail => &["Ban", "Unban", "Found"],
                cause => &[cause.participle()],
            };
            for label in labels {
                let start = format!("2026-11-22T{}Z", clock(second));
                *expected.entry((start, (*label).to_owned())).or_insert(0) += 1;
            }
        }
        let Some(overlay) = found.overlay else {
            prop_assert!(expected.is_empty() || found.matching == 0);
            return Ok(());
        };
        let (histogram, mut shown) = (found.histogram.expect("requests"), BTreeMap::new());
        let starts = |of: &Histogram| -> Vec<String> {
            of.buckets.iter().map(|bucket| bucket.start.clone()).collect()
        };
        prop_assert_eq!(starts(&histogram), starts(&overlay));
        for bucket in &overlay.buckets {
            prop_assert_eq!(bucket.count, bucket.by.values().sum::<u64>());
            for (label, count) in bucket.by.iter().filter(|(label, _)| *label != "(none)") {
                prop_assert!(overlay.groups.contains(label));
                shown.insert((bucket.start.clone(), label.clone()), *count);
            }
        }
        if overlay.step_s == 1 {
            prop_assert_eq!(shown, expected);
        } else {
            prop_assert_eq!(shown.values().sum::<u64>(), expected.values().sum::<u64>());
        }
    }
}

#[tokio::test]
async fn a_log_without_blocks_or_without_requests_has_no_report() {
    let request = Request { client: 1, second: 9, status: 503, path: 1, agent: 1 };
    let event =
        Blocked { client: 1, second: 9, cause: BlockCause::RequestLimit, rule: 1, excess: 5_100 };
    let question = BlocksQuestion::default();
    let (access, errors) = (access_log(&[request]), error_log(&[event]));
    assert_eq!(report(&[access.clone(), error_log(&[])], &question, 1).await, None);
    assert_eq!(report(std::slice::from_ref(&errors), &question, 1).await, None);
    assert_eq!(report(&[], &question, 1).await, None);
    assert!(report(&[access, errors], &question, 1).await.is_some());
}

#[tokio::test]
async fn an_offset_of_a_zone_is_found_and_used() {
    let (mut requests, mut events) = (Vec::new(), Vec::new());
    for (number, start) in [30_000, 31_700, 33_100].into_iter().enumerate() {
        for step in 0..20 {
            let (client, second) = (number as u8, start + step / 4);
            let is_rejected = step > 6;
            let status = if is_rejected { 503 } else { 200 };
            requests.push(Request { client, second, status, path: 1, agent: 1 });
            if is_rejected {
                let cause = BlockCause::RequestLimit;
                let second = second + 7_200;
                events.push(Blocked { client, second, cause, rule: 1, excess: 3_100 });
            }
        }
    }
    let logs = [access_log(&requests), error_log(&events)];
    let report = report(&logs, &BlocksQuestion::default(), 2).await.expect("there are blocks");
    let estimate = report.clock.estimate.expect("an estimate");
    assert_eq!((estimate.offset_s, report.clock.offset_s), (7_200, 7_200));
    assert_eq!(estimate.by, ClockEvidence::Rejections);
    assert_eq!((estimate.pairs, estimate.agreeing), (39, 39));
    assert_eq!(report.clients.len(), 3);
    // Seven have status 200, and the first rejections are in the second of the last one.
    assert!(report.clients.iter().all(|client| client.before.requests == 8));
}

#[tokio::test]
async fn conditions_select_blocks_and_requests() {
    let request = |client| Request { client, second: 9, status: 503, path: 1, agent: 1 };
    let cause = BlockCause::RequestLimit;
    let event = |client| Blocked { client, second: 9, cause, rule: 1, excess: 5_100 };
    let logs = [access_log(&[request(1), request(2)]), error_log(&[event(1), event(2)])];
    let data = data_of(&logs).await;
    let conditions = vec!["client=192.0.2.2".to_owned()];
    let query = parsed(&Query { conditions, ..Query::default() });
    let go_on = AtomicBool::new(false);
    let answer = blocks(&data, &query, &BlocksQuestion::default(), 1, &go_on);
    let report = answer.expect("a valid query").flatten().expect("there are blocks");
    assert_eq!((report.blocks, report.addresses), (1, 1));
    assert_eq!(report.clients[0].client, "192.0.2.2");
    let abandoned = blocks(&data, &query, &BlocksQuestion::default(), 1, &AtomicBool::new(true));
    assert_eq!(abandoned, Ok(None));
}
