//! Known lines with values after them or parts before them.

use std::sync::Arc;

use proptest::prelude::*;
use weir_core::{Field, Format, LineParser, Lines, Record, detect};

use crate::format_support::{check_cases, fields, golden};

const COMBINED: &str =
    r#"192.0.2.7 - - [25/Nov/2020:21:26:18 +0000] "GET /a?b=c HTTP/1.1" 200 512 "-" "curl/7""#;

#[test]
fn golden_cases() {
    check_cases(&golden("surroundings.txt"));
}

/// What the detected format and its definition, pasted to `--format`, read of a line.
fn read_both_ways(line: &str) -> [Vec<(String, String)>; 2] {
    let detected = detect(line.as_bytes()).best().unwrap().format.clone();
    let pasted = Arc::new(Format::parse(detected.definition()).unwrap());
    [detected, pasted].map(|format| {
        let mut record = Record::new();
        LineParser::new(format.clone()).parse(line.as_bytes(), &mut record).unwrap();
        let mut fields = fields(&format, &record);
        fields.sort();
        fields
    })
}

#[test]
fn the_definition_reads_the_same_when_it_is_pasted() {
    for tail in [
        r#"rt=0.012 uct="0.001" uht="0.010" urt="0.010, 0.002" cs=HIT"#,
        "300 700",
        r#""203.0.113.9, 10.0.0.1" 0.012"#,
        r#""www.example.com" [default-web-80] duration_ms=35 took=7"#,
        "took=1.5ms status=ok user=jo",
    ] {
        let [detected, pasted] = read_both_ways(&format!("{COMBINED} {tail}"));
        assert_eq!(detected, pasted, "{tail}");
    }
}

/// A value of a kind whose meaning no name tells.
fn values() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "3.14",
        "0.012",
        "12",
        "1203",
        "-",
        "www.example.com",
        "172.18.0.7:5000",
        "a8f3c9d2",
        "TLSv1.3",
        "HIT",
        "2020-11-25T21:26:18Z",
        "text/html",
        "default-web-80",
    ])
}

proptest! {
    /// Values without a name become no known field, whatever they look like, and none is lost.
    #[test]
    fn unnamed_values_are_only_kept(tails in prop::collection::vec(
        prop::collection::vec((values(), any::<bool>()), 1..5), 1..20,
    )) {
        let text = |(value, is_quoted): &(&str, bool)| match is_quoted {
            true => format!("\"{value}\""),
            false => (*value).to_owned(),
        };
        let line = |tail: &Vec<_>| {
            let tail: Vec<String> = tail.iter().map(text).collect();
            format!("{COMBINED} {}\n", tail.join(" "))
        };
        let log: String = tails.iter().map(line).collect();
        let best = detect(log.as_bytes()).best().unwrap().format.clone();
        let mut parser = LineParser::new(best.clone());
        for (line, tail) in Lines::new(log.as_bytes()).zip(&tails) {
            let mut record = Record::new();
            prop_assert!(parser.parse(line.bytes, &mut record).is_ok(), "{}: {log}", best.name());
            prop_assert_eq!(record.text(Field::Host), None);
            prop_assert!(Field::DURATIONS.iter().all(|field| record.number(*field).is_none()));
            let kept: Vec<_> = fields(&best, &record)
                .into_iter()
                .filter(|(name, _)| name.starts_with('+'))
                .collect();
            let are_addresses =
                kept.iter().filter(|(name, _)| name == "+http_x_forwarded_for").all(|(_, it)| it == "-");
            prop_assert!(are_addresses, "{:?}", kept);
            prop_assert_eq!(kept.len(), tail.len());
        }
    }

    /// A line that is read has the values of the line inside, whatever stands around it, and keeps
    /// each word of the text after it.
    #[test]
    fn any_text_around_a_line(
        head in prop_oneof![Just(String::new()), "[ -~\u{1b}]{0,40}", "([a-z]{1,3}[ |:]{1,2}){0,4}"],
        tail in prop_oneof![Just(String::new()), "[ -~\u{1b}]{0,60}", "( [a-z\"=]{1,6}){0,6}"],
    ) {
        let log = format!("{head}{COMBINED}{tail}\n").repeat(2);
        let detection = detect(log.as_bytes());
        let Some(best) = detection.best() else { return Ok(()) };
        let mut parser = LineParser::new(best.format.clone());
        let mut record = Record::new();
        let line = log.lines().next().unwrap();
        prop_assert!(parser.parse(line.as_bytes(), &mut record).is_ok(), "{}: {line}", best.format.name());
        let found = fields(&best.format, &record);
        let value = |name: &str| {
            found.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value.as_str())
        };
        // A word right before the address is a part of the client's name, and one right after the agent
        // a part of the agent.
        let client = [&head, "192.0.2.7"].concat();
        let client = client.rsplit([' ', '\t', 'm']).next().unwrap();
        prop_assert!(client.ends_with(value("client")), "{line}: {found:?}");
        prop_assert!(value("client").ends_with("192.0.2.7"), "{line}: {found:?}");
        for (name, expected) in [
            ("time", "2020-11-25T21:26:18Z"),
            ("method", "GET"),
            ("path", "/a"),
            ("query", "b=c"),
            ("protocol", "HTTP/1.1"),
            ("status", "200"),
            ("bytes", "512"),
            ("referer", "-"),
        ] {
            prop_assert_eq!(value(name), expected, "{}: {:?}", line, found);
        }
        prop_assert!(value("user_agent").starts_with("curl/7"), "{line}: {found:?}");
        let kept: String = found.iter().map(|(name, value)| format!("{name} {value} ")).collect();
        let is_letter = |byte: char| byte.is_ascii_alphanumeric();
        for word in tail.split(|byte| !is_letter(byte)).filter(|word| !word.is_empty()) {
            prop_assert!(kept.contains(word), "{word} of {line}: {found:?}");
        }
    }
}
