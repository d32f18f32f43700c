//! A value of another kind than a format states gets no name that states its kind.

use std::collections::BTreeSet;
use std::sync::Arc;

use weir_core::{Field, LineParser, Lines, Record, detect};

use crate::format_support::{catalog, fields};

/// Values whose kinds are a ratio, a time, a host, an identifier, a version of TLS and a media type.
const OTHERS: [&str; 6] =
    ["3.14", "0.012", "www.example.com", "a8f3c9d2e1", "TLSv1.3", "text/html"];

/// The places of the values of a line in text: words, and texts in quotes.
fn values_of(line: &str) -> Vec<std::ops::Range<usize>> {
    let (mut places, mut at) = (Vec::new(), 0);
    while at < line.len() {
        let rest = &line[at..];
        let (start, length) = match rest.as_bytes()[0] {
            b'"' => (1, rest[1..].find('"').unwrap_or(rest.len() - 1)),
            b' ' | b'\t' | b'[' | b']' | b'|' => {
                at += 1;
                continue;
            }
            _ => (0, rest.find([' ', '\t', '[', ']']).unwrap_or(rest.len())),
        };
        places.push(at + start..at + start + length);
        at += 2 * start + length;
    }
    places
}

/// Whether the line itself gives a value its name, as in `host: "a"` and `"method": "a"`.
fn is_named_by_line(before: &str, name: &str) -> bool {
    let before = before.trim_end_matches('"').trim_end_matches([' ', ':']).trim_end_matches('"');
    let words = |letter: char| !letter.is_alphanumeric() && letter != '_';
    before.rsplit(words).next() == Some(name)
}

/// Why a field has the name of another kind of value, if so.
fn wrong_label(name: &str, value: &str) -> bool {
    let is_address = |value: &str| value.parse::<std::net::IpAddr>().is_ok();
    match name {
        "client" => !is_address(value) && matches!(value, "3.14" | "0.012"),
        "host" => matches!(value, "3.14" | "0.012" | "a8f3c9d2e1" | "text/html"),
        "+http_x_forwarded_for" => OTHERS.contains(&value),
        "status" => value.len() != 3 && value != "-" && value != "-1" && value != "0",
        "method" => OTHERS.contains(&value),
        _ => false,
    }
}

#[test]
fn a_value_of_another_kind_is_not_named_by_the_format() {
    let mut wrong = BTreeSet::new();
    for path in catalog() {
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("line: ")).unwrap_or_default();
        if line.is_empty() || line.starts_with('{') || !line.is_ascii() {
            continue;
        }
        for place in values_of(line) {
            for other in OTHERS {
                let changed = [&line[..place.start], other, &line[place.end..], "\n"].concat();
                let log = changed.repeat(4);
                let detection = detect(log.as_bytes());
                let Some(best) = detection.best().filter(|best| best.parsed_lines == best.lines)
                else {
                    continue;
                };
                let mut parser = LineParser::new(Arc::clone(&best.format));
                let mut record = Record::new();
                let first = Lines::new(log.as_bytes()).next().unwrap();
                let mut inside = Vec::new();
                let Ok(inside) = parser.unwrap(first.bytes, &mut inside) else { continue };
                if parser.parse(inside, &mut record).is_err() {
                    continue;
                }
                for (name, value) in fields(&best.format, &record) {
                    let is_named = is_named_by_line(&line[..place.start], &name);
                    if wrong_label(&name, &value) && !is_named {
                        wrong.insert(format!("{} {name}", best.format.name()));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, BTreeSet::new());
}

/// More keys than a format has fields for: the rest is kept as one text, and no line is lost.
#[test]
fn a_tail_of_five_hundred_keys_is_kept() {
    let tail: String = (0..500).map(|key| format!(" key_{key}=value_{key}")).collect();
    let line = format!(
        "192.0.2.7 - - [25/Nov/2020:21:26:18 +0000] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/7\"{tail}"
    );
    let detection = detect(format!("{line}\n").repeat(3).as_bytes());
    let best = detection.best().unwrap();
    let mut record = Record::new();
    LineParser::new(Arc::clone(&best.format)).parse(line.as_bytes(), &mut record).unwrap();
    let kept: Vec<String> = fields(&best.format, &record).into_iter().map(|(_, it)| it).collect();
    let kept = kept.join(" ");
    assert!((0..500).all(|key| kept.contains(&format!("value_{key}"))));
    assert!(best.format.extra_fields().len() <= 65, "{}", best.format.extra_fields().len());
}

/// Colours in the middle of values belong to the values; the line is read.
#[test]
fn colours_inside_values_lose_no_line() {
    let line = "192.0.2.7 - - [25/Nov/2020:21:26:18 +0000] \"GET /a\u{1b}[31mred\u{1b}[0m HTTP/1.1\" 200 512 \"-\" \"cu\u{1b}[1mrl\u{1b}[0m/7\"";
    let detection = detect(format!("{line}\n").repeat(3).as_bytes());
    let best = detection.best().unwrap();
    assert_eq!((best.format.name(), best.parsed_lines), ("COMBINED", 3));
    let mut record = Record::new();
    LineParser::new(Arc::clone(&best.format)).parse(line.as_bytes(), &mut record).unwrap();
    assert_eq!(record.text(Field::Path), Some("/a\u{1b}[31mred\u{1b}[0m".as_bytes()));
    assert_eq!(record.text(Field::Status), Some(&b"200"[..]));
}
