//! Requests as a gate sees them on arrival, and as they are logged after their answers.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{Format, LineParser, Record, Timestamp};
use weir_rules::{
    Decision, Events, Gate, GateOptions, GateVerdict, Line, Rule, RuleFiles, Verdict, parse_rules,
};

/// The fields of a request that are known on arrival.
const ARRIVING: &str = r#"$remote_addr "$request" $http_x_key"#;

/// The fields that are logged after the answer. The times are those of arrivals.
const ANSWERED: &str = r#"%h %t "%r" %{X-Key}i %>s %D"#;

/// A request: when it arrives and how long it takes, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) now_ns: i64,
    pub(super) duration_ns: u64,
    pub(super) client: &'static str,
    pub(super) path: &'static str,
    /// A header; `-` if there is none.
    pub(super) key: &'static str,
}

/// The decision about a request: the verdict, the delay in milliseconds, and the key.
pub(super) type Decided = (Verdict, Option<u64>, Vec<u8>);

pub(super) fn rule(text: &str) -> Box<dyn Rule> {
    parse_rules(text, "test", None, &RuleFiles::default()).expect(text).remove(0)
}

pub(super) fn gate_with(rule: &dyn Rule, options: GateOptions) -> Box<dyn Gate> {
    let format = Format::parse(ARRIVING).expect("a format");
    rule.gate(&format.record_fields(), options).expect("it can be enforced")
}

/// Parses lines into records.
pub(super) struct Parser(LineParser);

impl Parser {
    pub(super) fn of_arrivals() -> Self {
        Self::of(ARRIVING)
    }

    fn of(format: &str) -> Self {
        Self(LineParser::new(Arc::new(Format::parse(format).expect("a format"))))
    }

    pub(super) fn parse<'l>(&mut self, line: &'l str, record: &mut Record<'l>) {
        self.0.parse(line.as_bytes(), record).expect("the line fits");
    }
}

pub(super) fn arriving_line(request: &Request) -> String {
    format!(r#"{} "GET {} HTTP/1.1" {}"#, request.client, request.path, request.key)
}

/// The decisions of a gate about requests in the order of their arrival, and the times for which
/// they were made. Places are released when their requests end.
pub(super) fn decide(gate: &mut dyn Gate, requests: &[Request]) -> Vec<(Decided, i64)> {
    let mut parser = Parser::of_arrivals();
    let mut places = Vec::new();
    let mut decided = Vec::new();
    let mut last_ns = i64::MIN;
    for request in requests {
        let arrival_ns = request.now_ns.max(last_ns.saturating_add(1));
        for ended in (0..places.len()).rev() {
            let (end_ns, _) = places[ended];
            if end_ns <= arrival_ns {
                gate.release(places.swap_remove(ended).1);
            }
        }
        let line = arriving_line(request);
        let mut record = Record::new();
        parser.parse(&line, &mut record);
        let decision = gate.decide(&record, request.now_ns);
        let (verdict, delay_ms) = match decision.verdict {
            GateVerdict::Passed => (Verdict::Passed, Some(0)),
            GateVerdict::Delayed { delay_ms } => (Verdict::Delayed, Some(delay_ms)),
            GateVerdict::Rejected { .. } => (Verdict::Rejected, None),
        };
        decided.push(((verdict, delay_ms, decision.key.to_vec()), decision.arrival_ns));
        last_ns = decision.arrival_ns;
        let end_ns = last_ns + request.duration_ns as i64;
        places.extend(decision.place.map(|place| (end_ns, place)));
    }
    decided
}

/// The decisions of a replay over the log of requests that arrived at some times, in the order of
/// the requests. It is logged in the order of their ends. Requests without a limit passed.
pub(super) fn replay(rule: &dyn Rule, requests: &[Request], arrivals_ns: &[i64]) -> Vec<Decided> {
    let format = Format::parse(ANSWERED).expect("a format");
    let fields = format.record_fields();
    let mut observer = rule.bind(&fields).expect("the log has the fields");
    let mut parser = Parser::of(ANSWERED);
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|at| arrivals_ns[*at] + requests[*at].duration_ns as i64);
    let mut events = Events::default();
    for (number, at) in order.iter().enumerate() {
        let Request { duration_ns, client, path, key, .. } = &requests[*at];
        let time = "[17/Dec/2025:09:03:01 +0000]";
        let line =
            format!(r#"{client} {time} "GET {path} HTTP/1.1" {key} 200 {}"#, duration_ns / 1_000);
        let mut record = Record::new();
        parser.parse(&line, &mut record);
        record.time = Some(Timestamp { unix_ns: arrivals_ns[*at], offset_s: 0 });
        let line = Line { number: number as u64, bytes: line.as_bytes(), record: Some(&record) };
        observer.observe(&line, &mut events);
    }
    let mut replay = rule.replay();
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut decided = vec![(Verdict::Passed, Some(0), Vec::new()); requests.len()];
    replay.finish(Some(&mut |decision: &Decision<'_>| {
        let at = order[decision.line as usize - 1];
        let delay_ms = decision.delay_ms.filter(|_| decision.verdict != Verdict::Rejected);
        decided[at] = (decision.verdict, delay_ms, decision.key.to_vec());
    }));
    decided
}

/// The arrival of the first request of [`requests`], which is not a whole second.
pub(super) const START_NS: i64 = 1_800_000_000_000_000_001;

/// Requests of a few clients in bursts, with pauses, and with a clock that stands still and goes
/// back.
pub(super) fn requests() -> impl Strategy<Value = Vec<Request>> {
    const MS: i64 = 1_000_000;
    let pause_ns = prop_oneof![
        4 => Just(0),
        6 => 0..300 * MS,
        3 => 0..3_000 * MS,
        2 => -2_000 * MS..0,
        1 => 50_000 * MS..130_000 * MS,
    ];
    // The log has them in microseconds.
    let duration_ns = prop_oneof![3 => Just(0), 2 => 1..400_000u64, 1 => 1..9_000_000u64]
        .prop_map(|microseconds| microseconds * 1_000);
    let client =
        prop::sample::select(&["192.0.2.7", "192.0.2.8", "198.51.100.9", "2001:db8::1"][..]);
    let path = prop::sample::select(&["/", "/api/a", "/api/b", "/gone"][..]);
    let key = prop::sample::select(&["a", "a", "b", "-"][..]);
    let request = (pause_ns, duration_ns, client, path, key);
    prop::collection::vec(request, 1..100).prop_map(|requests| {
        let mut now_ns = START_NS;
        let request = |(pause_ns, duration_ns, client, path, key)| {
            now_ns += pause_ns;
            Request { now_ns, duration_ns, client, path, key }
        };
        requests.into_iter().map(request).collect()
    })
}
