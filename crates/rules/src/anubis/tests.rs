//! Tests of policies, request by request.

use std::sync::Arc;

use weir_core::{Format, LineParser, Record};

use super::{Anubis, Outcome};
use crate::files::RuleFiles;
use crate::report::Verdict;
use crate::rule::Rule;

const POLICY: &str = r#"
bots:
  - name: feeds
    action: ALLOW
    path_regex: ^/feed/[a-z ]+$
  - name: bad-network
    action: DENY
    remote_addresses: ["192.0.2.128/25", "2001:db8::/32"]
  - name: scraper
    action: DENY
    user_agent_regex: (?i:scrapy|bytespider)
  - name: api
    action: ALLOW
    expression:
      all:
        - '"Accept" in headers'
        - path.startsWith("/api/")
  - name: api-tools
    action: DENY
    expression: path.startsWith("/api/") && !userAgent.contains("Mozilla")
  - name: referred
    action: WEIGH
    headers_regex: {Referer: .*}
    weight: {adjust: -3}
  - name: browser
    action: WEIGH
    user_agent_regex: Mozilla
    weight: {adjust: 10}
  - name: hints
    action: WEIGH
    expression: missingHeader(headers, "Sec-Ch-Ua")
  - name: searches
    action: WEIGH
    expression: {any: ['"q" in query', method == "POST"]}
  - name: countries
    action: WEIGH
    geoip: {countries: [BR]}
thresholds:
  - {name: light, expression: weight <= 0, action: ALLOW}
  - {name: middle, expression: {all: [weight > 0, weight < 15]}, action: CHALLENGE}
  - {name: heavy, expression: weight >= 15, action: DENY}
"#;

fn decide(policy: &str, client: &str, request: &str, referer: &str, agent: &str) -> Outcome {
    let rule = Anubis::parse(policy, "test", &RuleFiles::default()).expect(policy);
    let format = r#"$remote_addr [$time_local] "$request" "$http_referer" "$http_user_agent""#;
    let format = Arc::new(Format::parse(format).expect("a format"));
    let fields = format.record_fields();
    let time = "[17/Dec/2025:09:03:01 +0000]";
    let line = format!("{client} {time} \"{request}\" \"{referer}\" \"{agent}\"");
    let mut record = Record::new();
    LineParser::new(format).parse(line.as_bytes(), &mut record).expect("it fits");
    rule.decide(&record, &fields)
}

#[test]
fn rules_decide_in_their_order_and_weights_after_them() {
    let (passed, delayed, rejected, undecided) =
        (Verdict::Passed, Verdict::Delayed, Verdict::Rejected, Verdict::Undecided);
    for (client, request, referer, agent, verdict, weight) in [
        ("192.0.2.200", "GET /feed/a%20b HTTP/1.1", "-", "x", passed, 0),
        ("192.0.2.200", "GET / HTTP/1.1", "-", "x", rejected, 0),
        ("192.0.2.1", "GET / HTTP/1.1", "-", "x", passed, 0),
        ("2001:db8::1", "GET / HTTP/1.1", "-", "x", rejected, 0),
        ("192.0.2.1", "GET / HTTP/1.1", "-", "Scrapy/2", rejected, 0),
        // The log lacks `Accept`, so the rule that allows may match.
        ("192.0.2.1", "GET /api/a HTTP/1.1", "-", "curl", undecided, 0),
        ("192.0.2.1", "GET / HTTP/1.1", "-", "Mozilla/5.0", delayed, 10),
        ("192.0.2.1", "GET / HTTP/1.1", "http://a/", "Mozilla/5.0", delayed, 7),
        ("192.0.2.1", "GET / HTTP/1.1", "http://a/", "-", passed, -3),
        // The lacking header only makes it heavier.
        ("192.0.2.1", "GET /?q=%61 HTTP/1.1", "-", "Mozilla/5.0", rejected, 15),
        ("192.0.2.1", "POST / HTTP/1.1", "-", "Mozilla/5.0", rejected, 15),
    ] {
        let outcome = decide(POLICY, client, request, referer, agent);
        let found = (outcome.verdict, outcome.weight);
        assert_eq!(found, (verdict, weight), "{client} {request} {referer} {agent}: {outcome:?}");
    }
}

#[test]
fn a_lighter_weight_keeps_a_rejection_from_being_certain() {
    let policy = POLICY.replace(
        "expression: missingHeader",
        "weight: {adjust: -5}\n    expression: missingHeader",
    );
    let outcome = decide(&policy, "192.0.2.1", "POST / HTTP/1.1", "-", "Mozilla/5.0");
    assert_eq!(
        (outcome.verdict, outcome.weight, &*outcome.possible),
        (Verdict::Undecided, 15, &[7, 9][..])
    );
}

#[test]
fn a_thousand_weights_are_added_up() {
    let bots: String = (0..1_000)
        .map(|number| {
            let adjust = if number % 2 == 0 { 3 } else { -2 };
            format!("- {{name: w{number}, action: WEIGH, path_regex: ^/, weight: {{adjust: {adjust}}}}}\n")
        })
        .collect();
    let outcome = decide(&bots, "192.0.2.1", "GET / HTTP/1.1", "-", "x");
    assert_eq!((outcome.verdict, outcome.weight), (Verdict::Delayed, 500));
    assert_eq!(outcome.matched.len(), 1_000);
    let most =
        "- {name: a, action: WEIGH, path_regex: ^/, weight: {adjust: 9223372036854775807}}\n";
    let outcome = decide(&most.repeat(3), "192.0.2.1", "GET / HTTP/1.1", "-", "x");
    assert_eq!(outcome.weight, i64::MAX);
}

#[test]
fn json_and_the_weight_that_is_not_said_are_read() {
    let policy = r#"{"bots": [{"name": "a", "action": "WEIGH", "path_regex": "^/"}]}"#;
    assert!(super::looks_like(&policy.replace(", ", ",\n")));
    let outcome = decide(policy, "192.0.2.1", "GET / HTTP/1.1", "-", "x");
    assert_eq!((outcome.verdict, outcome.weight), (Verdict::Delayed, 5));
}

#[test]
fn imports_are_read_in_their_place_and_bounded() {
    let mut files = RuleFiles::default();
    files.add("one.yaml".to_owned(), "- import: ./two.yaml\n");
    files.add("two.yaml".to_owned(), "- name: two\n  action: DENY\n  path_regex: ^/two\n");
    files.add("wrong.yaml".to_owned(), "- name: two\n  action: NOTHING\n  path_regex: ^/two\n");
    files.add("loop.yaml".to_owned(), "- import: loop.yaml\n- import: loop.yaml\n");
    let parse = |text: &str| Anubis::parse(text, "test", &files);
    let rule =
        parse("bots:\n- import: (data)/a/one.yaml\n- import: (data)/none.yaml").expect("rules");
    assert_eq!(rule.policy.bots[0].name, "two");
    assert_eq!(rule.policy.notes.len(), 1);
    assert!(rule.policy.notes[0].message.contains("`none.yaml` is not among the rules"));
    let error = parse("bots:\n- import: wrong.yaml\n").expect_err("an action");
    assert!(error.message.starts_with("wrong.yaml:2: write ALLOW"), "{error}");
    assert_eq!(error.range, 16..26);
    let error = parse("bots:\n- import: loop.yaml\n").expect_err("a loop");
    assert!(error.message.contains("more than 16 files import each other"), "{error}");
    let mut found = Vec::new();
    let missing = super::missing_files("- import: (data)/one.yaml\n- import: x", &mut |name| {
        found.push(name.to_owned());
        files.text(name).map(Arc::from)
    });
    assert_eq!(
        (missing, found),
        (vec!["x".to_owned()], ["one.yaml", "x", "two.yaml"].map(str::to_owned).to_vec())
    );
}

#[test]
fn what_a_log_does_not_tell_is_left_out_by_name() {
    let policy = format!("{POLICY}\ndnsbl: true");
    let policy = policy.replace("method == \"POST\"", "method.reverse() == \"POST\"");
    let rule = Anubis::parse(&policy, "test", &RuleFiles::default()).expect("a policy");
    let left_out: Vec<_> =
        rule.left_out().into_iter().map(|it| (it.reason, it.rules, it.first_ids)).collect();
    let expected = [
        ("`geoip` asks Thoth, a service of Anubis", "countries"),
        ("the function `reverse` is not supported", "searches"),
    ];
    let expected = expected.map(|(reason, name)| (reason.to_owned(), 1, vec![name.to_owned()]));
    assert_eq!(left_out, expected);
    let notes: Vec<&str> = rule.policy.notes.iter().map(|note| &*note.message).collect();
    assert_eq!(
        notes,
        [
            "the function `reverse` is not supported",
            "`dnsbl` asks the network, so what it denies is not known from a log"
        ]
    );
}

#[test]
fn mistakes_are_refused_at_their_place() {
    for (text, place, message) in [
        ("bots: []", "[]", "the policy has no rule"),
        ("- action: DENY\n  path_regex: a", "action: DENY", "a rule needs a `name`"),
        ("- name: a\n  action: Deny\n  path_regex: a", "Deny", "write ALLOW, DENY"),
        ("- name: a\n  action: DENY", "name: a", "the rule matches nothing"),
        ("- name: a\n  action: DENY\n  path_regex: (", "(", "not a regular expression"),
        ("- name: a\n  action: DENY\n  path_regex: |\n    a\n", "a\n", "ends with a line feed"),
        (
            "- name: a\n  action: DENY\n  remote_addresses: [192.0.2.1]",
            "192.0.2.1",
            "write a network",
        ),
        (
            "- name: a\n  action: WEIGH\n  path_regex: a\n  weight: {adjust: x}",
            "{adjust",
            "write `adjust:`",
        ),
        ("- name: a\n  import: b", "a\n", "a rule either imports a file or has conditions"),
        (
            "bots: [{name: a, action: DENY, path_regex: &a a}, {name: b, action: DENY, path_regex: *a}]",
            "*a",
            "an alias is not supported",
        ),
        (
            "bots: [{name: a, action: DENY, path_regex: a}]\nthresholds: [{name: b, action: WEIGH}]",
            "{name: b",
            "a threshold cannot",
        ),
        (
            "bots: [{name: a, action: DENY, path_regex: a}]\nthresholds: [{name: b, action: DENY}]",
            "{name: b",
            "a threshold needs",
        ),
        (
            "bots: [{name: a, action: DENY, path_regex: a}]\nthresholds: [{action: DENY, expression: 'a = b'}]",
            "'a = b'",
            "`=` is not an operator",
        ),
    ] {
        let error = Anubis::parse(text, "test", &RuleFiles::default()).expect_err(text);
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(text[error.range.start..].starts_with(place), "{text}: {:?}", error.range);
    }
}

#[test]
fn what_the_log_does_not_have_keeps_a_rejection_from_being_certain() {
    let deny = "- {name: deny, action: DENY, path_regex: ^/}\n";
    let allow = |condition: &str| format!("- {{name: allow, action: ALLOW, {condition}}}\n");
    let threshold = |name: &str, action: &str, expression: &str| {
        format!("- {{name: {name}, action: {action}, expression: {expression}}}\n")
    };
    let weigh = "bots:\n- {name: w, action: WEIGH, path_regex: ^/, weight: {adjust: 9}}\n";
    let weighed = |more: &str, thresholds: &[String]| {
        format!("{weigh}{more}thresholds:\n{}", thresholds.concat())
    };
    let over = threshold("over", "DENY", "weight > 5");
    let heavy = |adjust: i64| {
        format!(
            "- {{name: x, action: WEIGH, headers_regex: {{X-Foo: .*}}, weight: {{adjust: {adjust}}}}}\n"
        )
    };
    let idle = |action| threshold("idle", action, "weight > 5 && load_1m < 3.0");
    for (policy, verdict, possible) in [
        (allow("asns: {match: [1]}") + deny, Verdict::Undecided, 1),
        (allow("asns: {match: [1]}, path_regex: ^/b") + deny, Verdict::Rejected, 0),
        (format!("- import: none.yaml\n{deny}"), Verdict::Undecided, 1),
        (format!("{deny}- import: none.yaml\n"), Verdict::Rejected, 0),
        (allow("headers_regex: {X-Foo: a}") + deny, Verdict::Undecided, 1),
        (deny.replace("path_regex: ^/", "headers_regex: {X-Foo: a}"), Verdict::Passed, 1),
        (weighed("", &[idle("ALLOW"), over.clone()]), Verdict::Undecided, 1),
        (weighed("", &[idle("DENY"), over.clone()]), Verdict::Rejected, 1),
        (weighed("", &[over.clone(), idle("ALLOW")]), Verdict::Rejected, 0),
        (weighed(&heavy(5), std::slice::from_ref(&over)), Verdict::Rejected, 1),
        (weighed(&heavy(-4), std::slice::from_ref(&over)), Verdict::Undecided, 1),
        // Only one of the sums of both is allowed.
        (
            weighed(
                &(heavy(1) + &heavy(2)),
                &[threshold("ten", "ALLOW", "weight == 11"), over.clone()],
            ),
            Verdict::Undecided,
            2,
        ),
    ] {
        let outcome = decide(&policy, "192.0.2.1", "GET / HTTP/1.1", "-", "x");
        assert_eq!((outcome.verdict, outcome.possible.len()), (verdict, possible), "{policy}");
    }
}

#[test]
fn expressions_are_those_of_go() {
    for (pattern, path, matches) in [
        ("^/a{", "/a{", true),
        (r"\QGoogle.\E$", "/Google.", true),
        (r"\QGoogle.\E$", "/Googles", false),
        (r"^/\w$", "/%C3%A9", false),
        (r"^/[[a-z]+$", "/[a", true),
    ] {
        let policy = format!("- {{name: a, action: DENY, path_regex: '{pattern}'}}");
        let outcome = decide(&policy, "192.0.2.1", &format!("GET {path} HTTP/1.1"), "-", "x");
        assert_eq!(outcome.verdict == Verdict::Rejected, matches, "{pattern} on {path}");
    }
}

#[test]
fn imports_are_found_as_yaml_and_json_have_them_and_bounded() {
    for text in [
        r#"{"bots": [{"import": "(data)/bots/_x.yaml"}, {"name": "import: y.yaml"}]}"#,
        "- import: _x.yaml # a note",
        "bots:\n- import:\n    ./a/_x.yaml\n",
    ] {
        let mut found = Vec::new();
        let missing = super::missing_files(text, &mut |name| {
            found.push(name.to_owned());
            Some(Arc::from("- {name: a, action: DENY, path_regex: ^/}"))
        });
        assert_eq!((missing.len(), found), (0, vec!["_x.yaml".to_owned()]), "{text}");
    }
    assert!(super::looks_like("- import: _x.yaml # a note"));
    let imports = |count: usize| -> String {
        (0..count).map(|number| format!("- import: (data)/{number}.yaml\n")).collect()
    };
    let parse = |text: &str| Anubis::parse(text, "test", &RuleFiles::default());
    let rule = parse(&imports(1_000)).expect("as many as there may be");
    assert_eq!(rule.policy.notes.len(), 20);
    let left_out = rule.left_out();
    assert_eq!((left_out.len(), left_out[0].rules), (1, 1_000));
    let error = parse(&imports(1_001)).expect_err("one more");
    assert!(error.message.contains("more than 1000 imports"), "{error}");
    assert_eq!(super::missing_files(&imports(5_000), &mut |_| None).len(), 1_000);
}
