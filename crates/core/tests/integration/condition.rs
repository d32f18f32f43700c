//! Conditions accept the records that a naive evaluator accepts, and have a normal form.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{
    Block, BlockLimits, BlockReader, Clause, CompiledFilter, Condition, ConditionError, Filter,
    Format, LineParser, Lines, Record, RecordPredicate, Values, parse_rfc3339,
};

const FORMAT: &str =
    "json:time=t,client=c,user=u,method=m,path=p,status=s,bytes=b,request_time=r,trace=x";

/// The columns of the format.
fn columns() -> Values {
    let mut values = Values::new(1 << 20);
    values.add_text_column("trace");
    values
}

/// Reads a time of these tests: RFC 3339 or a day in UTC.
fn time(text: &str) -> Result<(i64, i64), String> {
    const DAY_NS: i64 = 86_400_000_000_000;
    let instant = |text: &str| parse_rfc3339(text.as_bytes()).map(|time| time.unix_ns);
    let day = || instant(&format!("{text}T00:00:00Z")).map(|start| (start, start + DAY_NS - 1));
    let range = instant(text).map(|unix_ns| (unix_ns, unix_ns)).or_else(day);
    range.ok_or_else(|| format!("`{text}` is not a valid time"))
}

pub(crate) fn clause(text: &str) -> Result<Clause, ConditionError> {
    Condition::parse(text)?.clause(&columns(), &time)
}

// The naive evaluator.

/// A record as a naive reader sees it: the text fields, the numbers and the time.
#[derive(Debug, Clone)]
struct Row {
    texts: Vec<(&'static str, Option<String>)>,
    bytes: Option<u64>,
    request_ms: Option<u64>,
    second: u8,
}

impl Row {
    fn text(&self, field: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| *name == field)?.1.as_deref()
    }

    fn line(&self) -> String {
        let keys = [
            ("client", "c"),
            ("user", "u"),
            ("method", "m"),
            ("path", "p"),
            ("status", "s"),
            ("trace", "x"),
        ];
        let mut members = Vec::new();
        for (field, key) in keys {
            members.extend(self.text(field).map(|text| format!("\"{key}\":\"{text}\"")));
        }
        members.extend(self.bytes.map(|bytes| format!("\"b\":{bytes}")));
        members.extend(self.request_ms.map(|ms| format!("\"r\":{}.{:03}", ms / 1_000, ms % 1_000)));
        members.push(format!("\"t\":\"2025-12-17T09:03:{:02}Z\"", self.second));
        format!("{{{}}}\n", members.join(","))
    }
}

/// A condition as a test states it. `text` writes it in the language of conditions, and `accepts`
/// decides by the definition of each word.
#[derive(Debug, Clone)]
enum Stated {
    All(Vec<Stated>),
    Any(Vec<Stated>),
    Not(Box<Stated>),
    /// One of these values, or none of them.
    OneOf(&'static str, Vec<&'static str>, bool),
    Prefix(&'static str, &'static str),
    Contains(&'static str),
    /// Contains a letter, as a regular expression.
    Match(&'static str, &'static str, bool),
    Class(u64, bool),
    Absent(&'static str, bool),
    Status(&'static str, u64),
    /// The text of a size and its bytes.
    Bytes(&'static str, &'static str, u64),
    /// The text of a duration and its milliseconds.
    Duration(&'static str, &'static str, u64),
    Second(&'static str, u8),
    Day,
    /// The text of a block, its network, and the length of the prefix in bits of IPv6.
    Block(&'static str, &'static str, u32),
    Address(&'static str),
}

fn compare<T: Ord>(operator: &str, own: T, other: T) -> bool {
    match operator {
        "=" => own == other,
        "!=" => own != other,
        "<" => own < other,
        "<=" => own <= other,
        ">" => own > other,
        ">=" => own >= other,
        _ => panic!("{operator} is not a comparison"),
    }
}

/// A comparison of a number that may be missing. Only `!=` accepts a record without it.
fn compare_optional<T: Ord>(operator: &str, own: Option<T>, other: T) -> bool {
    own.map_or(operator == "!=", |own| compare(operator, own, other))
}

/// An address of any spelling as 128 bits, IPv4 addresses as IPv4-mapped ones.
fn address_bits(text: &str) -> Option<u128> {
    Some(match text.parse().ok()? {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => Ipv6Addr::to_bits(v6),
    })
}

impl Stated {
    fn text(&self) -> String {
        let joined = |all: &[Self], keyword: &str| {
            all.iter().map(|one| format!("({})", one.text())).collect::<Vec<_>>().join(keyword)
        };
        match self {
            Self::All(all) => joined(all, " and "),
            Self::Any(any) => joined(any, " OR "),
            Self::Not(stated) => format!("not ({})", stated.text()),
            Self::OneOf(field, values, negated) => {
                let values: Vec<String> =
                    values.iter().map(|value| format!("\"{value}\"")).collect();
                format!("{field} {} {}", if *negated { "!=" } else { "=" }, values.join(", "))
            }
            Self::Prefix(field, prefix) => format!("{field}^=\"{prefix}\""),
            Self::Contains(word) => format!("'{word}'"),
            Self::Match(field, letter, negated) => {
                format!("{field}{}({letter}|{letter}{letter})", if *negated { "!~" } else { "~" })
            }
            Self::Class(class, true) => format!("status:{class}xx"),
            Self::Class(class, false) => format!("status_class={class}XX"),
            Self::Absent(field, true) => format!("{field}=(none)"),
            Self::Absent(field, false) => format!("{field}!=(none)"),
            Self::Status(operator, status) => format!("status{operator}{status}"),
            Self::Bytes(operator, text, _) => format!("bytes{operator}{text}"),
            Self::Duration(operator, text, _) => format!("request_time{operator}{text}"),
            Self::Second(operator, second) => {
                format!("time{operator}2025-12-17T09:03:{second:02}Z")
            }
            Self::Day => "time=2025-12-17".to_owned(),
            Self::Block(text, ..) | Self::Address(text) => format!("client={text}"),
        }
    }

    fn accepts(&self, row: &Row) -> bool {
        match self {
            Self::All(all) => all.iter().all(|one| one.accepts(row)),
            Self::Any(any) => any.iter().any(|one| one.accepts(row)),
            Self::Not(stated) => !stated.accepts(row),
            Self::OneOf(field, values, negated) => {
                row.text(field).is_some_and(|text| values.contains(&text)) != *negated
            }
            Self::Prefix(field, prefix) => {
                row.text(field).is_some_and(|text| text.starts_with(prefix))
            }
            Self::Contains(word) => row.texts.iter().any(|(_, text)| {
                let text = text.as_deref().unwrap_or_default();
                text.to_lowercase().contains(&word.to_lowercase())
            }),
            Self::Match(field, letter, negated) => {
                row.text(field).is_some_and(|text| text.contains(letter)) != *negated
            }
            Self::Class(class, _) => {
                let status = row.text("status").and_then(|text| text.parse::<u64>().ok());
                status.is_some_and(|status| status / 100 == *class)
            }
            Self::Absent(field, is_absent) => {
                let value = match *field {
                    "bytes" => row.bytes.map(|_| ()),
                    "request_time" => row.request_ms.map(|_| ()),
                    "time" => Some(()),
                    field => row.text(field).map(|_| ()),
                };
                value.is_none() == *is_absent
            }
            Self::Status(operator, status) => {
                let own = row.text("status").and_then(|text| text.parse::<u64>().ok());
                own.is_some_and(|own| compare(operator, own, *status))
            }
            Self::Bytes(operator, _, bytes) => compare_optional(operator, row.bytes, *bytes),
            Self::Duration(operator, _, ms) => compare_optional(operator, row.request_ms, *ms),
            Self::Second(operator, second) => compare(operator, row.second, *second),
            Self::Day => true,
            Self::Block(_, network, bits) => {
                let [own, network] =
                    [row.text("client").unwrap_or("none"), network].map(address_bits);
                let host_bits = 128 - bits;
                own.is_some_and(|own| own >> host_bits == network.expect("an address") >> host_bits)
            }
            Self::Address(text) => {
                let own = address_bits(row.text("client").unwrap_or("none"));
                own.is_some_and(|own| Some(own) == address_bits(text))
            }
        }
    }
}

const CLIENTS: [&str; 7] = [
    "192.0.2.7",
    "192.0.2.200",
    "::ffff:192.0.2.7",
    "2001:db8::7",
    "2001:DB8:0:0::7",
    "198.51.100.1",
    "host",
];
const TEXTS: [&str; 7] = ["", "a", "/a", "/A?q=1", "none", "(none)", "b c"];
const STATUSES: [&str; 5] = ["200", "404", "499", "503", "000"];
const TEXT_FIELDS: [&str; 3] = ["user", "path", "trace"];
const OPERATORS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

fn row() -> impl Strategy<Value = Row> {
    let maybe = |values: &'static [&'static str]| prop::option::of(prop::sample::select(values));
    let texts = (
        prop::sample::select(&CLIENTS[..]),
        maybe(&TEXTS),
        maybe(&["GET", "POST"]),
        maybe(&TEXTS[1..3]),
        prop::sample::select(&STATUSES[..]),
        maybe(&TEXTS),
    );
    let bytes =
        prop::option::of(prop::sample::select(&[0u64, 1, 999, 1_000, 1_024, 1_500_000][..]));
    let ms = prop::option::of(prop::sample::select(&[0u64, 200, 1_500][..]));
    (texts, bytes, ms, 0u8..60).prop_map(|(texts, bytes, request_ms, second)| {
        let (client, user, method, path, status, trace) = texts;
        let texts = [
            ("client", Some(client)),
            ("user", user),
            ("method", method),
            ("path", path),
            ("status", Some(status)),
            ("trace", trace),
        ];
        let texts = texts.map(|(field, text)| (field, text.map(str::to_owned))).to_vec();
        Row { texts, bytes, request_ms, second }
    })
}

fn stated() -> impl Strategy<Value = Stated> {
    let field = || prop::sample::select(&TEXT_FIELDS[..]);
    let operator = || prop::sample::select(&OPERATORS[..]);
    let sizes = [("0", 0), ("1kB", 1_000), ("1KiB", 1_024), ("1.5MB", 1_500_000), ("999", 999)];
    let durations = [("0.2", 200), ("200ms", 200), ("1.5s", 1_500), ("0", 0), ("2m", 120_000)];
    let blocks = [
        ("192.0.2.0/24", "192.0.2.0", 120),
        ("192.0.2.99/25", "192.0.2.0", 121),
        ("::ffff:192.0.2.0/120", "192.0.2.0", 120),
        ("2001:db8::/32", "2001:db8::", 32),
    ];
    let leaf = prop_oneof![
        (field(), prop::collection::vec(prop::sample::select(&TEXTS[..]), 1..3), any::<bool>())
            .prop_map(|(field, values, negated)| Stated::OneOf(field, values, negated)),
        (field(), prop::sample::select(&TEXTS[1..]))
            .prop_map(|(field, text)| Stated::Prefix(field, text)),
        prop::sample::select(&["A", "get", "b C", "404", "zz", "(N"][..])
            .prop_map(Stated::Contains),
        (field(), prop::sample::select(&["a", "q", "/"][..]), any::<bool>())
            .prop_map(|(field, letter, negated)| Stated::Match(field, letter, negated)),
        (1u64..6, any::<bool>()).prop_map(|(class, short)| Stated::Class(class, short)),
        (
            prop::sample::select(&["user", "trace", "bytes", "request_time", "time"][..]),
            any::<bool>()
        )
            .prop_map(|(field, is_absent)| Stated::Absent(field, is_absent)),
        (prop::sample::select(&["<", "<=", ">", ">="][..]), 199u64..505)
            .prop_map(|(operator, status)| Stated::Status(operator, status)),
        (operator(), prop::sample::select(sizes.to_vec()))
            .prop_map(|(operator, (text, bytes))| Stated::Bytes(operator, text, bytes)),
        (operator(), prop::sample::select(durations.to_vec()))
            .prop_map(|(operator, (text, ms))| Stated::Duration(operator, text, ms)),
        (operator(), 0u8..60).prop_map(|(operator, second)| Stated::Second(operator, second)),
        Just(Stated::Day),
        prop::sample::select(blocks.to_vec())
            .prop_map(|(text, network, bits)| Stated::Block(text, network, bits)),
        prop::sample::select(&CLIENTS[..6]).prop_map(Stated::Address),
    ];
    leaf.prop_recursive(4, 12, 3, |stated| {
        prop_oneof![
            prop::collection::vec(stated.clone(), 1..4).prop_map(Stated::All),
            prop::collection::vec(stated.clone(), 1..4).prop_map(Stated::Any),
            stated.prop_map(|stated| Stated::Not(Box::new(stated))),
        ]
    })
}

/// The numbers of the records that a clause accepts, as rows of a segment and one at a time.
fn accepted(clause: Clause, log: &str) -> [Vec<usize>; 2] {
    let format = Arc::new(Format::parse(FORMAT).expect("a valid format"));
    let filter = Filter::of(vec![clause]);
    let mut values = columns();
    let mut reader = BlockReader::new(format.clone(), BlockLimits::default(), &mut values);
    let segment = reader.read_segment(&Block::new(log.as_bytes().to_vec()), 0, &mut values);
    let mut compiled = CompiledFilter::new(&filter);
    compiled.refresh(&values);
    let mut rows = Vec::new();
    compiled.select(&segment).for_each(|row| rows.push(row));
    let columns = columns();
    let predicate = RecordPredicate::new(&filter, &columns, &format);
    let mut parser = LineParser::new(format);
    let mut record = Record::new();
    let mut records = Vec::new();
    for (number, line) in Lines::new(log.as_bytes()).enumerate() {
        parser.parse(line.bytes, &mut record).expect("every line is a record");
        if predicate.accepts(&record) {
            records.push(number);
        }
    }
    [rows, records]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn conditions_accept_what_they_state(
        rows in prop::collection::vec(row(), 1..30),
        stated in stated(),
    ) {
        let log: String = rows.iter().map(Row::line).collect();
        let expected: Vec<usize> =
            (0..rows.len()).filter(|number| stated.accepts(&rows[*number])).collect();
        let text = stated.text();
        let condition = Condition::parse(&text).expect("a valid condition");
        let normal = condition.to_string();
        let again = Condition::parse(&normal).expect("a normal form");
        prop_assert_eq!(&again, &condition, "a normal form is read as the same tree");
        let unread = |text: &str| Err(format!("`{text}` has no instant"));
        let with_instants =
            condition.with_instants(&time).and_then(|it| it.clause(&columns(), &unread));
        for clause in [clause(&text), clause(&normal), with_instants] {
            // Conditions that no record can meet are refused.
            match clause {
                Ok(clause) => {
                    let [rows, records] = accepted(clause, &log);
                    prop_assert_eq!(&rows, &expected, "{}\n{}", text, &log);
                    prop_assert_eq!(&records, &expected, "{}\n{}", text, &log);
                }
                Err(error) => {
                    let is_impossible = error.message.starts_with("a record has one")
                        || error.message.ends_with("=0");
                    prop_assert!(is_impossible, "{}", error);
                }
            }
        }
    }

    /// The text is within the limits; its normal form may be longer or nested more deeply.
    #[test]
    fn every_normal_form_is_a_condition(
        parts in prop::collection::vec(0..6_usize, 0..140),
        repeated in 0_usize..5_000,
    ) {
        let opening = ["not ", "(a or b and ", "(a and ", "(time=2025-12-17 or ", "not (", "("];
        let text: String = parts.iter().map(|part| opening[*part]).collect();
        let brackets = parts.iter().filter(|part| **part > 0).count();
        let text = format!("{text}x=\"{}\"{}", "\u{1}".repeat(repeated), ")".repeat(brackets));
        if let Ok(condition) = Condition::parse(&text) {
            let normal = condition.to_string();
            prop_assert!(normal.len() <= Condition::BYTES_MAX);
            prop_assert_eq!(Condition::parse(&normal), Ok(condition));
        }
    }

    #[test]
    fn a_normal_form_keeps_the_name_of_a_field(name in "(not|and|OR|a)?[a-z0-9(). :=!~<>,^&|_-]{1,6}") {
        let condition = Condition::parse(&format!("not (\"{name}\"=x and y)")).expect("a condition");
        let again = Condition::parse(&condition.to_string()).expect("a normal form");
        prop_assert_eq!(&condition.fields()[0].field, &name);
        prop_assert_eq!(&again.fields()[0].field, &name, "{}", condition);
        prop_assert_eq!(again, condition);
    }

    #[test]
    fn every_text_is_a_condition_or_an_error_inside_of_it(text in r#"[a-z=!~<>^:,()"'\\ *0-9/.]{0,40}"#) {
        match Condition::parse(&text) {
            Err(error) => {
                prop_assert!(error.range.start <= error.range.end && error.range.end <= text.len());
                prop_assert_eq!(error.excerpt(&text).lines().count(), 2);
            }
            Ok(condition) => {
                prop_assert_eq!(Condition::parse(&condition.to_string()), Ok(condition));
            }
        }
    }
}

#[test]
fn the_normal_form_keeps_what_was_meant() {
    let cases = [
        ("status = 404 ,403", "status=404,403"),
        ("status:404", "status=404"),
        ("a and b or c", "(a and b) or c"),
        ("NOT (a AND (b))", "not (a and b)"),
        ("path~^/(a|b)$ and (c)", "path~^/(a|b)$ and c"),
        ("user_agent~(?i)bot", "user_agent~(?i)bot"),
        ("user_agent~(none).", "user_agent~(none)."),
        (r"path~[(] or path~\)", r"path~[(] or path~\)"),
        ("path=/a=b", "path=/a=b"),
        ("path=\"/a b\\\"\\xff\"", "path=\"/a b\\\"\\xff\""),
        ("path~'a b'", "path~'a b'"),
        ("cs(Referer)=x", "cs(Referer)=x"),
        ("\"a b\"=x", "\"a b\"=x"),
        ("path^:x", "\"path^\"=x"),
        ("'not(a'=x", "\"not(a\"=x"),
        (r"path !~ ='\\", r#"path!~"='\\""#),
        (r#"path~('\"a"#, r#"path~"('\"a""#),
        ("a or path~(b and c", "a or (path~'(b' and c)"),
        ("time>=2025-12-17 09:03 and x", "time>=\"2025-12-17 09:03\" and x"),
        ("time>=2h 30min ago", "time>=\"2h 30min ago\""),
        (r"time~\0 Dec 925 5 1:0", r"time~'\0 Dec 925 5 1:0'"),
        (r"time~'\0 Dec 925 5 1:0'", r"time~'\0 Dec 925 5 1:0'"),
        ("http://example.com/a", "http://example.com/a"),
        ("2001:db8::1", "2001:db8::1"),
        ("09:03:01", "09:03:01"),
        ("referer=(NONE),(empty),-", "referer=(none),(empty),-"),
        ("\"status\"", "\"status\""),
    ];
    for (text, normal) in cases {
        assert_eq!(Condition::parse(text).map(|c| c.to_string()), Ok(normal.to_owned()), "{text}");
    }
}
