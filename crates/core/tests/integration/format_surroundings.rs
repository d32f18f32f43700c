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

#[test]
fn golden_cases_of_public_lines() {
    check_cases(&golden("further.txt"));
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

/// What the detected format and its suggested definition, pasted to `--format`, read of each line.
fn read_suggested(lines: &[String]) -> Vec<[Vec<(String, String)>; 2]> {
    let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let detected = detect(log.as_bytes()).best().unwrap().format.clone();
    let suggested =
        detected.suggested_definition().unwrap_or_else(|| panic!("{}", detected.name()));
    let pasted = Format::parse(suggested).unwrap_or_else(|error| panic!("{error}"));
    let formats = [detected.clone(), Arc::new(pasted)];
    let read = |line: &String| {
        formats.each_ref().map(|format| {
            let mut record = Record::new();
            let read = LineParser::new(format.clone()).parse(line.as_bytes(), &mut record);
            read.unwrap_or_else(|_| panic!("{line}: {suggested}"));
            let mut fields = fields(format, &record);
            fields.sort();
            fields
        })
    };
    lines.iter().map(read).collect()
}

#[test]
fn the_suggestion_reads_all_lines_as_they_were_read() {
    let tails = |tails: &[&str]| tails.iter().map(|tail| format!("{COMBINED} {tail}")).collect();
    let heads = |heads: &[&str]| heads.iter().map(|head| format!("{head}{COMBINED}")).collect();
    for lines in [
        tails(&["rt=0.012 urt=\"0.010, 0.002\" cs=HIT", "urt=0.1 a=b rt=0.001", "cs=MISS 7"]),
        tails(&["300 [web-80] \"x y\"", "301", "302 [web-81] \"z\" 9 10"]),
        tails(&["status=ok user=jo uri=/x http_referer=y upstream_response_time=none"]),
        tails(&["\"203.0.113.9, 10.0.0.1\" duration_ms=35", "\"-\" duration_ms=7"]),
        heads(&["web-1  | ", "database-12 | "]),
        heads(&["[pod/web-5d/nginx] 2025-12-17T09:03:01.25Z ", "[pod/a/b] 2025-12-17T09:03:02Z "]),
        heads(&["Dec 17 09:03:01.123456 web nginx[7]: ", "Dec  7 09:03:01.000001 db nginx[8]: "]),
        heads(&["203.0.113.9, 198.51.100.7 ", "203.0.113.8 ", "203.0.113.7 "]),
        heads(&["\"a b\" [c] 1765962181 ", "\"d\" [e] 1765962182 "]),
    ] {
        let lines: Vec<String> = lines;
        for [detected, pasted] in read_suggested(&lines) {
            let same = |fields: Vec<(String, String)>| -> Vec<(String, String)> {
                let plain = |(name, value): (String, String)| (name.replace("_text", ""), value);
                fields.into_iter().map(plain).collect()
            };
            assert_eq!(same(detected), same(pasted), "{lines:?}");
        }
    }
    let wrapped: Vec<String> = (1..9)
        .map(|second| format!("<190>Dec 17 09:03:0{second} web nginx: {COMBINED} {second} [x]"))
        .collect();
    assert_eq!(read_suggested(&wrapped).len(), 8);
}

#[test]
fn mistakes_in_what_stands_around_a_line_are_errors_at_their_place() {
    for (definition, column, message) in [
        ("COMBINED and 2 more values", 14, "write the name of a value here"),
        ("COMBINED and ", 14, "write the values that follow the line"),
        ("COMBINED and $a rt=$", 20, "must follow the `$`"),
        ("COMBINED and $a rt=x", 20, "write the name of a value here"),
        ("COMBINED and rt=${request_time(m)}", 19, "`m` is not a kind of this field"),
        ("COMBINED after web", 16, "write TIME or a name here"),
        ("COMBINED after [pod/$a/b]", 16, "write TIME or a name here"),
        ("HAPROXY and $a", 13, "no values may follow the lines of HAPROXY"),
        ("W3C after TIME", 5, "nothing may stand around the lines of W3C"),
    ] {
        let error = Format::parse(definition).unwrap_err();
        assert!(error.message().contains(message), "{definition}: {error}");
        assert_eq!(error.column(), column, "{error}");
    }
    let format =
        Format::parse("COMBINED and rt=$request_time $_a after TIME $host_name: in CRI").unwrap();
    assert_eq!(format.name(), "COMBINED and 2 more values after time and program in CRI");
    assert_eq!(format.extra_fields(), ["_a", "extra_more", "host_name"]);
}

#[test]
fn a_definition_is_made_of_values_whose_form_tells_what_they_are() {
    for (lines, expected) in [
        (
            &[
                "2025-12-17 09:03:01,123 INFO 192.0.2.7:443 \"GET /a HTTP/1.1\" 200 17",
                "2025-12-17 09:03:02,001 WARN 192.0.2.8:9 \"POST /b HTTP/1.1\" 404 -",
            ][..],
            Some(
                "${time(%Y-%m-%d)} ${time(%H:%M:%S)},${_=fraction} $extra_1 ${client(port)} \"$request\" $status $extra_2",
            ),
        ),
        (
            &[
                "ip=192.0.2.7 at=[17/Dec/2025:09:03:01 +0000] took=12",
                "ip=192.0.2.8 at=[17/Dec/2025:09:03:01 +0000] took=13",
            ],
            Some("ip=$remote_addr at=[$time_local] took=$extra_1"),
        ),
        (
            &[
                "1765962181.250 GET /a done well",
                "1765962181.251 GET /b done",
                "1765962181.252 PUT /c not at all done",
            ],
            Some("$msec $request_method $request_uri $message"),
        ),
        // A time alone says nothing of requests; nor does an address alone.
        (&["2025-12-17T09:03:01Z started"], None),
        (&["192.0.2.7 started"], None),
        (&["a,b,c", "1,2,3"], None),
        (&["$remote_addr 1"], None),
        (&[""], None),
        (&[], None),
    ] {
        let made = weir_core::suggest_format(lines.iter().map(|line| line.as_bytes()));
        assert_eq!(made.as_ref().map(|it| it.definition.as_str()), expected, "{lines:?}");
        if let Some(made) = made {
            assert!(made.parsed_lines * 2 > made.lines, "{made:?}");
        }
    }
    let mut lines = vec!["1765962181.250 192.0.2.7 /a"; 19];
    lines.insert(3, "a line that does not fit");
    let made = weir_core::suggest_format(lines.iter().map(|line| line.as_bytes())).unwrap();
    assert_eq!(made.definition, "$msec $remote_addr $request_uri");
    assert_eq!((made.lines, made.parsed_lines), (20, 19));
}

#[test]
fn a_definition_is_made_of_lines_whose_client_is_in_doubt() {
    let lines = [7, 8].map(|last| {
        format!(
            "[17/Dec/2025:09:03:01 +0000] 10.0.0.1 192.0.2.{last} 0.10 \"GET /a HTTP/1.1\" 200 5000"
        )
    });
    assert!(detect(lines.join("\n").as_bytes()).best().is_none());
    let made = weir_core::suggest_format(lines.iter().map(|line| line.as_bytes())).unwrap();
    let definition = "[$time_local] $remote_addr $extra_1 $extra_2 \"$request\" $status $extra_3";
    assert_eq!(made.definition, definition);
    assert_eq!((made.lines, made.parsed_lines), (2, 2));
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

#[test]
fn brackets_that_do_not_close_cost_no_more_than_others() {
    let open = " [".repeat(500_000);
    let closed_late = format!("{open} x]y");
    let format = detect(format!("{COMBINED} [a] 5").as_bytes()).best().unwrap().format.clone();
    let raw_quotes = COMBINED.replace("/a?", "/a\"?");
    for tail in [open, closed_late] {
        let line = format!("{COMBINED}{tail}");
        let mut record = Record::new();
        LineParser::new(format.clone()).parse(line.as_bytes(), &mut record).unwrap();
        assert_eq!(record.extra(2).map(<[u8]>::len), Some(tail.len() - 5));
        let combined = Arc::new(weir_core::format_by_name("COMBINED").unwrap());
        let line = format!("{raw_quotes}{tail}\"");
        let mut record = Record::new();
        LineParser::new(combined).parse(line.as_bytes(), &mut record).unwrap();
        let agent = record.text(Field::UserAgent).map(<[u8]>::len);
        assert_eq!(agent, Some("curl/7\"".len() + tail.len()));
    }
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

    /// Whatever lines are made of, a definition that is made from them compiles and fits most.
    #[test]
    fn a_made_definition_fits(lines in prop::collection::vec(
        prop::collection::vec(prop::sample::select(vec![
            "192.0.2.7", "2025-12-17T09:03:01Z", "2025-12-17", "09:03:01", "[x", "\"GET /a\"", "\"",
            "200", "-", "=$x", "a=1", "/p", "\t", "$", "é", "[17/Dec/2025:09:03:01 +0000]",
        ]), 0..9),
        1..9,
    )) {
        let lines: Vec<String> = lines.iter().map(|words| words.join(" ")).collect();
        let made = weir_core::suggest_format(lines.iter().map(|line| line.as_bytes()));
        if let Some(made) = made {
            let format = Format::parse(&made.definition).unwrap();
            prop_assert!(format.fills(Field::Time));
            prop_assert!(made.parsed_lines * 2 > made.lines && made.parsed_lines <= made.lines);
        }
    }

    /// A line that is read has the values of the line inside, whatever stands around it, and keeps
    /// each word of the text after it.
    #[test]
    fn any_text_around_a_line(
        head in prop_oneof![Just(String::new()), "[ -~\u{1b}]{0,40}", "([a-z]{1,3}[ |:]{1,2}){0,4}"],
        tail in prop_oneof![Just(String::new()), "[ -~\u{1b}]{0,60}", "( [a-z\"=]{1,6}){0,6}"],
    ) {
        // A size of three digits has no name where the line is read by its form alone.
        let combined = COMBINED.replace(" 512 ", " 5120 ");
        let log = format!("{head}{combined}{tail}\n").repeat(2);
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
            ("bytes", "5120"),
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
