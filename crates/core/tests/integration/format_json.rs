//! JSON lines: golden cases, and what durations and other values are taken for.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{Field, Format, LineParser, Record, absent_keys, detect};

use crate::format_support::{check_cases, fields, golden};

#[test]
fn golden_cases() {
    check_cases(&golden("json.txt"));
}

#[test]
fn golden_cases_of_members() {
    check_cases(&golden("members.txt"));
}

/// The fields that detection finds in a line with this member, by name, and the request time.
fn read_member(key: &str, value: &str) -> (Vec<(String, String)>, Option<u64>) {
    let line = format!(
        r#"{{"time":"2025-12-17T09:03:01Z","remote_addr":"192.0.2.7","method":"GET","path":"/a","status":200,"{key}":{value}}}"#
    );
    let format = detect(line.as_bytes()).best().unwrap().format.clone();
    let (mut memory, mut record) = (Vec::new(), Record::new());
    let mut parser = LineParser::new(format.clone());
    parser.parse_decoding(line.as_bytes(), &mut memory, &mut record).unwrap();
    (fields(&format, &record), record.number(Field::RequestTime))
}

#[test]
fn a_duration_has_the_unit_of_its_key_or_its_value() {
    const MS: u64 = 1_000_000;
    for (key, value, expected) in [
        ("request_time", "0.012", Some(12 * MS)),
        ("request_time", "\"0.012\"", Some(12 * MS)),
        ("duration_ms", "35", Some(35 * MS)),
        ("duration_us", "35", Some(35_000)),
        ("duration_ns", "35", Some(35)),
        ("duration_s", "0.5", Some(500 * MS)),
        ("duration_seconds", "0.5", Some(500 * MS)),
        ("latency_us", "1500.5", Some(1_500_500)),
        ("time-taken", "7", Some(7 * MS)),
        ("ms", "7", Some(7 * MS)),
        ("duration", "\"12ms\"", Some(12 * MS)),
        ("duration", "\"1.5 s\"", Some(1_500 * MS)),
        ("latency_human", "\"131.415\u{b5}s\"", Some(131_415)),
        ("elapsed", "\"1m0.5s\"", Some(60_500 * MS)),
        ("duration", "35", None),
        ("duration", "\"35\"", None),
        ("latency", "131415", None),
        ("responseTime", "7.5", None),
        ("elapsed", "3", None),
        ("took", "3", None),
        ("response_time", "0.5", None),
    ] {
        let (fields, request_time_ns) = read_member(key, value);
        assert_eq!(request_time_ns, expected, "{key} {value}");
        let own = (format!("+{key}"), value.trim_matches('"').to_owned());
        assert_eq!(fields.contains(&own), expected.is_none(), "{fields:?}");
    }
}

#[test]
fn keys_that_no_line_has_are_named() {
    let json = "{\"t\":\"2025-12-17T09:03:01Z\",\"s\":200,\"n\":null}\n{\"x\":1}\n";
    let logfmt = "t=2025-12-17T09:03:01Z s=200\n";
    for (definition, text, keys) in [
        ("json:time=t,status=s,path=n", json, &[][..]),
        ("json:time=t,status=s,path=p|n", json, &[]),
        ("json:time=t,status=s,path=p|u,host=h,method=m.x", json, &["p", "h", "m.x"]),
        ("json:time=t,status=code!", json, &["code"]),
        ("json:time=t,status=s,path=p in SYSLOG", json, &[]),
        ("logfmt:time=t,status=s,path=p", logfmt, &["p"]),
        ("json:time=t,status=s,path=p", logfmt, &[]),
        ("$remote_addr $status", json, &[]),
        ("JSON", json, &[]),
    ] {
        let format = Arc::new(Format::parse(definition).expect("a format"));
        assert_eq!(absent_keys(&format, text.as_bytes()), keys, "{definition}");
    }
}

#[test]
fn nested_objects_and_long_keys_cost_no_more_than_their_bytes() {
    let text = "x".repeat(200);
    let nested = |key: usize| {
        let inside = format!("{{\"m{key}\":\"{{\\\"n\\\":\\\"a {text}\\\"}}\"}}");
        format!("{{\"a\":{inside},\"b\":{inside},\"c\":{inside}}}\n")
    };
    let long = format!("{{\"{}\":{{\"k\":1}}}}\n", "p".repeat(30_000));
    for log in [(0..1_000).map(nested).collect::<String>(), long.repeat(10)] {
        assert!(detect(log.as_bytes()).best().is_none());
    }
}

/// Values of other kinds than durations, and what they are without their quotes.
fn other_values() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "3.14",
        "12",
        "\"HIT\"",
        "\"www.example.com\"",
        "\"192.0.2.9\"",
        "\"a8f3c9d2\"",
        "\"2020-11-25T21:26:18Z\"",
        "true",
        "\"\"",
        "\"a b c\"",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A value of another kind changes no number, and stays a value of its own or is named.
    #[test]
    fn a_value_of_another_kind_gets_no_label(
        key in prop::sample::select(vec![
            "duration", "latency", "elapsed", "response_time", "responseTime", "took", "cache",
            "upstream_addr", "x", "duration_ratio", "bytes_in",
        ]),
        value in other_values(),
    ) {
        let (fields, request_time_ns) = read_member(key, value);
        prop_assert_eq!(request_time_ns, None);
        for (name, known) in [
            ("client", "192.0.2.7"), ("method", "GET"), ("path", "/a"), ("status", "200"),
            ("time", "2025-12-17T09:03:01Z"),
        ] {
            prop_assert!(fields.contains(&(name.to_owned(), known.to_owned())), "{:?}", fields);
        }
        let text = value.trim_matches('"');
        let is_kept = fields.contains(&(format!("+{key}"), text.to_owned()));
        let is_named = fields.contains(&("+unread_members".to_owned(), key.to_owned()));
        prop_assert!(is_kept || is_named || text.is_empty(), "{key} {value}: {fields:?}");
        prop_assert_eq!(fields.len(), if is_kept || is_named { 6 } else { 5 });
    }
}
