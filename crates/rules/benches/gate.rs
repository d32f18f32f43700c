//! Decisions of gates with 100,000 keys, in decisions a second:
//! `cargo bench -p weir-rules --bench gate`.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use weir_core::{Format, LineParser, Record};
use weir_rules::{Gate, GateOptions, RuleFiles, parse_rules};

const KEYS: u32 = 100_000;

/// How many decisions are timed together.
const DECISIONS: usize = 10_000;

const RULES: [&str; 6] = [
    "limit_req_zone $binary_remote_addr zone=one:100m rate=10r/s; limit_req zone=one burst=20;",
    "limit 100 in 1m by client",
    "limit 100 in 1m by client as fixed",
    "limit 100 in 1m by client as two-periods",
    "limit 100 in 1m by client as token-bucket",
    "limit_conn_zone $binary_remote_addr zone=one:100m; limit_conn one 10;",
];

fn main() {
    divan::main();
}

/// Requests in mixed order from clients that the gate already knows.
#[divan::bench(args = 0..RULES.len())]
fn known_keys(bencher: Bencher<'_, '_>, rule: usize) {
    let lines = lines(KEYS);
    let mut traffic = Traffic::new(RULES[rule]);
    (0..KEYS as usize).for_each(|at| traffic.decide(&lines[at]));
    let mut at = 0;
    bencher.counter(ItemsCount::new(DECISIONS)).bench_local(|| {
        for _ in 0..DECISIONS {
            // A stride that visits every line, far from the one before.
            at = (at + 38_177) % lines.len();
            traffic.decide(&lines[at]);
        }
    });
    assert!(traffic.gate.usage().keys <= KEYS as usize);
}

/// Requests from clients that are all new to the gate, which is full.
#[divan::bench(args = 0..RULES.len())]
fn new_keys(bencher: Bencher<'_, '_>, rule: usize) {
    let lines = lines(4 * KEYS);
    let mut traffic = Traffic::new(RULES[rule]);
    let mut at = 0;
    bencher.counter(ItemsCount::new(DECISIONS)).bench_local(|| {
        for _ in 0..DECISIONS {
            at = (at + 1) % lines.len();
            traffic.decide(&lines[at]);
        }
    });
    assert!(traffic.gate.usage().keys <= KEYS as usize);
}

/// Parsing of the records alone, whose time is part of the other numbers.
#[divan::bench]
fn records_alone(bencher: Bencher<'_, '_>) {
    let lines = lines(KEYS);
    let mut parser = parser();
    let mut at = 0;
    bencher.counter(ItemsCount::new(DECISIONS)).bench_local(|| {
        for _ in 0..DECISIONS {
            at = (at + 38_177) % lines.len();
            let mut record = Record::new();
            parser.parse(&lines[at], &mut record).expect("it fits");
            divan::black_box(&record);
        }
    });
}

const FORMAT: &str = r#"$remote_addr "$request""#;

fn parser() -> LineParser {
    LineParser::new(Arc::new(Format::parse(FORMAT).expect("a format")))
}

fn lines(keys: u32) -> Vec<Vec<u8>> {
    let address = |key: u32| std::net::Ipv4Addr::from_bits(0x0a00_0000 + key);
    (0..keys).map(|key| format!("{} \"GET /a HTTP/1.1\"", address(key)).into_bytes()).collect()
}

struct Traffic {
    gate: Box<dyn Gate>,
    parser: LineParser,
    now_ns: i64,
}

impl Traffic {
    fn new(text: &str) -> Self {
        let rules = parse_rules(text, "test", None, &RuleFiles::default()).expect(text);
        let fields = Format::parse(FORMAT).expect("a format").record_fields();
        let options = GateOptions { keys_max: KEYS, ..GateOptions::default() };
        let gate = rules[0].gate(&fields, options).expect("it can be enforced");
        Self { gate, parser: parser(), now_ns: 1_800_000_000_000_000_001 }
    }

    /// Decides about a request, 10 µs after the one before, and ends it.
    fn decide(&mut self, line: &[u8]) {
        let mut record = Record::new();
        self.parser.parse(line, &mut record).expect("it fits");
        self.now_ns += 10_000;
        let decision = self.gate.decide(&record, self.now_ns);
        divan::black_box(&decision.verdict);
        if let Some(place) = decision.place {
            self.gate.release(place);
        }
    }
}
