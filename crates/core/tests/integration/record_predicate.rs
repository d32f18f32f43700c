//! A filter accepts the same lines in records and in segments.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    AddressBlock, Block, BlockLimits, BlockReader, Clause, CompiledFilter, Field, Filter, Format,
    LineParser, Lines, Record, RecordKind, RecordPredicate, TextTest, Values,
};

/// Every field is logged; `-` stands for values that are not there.
const NGINX: &str = r#"$remote_addr $remote_user [$time_iso8601] "$request" $status $body_bytes_sent "$http_referer" "$http_x_trace" $request_time $upstream_response_time"#;

/// A line may lack any key but `t` and `s`.
const JSON: &str = "json:time=t,client=c,user=u,method=m,path=p,status=s,bytes=b,request_time=r,upstream_time=v,trace=x";

/// No record has a time, a number or an extra field.
const BARE_JSON: &str = "json:client=c,path=p,status=s";

/// A column that one format fills, and one that no format does.
const EXTRA_COLUMNS: [&str; 2] = ["trace", "other"];

const CLIENTS: [&str; 6] = ["192.0.2.7", "192.0.2.200", "198.51.100.1", "2001:db8::7", "host", "-"];
const TEXTS: [&str; 7] = ["-", "a", "/a", "/a?q=1", "/ab/c", "404x", "b%20c"];
const STATUSES: [&str; 6] = ["200", "404", "499", "503", "000", "-"];
const NUMBERS: [&str; 6] = ["-", "0", "1", "7", "1000", "18446744073709551615"];
const DURATIONS: [&str; 5] = ["-", "0.000", "0.001", "1.250", "30.000"];

/// The values of one line; an absent one is omitted or logged as `-`.
#[derive(Debug, Clone)]
struct Row {
    client: &'static str,
    user: Option<&'static str>,
    second: u8,
    method: &'static str,
    target: &'static str,
    status: Option<&'static str>,
    bytes: Option<&'static str>,
    trace: Option<&'static str>,
    request_time: Option<&'static str>,
    upstream_time: Option<&'static str>,
}

impl Row {
    fn time(&self) -> String {
        format!("2025-12-17T09:03:{:02}+00:00", self.second)
    }

    fn nginx(&self) -> String {
        let logged = |value: Option<&'static str>| value.unwrap_or("-");
        // A method alone is not a request line.
        let protocol = if self.method == "-" { "" } else { " HTTP/1.1" };
        format!(
            "{} {} [{}] \"{} {}{protocol}\" {} {} \"-\" \"{}\" {} {}\n",
            self.client,
            logged(self.user),
            self.time(),
            self.method,
            self.target,
            self.status.unwrap_or("000"),
            logged(self.bytes),
            logged(self.trace),
            logged(self.request_time),
            logged(self.upstream_time),
        )
    }

    fn json(&self) -> String {
        let keys = [
            ("c", Some(self.client)),
            ("u", self.user),
            ("m", Some(self.method)),
            ("p", Some(self.target)),
            ("s", self.status),
            ("b", self.bytes),
            ("r", self.request_time),
            ("v", self.upstream_time),
            ("x", self.trace),
        ];
        let keys =
            keys.iter().filter_map(|(key, value)| Some(format!("\"{key}\":\"{}\"", (*value)?)));
        let time = format!("\"t\":\"{}\"", self.time());
        format!("{{{}}}\n", keys.chain([time]).collect::<Vec<_>>().join(","))
    }
}

fn row() -> impl Strategy<Value = Row> {
    let maybe = |values: &'static [&'static str]| prop::option::of(prop::sample::select(values));
    let fields = (
        prop::sample::select(&CLIENTS[..]),
        maybe(&TEXTS),
        0u8..60,
        prop::sample::select(&["GET", "POST", "-"][..]),
        prop::sample::select(&TEXTS[..]),
        maybe(&STATUSES),
        maybe(&NUMBERS),
        maybe(&TEXTS),
        maybe(&DURATIONS),
        maybe(&DURATIONS),
    );
    fields.prop_map(|fields| {
        let (client, user, second, method, target, status, bytes, trace, request, upstream) =
            fields;
        Row {
            client,
            user,
            second,
            method,
            target,
            status,
            bytes,
            trace,
            request_time: request,
            upstream_time: upstream,
        }
    })
}

fn text_test() -> impl Strategy<Value = TextTest> {
    let value = || {
        let texts = [&TEXTS[..], &CLIENTS[..], &STATUSES[..], &[""]].concat();
        prop::sample::select(texts).prop_map(|text| text.as_bytes().to_vec())
    };
    let blocks = &["192.0.2.0/24", "192.0.2.0/25", "2001:db8::/32", "0.0.0.0/0"][..];
    let block = prop::sample::select(blocks)
        .prop_map(|text| AddressBlock::parse(text).expect("a valid address block"));
    let expressions = &["^/a", "a|4", "^$", r"\d{3}", "-", "(?i)GE?T"][..];
    let test = prop_oneof![
        prop::collection::vec(value(), 0..3).prop_map(TextTest::OneOf),
        value().prop_map(TextTest::Prefix),
        prop::sample::select(expressions)
            .prop_map(|text| TextTest::matches(text).expect("a valid expression")),
        (prop::collection::vec(block, 1..3), prop::collection::vec(value(), 0..2))
            .prop_map(|(blocks, values)| TextTest::InBlocks(blocks, values)),
        (0u64..600, 0u64..600).prop_map(|(min, max)| TextTest::Between(min, max)),
        Just(TextTest::Present),
        prop::sample::select(&["ge", "B%", "/A", "-", "404"][..])
            .prop_map(|text| TextTest::contains(text).expect("a short text")),
    ];
    test.prop_recursive(1, 4, 3, |test| prop::collection::vec(test, 0..3).prop_map(TextTest::Any))
}

fn clause() -> impl Strategy<Value = Clause> {
    let mut columns = Field::TEXT.map(Field::name).to_vec();
    columns.extend(EXTRA_COLUMNS);
    let text = (prop::sample::select(columns), text_test(), any::<bool>()).prop_map(
        |(column, test, negated)| {
            Clause::text(&values(), column, test, negated).expect("the column exists")
        },
    );
    let bound = prop_oneof![
        prop::sample::select(&[0, 1, 7, 1_000, 1_000_000, 1_250_000_000, u64::MAX][..]),
        any::<u64>(),
    ];
    // Bounds in the wrong order are an empty range.
    let ranges = prop::collection::vec((bound.clone(), bound), 0..3);
    let number = (prop::sample::select(&Field::NUMBERS[..]), ranges)
        .prop_map(|(field, ranges)| Clause::Number { column: field.column(), ranges });
    // 2025-12-17T09:03:00Z.
    let instant =
        prop_oneof![(-5i64..65).prop_map(|s| (1_765_962_180 + s) * 1_000_000_000), any::<i64>()];
    let time = (instant.clone(), instant)
        .prop_map(|(first_ns, last_ns)| Clause::Time { first_ns, last_ns });
    let any_text = text_test().prop_map(Clause::AnyText);
    let leaf = prop_oneof![4 => text, 2 => number, 1 => time, 1 => any_text];
    leaf.prop_recursive(3, 8, 3, |clause| {
        let some = || prop::collection::vec(clause.clone(), 0..3);
        prop_oneof![
            some().prop_map(Clause::All),
            some().prop_map(Clause::Any),
            clause.clone().prop_map(|clause| Clause::Not(Box::new(clause))),
        ]
    })
}

/// The columns of all formats of these tests.
fn values() -> Values {
    let mut values = Values::new(1 << 20);
    for column in EXTRA_COLUMNS {
        values.add_text_column(column);
    }
    values
}

/// The numbers of the parsed lines that the filter selects in a segment.
fn selected_rows(filter: &Filter, format: &Arc<Format>, log: &str) -> Vec<usize> {
    let mut values = values();
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let read = reader.read(&Block::new(log.as_bytes().to_vec()), 0);
    let resolved = reader.resolve(read, || &mut values);
    let segment = reader.seal(resolved).into_segment();
    let mut compiled = CompiledFilter::new(filter);
    compiled.refresh(&values);
    let mut rows = Vec::new();
    compiled.select(&segment).for_each(|row| rows.push(row));
    rows
}

/// The numbers of the parsed lines that the predicate accepts.
fn accepted_records(filter: &Filter, format: &Arc<Format>, log: &str) -> Vec<usize> {
    let predicate = RecordPredicate::new(filter, &values(), format);
    let copy = predicate.to_static();
    let mut parser = LineParser::new(format.clone());
    let mut record = Record::new();
    let mut accepted = Vec::new();
    let mut records = 0;
    for line in Lines::new(log.as_bytes()) {
        if parser.parse(line.bytes, &mut record).is_ok() {
            let is_accepted = predicate.accepts(&record);
            assert_eq!(copy.accepts(&record), is_accepted, "a copy accepts the same");
            if is_accepted {
                accepted.push(records);
            }
            records += 1;
        }
    }
    accepted
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_and_segments_agree(
        rows in prop::collection::vec(row(), 1..40),
        clauses in prop::collection::vec(clause(), 0..4),
        kind in prop::option::weighted(0.3, prop::sample::select(&RecordKind::ALL[..])),
    ) {
        let filter = Filter { kind, clauses };
        let nginx: String = rows.iter().map(Row::nginx).collect();
        let json: String = rows.iter().map(Row::json).collect();
        for (definition, log) in [(NGINX, &nginx), (JSON, &json), (BARE_JSON, &json)] {
            let format = Arc::new(Format::parse(definition).expect("a valid format"));
            prop_assert_eq!(
                accepted_records(&filter, &format, log),
                selected_rows(&filter, &format, log),
                "{} {}", definition, log
            );
        }
    }
}

#[test]
fn the_generated_lines_are_records() {
    let row = Row {
        client: "192.0.2.7",
        user: None,
        second: 1,
        method: "-",
        target: "/a",
        status: Some("404"),
        bytes: None,
        trace: Some("a"),
        request_time: Some("1.250"),
        upstream_time: None,
    };
    for (definition, line) in [(NGINX, row.nginx()), (JSON, row.json()), (BARE_JSON, row.json())] {
        let format = Arc::new(Format::parse(definition).expect("a valid format"));
        assert_eq!(accepted_records(&Filter::default(), &format, &line), [0], "{line}");
    }
}
