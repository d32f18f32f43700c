//! Lists and limits over the lines of a log, from the text of a rule to its report.

use std::fmt::Write;
use std::sync::Arc;

use weir_core::{Format, LineParser, Record};
use weir_rules::{Decision, Events, Exactness, Line, RuleFiles, RuleReport, Verdict, parse_rules};

const FORMAT: &str = r#"$remote_addr $msec "$request" "$http_user_agent" $cookie_id"#;

/// A line of the log, at a second.
fn line(client: &str, second: u64, path: &str, agent: &str) -> String {
    format!("{client} {second}.001 \"GET {path} HTTP/1.1\" \"{agent}\" secret")
}

/// Replays a rule over lines. Returns the verdicts with their keys, and the report.
fn replay(rule: &str, lines: &[String]) -> (Vec<(String, Verdict)>, RuleReport) {
    let rules = parse_rules(rule, "test", None, &RuleFiles::default()).expect(rule);
    let format = Arc::new(Format::parse(FORMAT).expect("a format"));
    let mut observer = rules[0].bind(&format.record_fields()).expect("the log has the fields");
    let mut parser = LineParser::new(format);
    let (mut events, mut record) = (Events::default(), Record::new());
    for (number, line) in lines.iter().enumerate() {
        parser.parse(line.as_bytes(), &mut record).expect(line);
        let (number, bytes) = (number as u64, line.as_bytes());
        observer.observe(&Line { number, bytes, record: Some(&record) }, &mut events);
    }
    let mut replay = rules[0].replay();
    for event in events.iter() {
        replay.take(0, event.line + 1, &event);
    }
    let mut decided = Vec::new();
    let report = replay.finish(Some(&mut |decision: &Decision<'_>| {
        decided.push((String::from_utf8_lossy(decision.key).into_owned(), decision.verdict));
    }));
    (decided, report)
}

#[test]
fn the_first_entry_that_matches_decides() {
    let rule = "allow 10.1.0.0/16;\ndeny 10.0.0.0/8;\nallow where path=/free\n\
                deny where user_agent~Bad\ndeny 2001:db8::/32;\n";
    let lines = [
        line("10.1.2.3", 1, "/", "Bad"),
        line("10.2.2.3", 2, "/free", "x"),
        line("192.0.2.1", 3, "/free", "Bad"),
        line("192.0.2.1", 4, "/", "Bad"),
        line("2001:db8::1", 5, "/", "x"),
        line("192.0.2.2", 6, "/", "x"),
        line("-", 7, "/", "x"),
    ];
    let (decided, report) = replay(rule, &lines);
    let rejected: Vec<usize> =
        (1..).zip(&decided).filter(|(_, it)| it.1 == Verdict::Rejected).map(|it| it.0).collect();
    assert_eq!(rejected, [2, 4, 5]);
    assert_eq!((report.requests.passed, report.requests.rejected), (4, 3));
    assert_eq!((report.keys.seen, report.keys.tripped), (6, 3));
    let mut entries: Vec<_> =
        report.trips.iter().filter_map(|trip| trip.limit.as_deref()).collect();
    entries.sort_unstable();
    assert_eq!(entries, ["10.0.0.0/8", "2001:db8::/32", "user_agent~Bad"]);
}

#[test]
fn a_list_of_a_hundred_thousand_networks_is_read() {
    let mut list = String::from("# a list\n");
    for number in 0..100_000_u32 {
        let [_, a, b, c] = (number * 8).to_be_bytes();
        writeln!(list, "{}.{a}.{b}.{c}/29 ; {number}", 20 + number % 2).expect("it is a string");
    }
    let lines = [line("20.0.0.7", 1, "/", "x"), line("20.0.0.8", 2, "/", "x")];
    let (decided, _) = replay(&list, &lines);
    let verdicts: Vec<Verdict> = decided.iter().map(|it| it.1).collect();
    assert_eq!(verdicts, [Verdict::Rejected, Verdict::Passed]);
}

#[test]
fn limits_have_keys_and_conditions() {
    let rule = "limit 1 in 10s by client/24, path and hash(cookie_id) where user_agent~Bad";
    let lines = [
        line("192.0.2.1", 1, "/a b", "Bad"),
        line("192.0.2.2", 2, "/ab", "Bad"),
        line("192.0.2.3", 3, "/ab", "x"),
        line("192.0.2.4", 4, "/ab", "Bad"),
        line("198.51.100.1", 5, "/ab", "Bad"),
    ];
    let lines: Vec<String> = lines.iter().map(|line| line.replace("/a b", "/a%20b")).collect();
    let (decided, report) = replay(rule, &lines);
    let verdicts: Vec<Verdict> = decided.iter().map(|it| it.1).collect();
    use Verdict::{Passed, Rejected};
    assert_eq!(verdicts, [Passed, Passed, Rejected, Passed]);
    assert!(decided[1].0.starts_with("192.0.2.0/24 /ab "), "{}", decided[1].0);
    assert!(!decided[1].0.contains("secret"), "{}", decided[1].0);
    assert_eq!(report.trips.len(), 1);
    assert_eq!((report.trips[0].line, report.trips[0].peak), (4, 2.0));
}

#[test]
fn a_field_that_the_log_lacks_is_named() {
    let format = Format::parse(FORMAT).expect("a format");
    for (rule, message) in [
        ("limit 1 in 1s by clientt", "`clientt`; did you mean `client`?"),
        ("limit 1 in 1s where hots=a", "no field `hots`"),
        ("limit 1 at once", "add $request_time to log_format"),
        ("deny where http_x=a", "no field `http_x`"),
        ("SecRule REQUEST_HEADERS:X-A a \"id:7,deny\"", "rule 7: the log has no field `http_x_a`"),
    ] {
        let rules = parse_rules(rule, "test", None, &RuleFiles::default()).expect(rule);
        let error = rules[0].bind(&format.record_fields()).err().expect(rule);
        assert!(error.message.contains(message), "{rule}: {error}");
    }
}

#[test]
fn rules_that_match_are_counted() {
    let rule = "SecRule REQUEST_FILENAME \"@contains .git\" \"id:7,deny\"\n\
                SecRule REQUEST_HEADERS:User-Agent \"@pm bad\" \"id:8,pass\"\n\
                SecRule REQUEST_BODY \"@rx x\" \"id:9,deny\"\n";
    let lines = [
        line("192.0.2.1", 1, "/.git/config", "Bad"),
        line("192.0.2.1", 2, "/", "Bad"),
        line("192.0.2.2", 3, "/", "x"),
    ];
    let (decided, report) = replay(rule, &lines);
    assert_eq!(decided[0].1, Verdict::Rejected);
    assert_eq!((report.requests.passed, report.requests.rejected), (2, 1));
    assert_eq!(report.trips[0].limit.as_deref(), Some("rule 7"));
    assert!(report.notes.iter().any(|note| note == "rule 8 matched 1 request, and lets them pass"));
    assert!(report.notes.iter().any(|note| note.starts_with("1 rule cannot be told")));
}

#[test]
fn a_rule_whose_header_the_log_lacks_is_left_out() {
    let rule = "SecRule &REQUEST_HEADERS:X-A \"@eq 0\" \"id:7,deny\"\n\
                SecRule REQUEST_FILENAME \"@streq /bad\" \"id:8,deny\"\n";
    let lines = [line("192.0.2.1", 1, "/", "x"), line("192.0.2.1", 2, "/bad", "x")];
    let (decided, report) = replay(rule, &lines);
    let verdicts: Vec<Verdict> = decided.iter().map(|it| it.1).collect();
    assert_eq!(verdicts, [Verdict::Passed, Verdict::Rejected]);
    let note = "1 rule cannot be told from this log";
    assert!(report.notes.iter().any(|it| it.starts_with(note)), "{report:?}");
    assert_eq!(report.exactness, Exactness::Bounded);
}
