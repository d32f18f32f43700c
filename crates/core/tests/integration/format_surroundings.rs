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

    /// Nothing around a line makes the detection or the reader panic, and a line that is read has the
    /// client of the line inside.
    #[test]
    fn any_text_around_a_line(head in "[ -~\u{1b}]{0,40}", tail in "[ -~\u{1b}]{0,60}") {
        let log = format!("{head}{COMBINED}{tail}\n").repeat(2);
        let detection = detect(log.as_bytes());
        if let Some(best) = detection.best() {
            let mut parser = LineParser::new(best.format.clone());
            let mut text = Vec::new();
            parser.matches(log.lines().next().unwrap().as_bytes(), &mut text);
        }
    }
}
