use weir_view::{PassedRates, RouteStage, RouteStageKind};

use super::slowest;

fn stage(kind: RouteStageKind, name: &str, busy: f64, bytes: f64) -> RouteStage {
    let rates = PassedRates { busy: Some(busy), bytes: Some(bytes), ..PassedRates::default() };
    let threads = (kind == RouteStageKind::Parse).then_some(2);
    RouteStage { rates: Some(rates), threads, ..RouteStage::new(kind, name) }
}

#[test]
fn the_slowest_part_of_the_gateway_is_named_with_the_reason() {
    use RouteStageKind::{Backend, Client, Gateway, Parse, Source};
    let gateway = |wait, header, body| {
        vec![
            stage(Gateway, "a", wait, 0.0),
            stage(Backend, "a", header, 0.0),
            stage(Client, "a", body, 0.0),
            stage(Source, "gateway", 0.0, 1_000.0),
            stage(Parse, "", 0.01, 0.0),
        ]
    };
    let with_body = |waiting: f64| {
        let mut stages = gateway(0.1, 0.1, 1.0);
        stages[2].rates = Some(PassedRates {
            busy: Some(1.0 - waiting),
            waiting: Some(waiting),
            bytes: Some(2e6),
            ..PassedRates::default()
        });
        stages
    };
    for (stages, index, words) in [
        (
            with_body(0.1),
            Some(2),
            "while clients read the responses of the backend a, at 2.0 MB per",
        ),
        (
            with_body(0.9),
            Some(1),
            "75% of their time passes while it sends its responses, at 2.0 MB",
        ),
        (gateway(1.0, 8.0, 1.0), Some(1), "for the backend a: 80% of their time"),
        (gateway(8.0, 1.0, 1.0), Some(0), "in the gateway: 80% of their time"),
        (gateway(1.0, 1.0, 2.0), Some(2), "for the clients: 50% of their time"),
        (gateway(0.0, 0.0, 0.0), Some(3), "wait for the source gateway, which delivers 1.0 kB"),
        (vec![stage(Source, "a.log", 0.0, 0.0)], None, "Nothing flows"),
        (vec![RouteStage::new(Source, "a.log")], None, "in a second"),
    ] {
        let found = slowest(&stages);
        assert_eq!(found.stage, index, "{found:?}");
        assert!(found.reason.contains(words), "{words}: {found:?}");
    }
}

/// The stages of a backend whose requests take `each_s`, nearly all of it until the head of the
/// answer.
fn backend(each_s: f64, per_second: f64, failed: f64) -> Vec<RouteStage> {
    use RouteStageKind::{Backend, Client, Gateway};
    let mut stages = vec![
        stage(Gateway, "a", 0.0, 0.0),
        stage(Backend, "a", each_s * per_second, 0.0),
        stage(Client, "a", 0.0, 0.0),
    ];
    for stage in &mut stages {
        if let Some(rates) = &mut stage.rates {
            (rates.records, rates.failed) = (Some(per_second), Some(failed));
        }
    }
    stages
}

#[test]
fn fast_requests_are_held_up_nowhere() {
    let found = slowest(&backend(0.0011, 3_400.0, 0.0));
    assert_eq!(found.stage, None);
    assert!(found.reason.starts_with("Requests take 1.1 ms on average"), "{found:?}");
    assert_eq!(slowest(&backend(0.011, 3_400.0, 0.0)).stage, Some(1));
    // A request that has not ended yet may wait for ever.
    assert_eq!(slowest(&backend(f64::INFINITY, f64::MIN_POSITIVE, 0.0)).stage, Some(1));
}

#[test]
fn a_backend_that_fails_is_named_first() {
    let mut stages = backend(0.0001, 120.0, 120.0);
    stages[1].is_failing = true;
    let found = slowest(&stages);
    assert!(
        found.reason.starts_with("The backend a fails: 100% of its requests in the last second. R"),
        "{found:?}"
    );
    // The requests have stopped, and nothing has succeeded since.
    let mut stages = backend(0.0, 0.0, 0.0);
    (stages[1].is_failing, stages[1].passed.failed) = (true, Some(799));
    stages[1].passed.records = Some(799);
    let mut other = stages[1].clone();
    (other.name, other.servers_available, other.passed.failed) = ("b".to_owned(), Some(0), Some(0));
    stages.push(other);
    let found = slowest(&stages);
    assert_eq!(
        found.reason,
        "The backend a fails: 799 of 799 requests since the start, the last ones among them. One \
         more backend fails. Nothing flows at the moment."
    );
    assert_eq!(found.stage, None);
}

/// The rates of sources and parsers, of which two threads run.
#[derive(Clone, Copy, Default)]
struct Load {
    /// The share of the time for which the first source waits for room in the queue.
    source_waiting: f64,
    held_bytes: u64,
    read: f64,
    parse: f64,
    parse_waiting: f64,
    append: f64,
    threads: u64,
    has_ended: bool,
}

const QUEUE_BYTES_MAX: u64 = 12_600_000;

impl Load {
    fn stages(self) -> Vec<RouteStage> {
        use RouteStageKind::{Append, Parse, Queue, Read, Source};
        let with_wait = |mut stage: RouteStage, waiting| {
            if let Some(rates) = &mut stage.rates {
                rates.waiting = Some(waiting);
            }
            stage
        };
        let source = with_wait(stage(Source, "big.log", 0.0, 493e6), self.source_waiting);
        let parse = with_wait(stage(Parse, "", self.parse, 493e6), self.parse_waiting);
        vec![
            RouteStage { has_ended: self.has_ended, number: Some("0-0".to_owned()), ..source },
            stage(Read, "", self.read, 0.0),
            RouteStage {
                held_bytes: Some(self.held_bytes),
                held_bytes_max: Some(QUEUE_BYTES_MAX),
                ..stage(Queue, "", 0.0, 0.0)
            },
            RouteStage { threads: Some(self.threads), ..parse },
            stage(Append, "", self.append, 0.0),
        ]
    }
}

#[test]
fn the_slower_of_sources_and_parsers_is_named() {
    let none = Load { threads: 2, ..Load::default() };
    for (load, index, words) in [
        // An upload on two cores, both of which also run the client and the server.
        (
            Load {
                source_waiting: 0.76,
                held_bytes: 10_500_000,
                parse: 1.14,
                parse_waiting: 0.56,
                append: 0.20,
                ..none
            },
            Some(3),
            "which are busy 67% of the time. The source big.log waits for room in the queue 76% of the time",
        ),
        // More threads than free cores: they are occupied for a small share of the time.
        (
            Load { source_waiting: 0.9, parse: 1.9, threads: 16, ..none },
            Some(3),
            "busy 12% of the time. The source big.log waits for room in the queue 90% of the time",
        ),
        (
            Load { held_bytes: 10_500_000, parse: 1.0, ..none },
            Some(3),
            "busy 50% of the time. The queue is 83% full",
        ),
        (Load { parse: 1.7, append: 0.1, read: 0.1, ..none }, Some(3), "busy 95% of the time."),
        (Load { read: 1.0, parse: 0.8, append: 0.1, ..none }, Some(1), "mostly with reading"),
        (Load { read: 0.1, parse: 0.8, append: 1.0, ..none }, Some(4), "mostly with appending"),
        (
            Load { source_waiting: 0.8, parse: 0.4, parse_waiting: 1.4, ..none },
            Some(3),
            "wait 70% of the time for the turn of a block or for readers of the data set",
        ),
        // The parsers wait for blocks for longer than the source for room.
        (
            Load { source_waiting: 0.2, parse: 0.8, ..none },
            Some(0),
            "wait for the source big.log, which delivers 493.0 MB per second",
        ),
        (
            Load { held_bytes: 4_000_000, parse: 0.5, read: 0.1, ..none },
            Some(0),
            "wait for the source big.log",
        ),
        (Load { has_ended: true, ..none }, None, "Nothing flows"),
        (Load { threads: 0, has_ended: true, parse: 1.0, ..none }, None, "Nothing flows"),
    ] {
        let found = slowest(&load.stages());
        assert_eq!(found.stage, index, "{found:?}");
        assert!(found.reason.contains(words), "{words}: {found:?}");
    }
}

#[test]
fn slow_parsers_are_named_beside_a_slow_client() {
    let load = Load { threads: 2, parse: 1.9, source_waiting: 0.9, ..Load::default() };
    let mut stages = vec![stage(RouteStageKind::Client, "a", 1.0, 2e6)];
    stages.extend(load.stages());
    let found = slowest(&stages);
    assert_eq!(found.stage, Some(0));
    assert!(
        found.reason.contains("at 2.0 MB per second. Sources wait for the parsers"),
        "{found:?}"
    );
}

#[test]
fn several_sources_are_counted_and_told_apart() {
    let numbered = |bytes, number: &str| RouteStage {
        number: Some(number.to_owned()),
        ..stage(RouteStageKind::Source, "a.log", 0.0, bytes)
    };
    let mut stages = Load { threads: 2, parse: 0.1, ..Load::default() }.stages();
    stages.extend([numbered(2e6, "0-1"), numbered(800e6, "1-0"), numbered(0.0, "1-1")]);
    let found = slowest(&stages);
    assert_eq!(found.stage, Some(6));
    let words = "for 3 sources, which deliver 1.29 GB per second. The fastest is a.log of data set 1 (number 1-0) with 800.0 MB";
    assert!(found.reason.contains(words), "{found:?}");
    let mut stages =
        Load { threads: 2, parse: 1.9, source_waiting: 0.9, ..Load::default() }.stages();
    stages.push(numbered(2e6, "0-1"));
    let found = slowest(&stages);
    assert!(found.reason.starts_with("2 sources wait for the parsers, which"), "{found:?}");
    assert!(found.reason.contains("The source big.log waits"), "{found:?}");
}

#[test]
fn the_data_set_is_named_if_there_are_several() {
    let load =
        Load { threads: 2, parse: 0.4, parse_waiting: 1.4, source_waiting: 0.8, ..Load::default() };
    let view = |number: &str| RouteStage {
        number: Some(number.to_owned()),
        ..stage(RouteStageKind::View, "", 0.0, 0.0)
    };
    let reason = |views: &[&str]| {
        let mut stages = load.stages();
        stages.extend(views.iter().map(|number| view(number)));
        slowest(&stages).reason
    };
    let one = reason(&["0"]);
    assert!(one.contains("for readers of the data set,"), "{one}");
    assert!(one.contains("The source big.log waits"), "{one}");
    let two = reason(&["0", "1"]);
    assert!(two.contains("for readers of data set 0,"), "{two}");
    assert!(two.contains("The source big.log of data set 0 waits"), "{two}");
    let mut stages = load.stages();
    stages.push(RouteStage {
        number: Some("4-0".to_owned()),
        ..stage(RouteStageKind::Source, "b.log", 0.0, 1e6)
    });
    let both = slowest(&stages).reason;
    assert!(both.contains("for readers of the data sets,"), "{both}");
}
