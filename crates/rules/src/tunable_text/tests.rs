use super::{TextSettings, TunableText};
use crate::files::RuleFiles;
use crate::parse::parse_rules;
use crate::settings::RuleSettings;

const SECOND_NS: u64 = 1_000_000_000;

fn text(rule: &str, number: usize) -> TunableText {
    let files = RuleFiles::default();
    let parsed = parse_rules(rule, "rule", None, &files).expect(rule);
    let settings = TextSettings::of_rules(&parsed);
    TunableText::new(rule, "rule", None, &files, (&settings, number)).expect(rule)
}

fn changed(rule: &str, number: usize, wanted: (u64, u64, Option<u64>)) -> Option<String> {
    let rule = text(rule, number);
    let (threshold, seconds, refill) = wanted;
    let own = rule.own().expect("settings");
    let settings = RuleSettings { threshold, period_ns: seconds * SECOND_NS, refill, ..own };
    let changed = rule.with(settings)?;
    let found = TextSettings::of_rules(std::slice::from_ref(&changed.rule));
    assert!(found.iter().any(|it| it.settings == Some(settings)), "{}", changed.text);
    Some(changed.text)
}

#[test]
fn settings_are_changed_in_the_language_of_the_rule() {
    for (rule, wanted, expected) in [
        (
            "limit 100 requests in 1m by client # 100",
            (40, 10, None),
            "limit 40 requests in 10s by client # 100",
        ),
        (
            "limit 5 in 10s by client as token-bucket burst 20",
            (33, 10, Some(50)),
            "limit 50 in 10s by client as token-bucket burst 33",
        ),
        (
            "rate_limit {\n zone a {\n  key {remote_host}\n  window 60s\n  events 60\n }\n}",
            (7, 10, None),
            "rate_limit {\n zone a {\n  key {remote_host}\n  window 10s\n  events 7\n }\n}",
        ),
        (
            "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
             http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt 20 }\n",
            (90, 60, None),
            "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(60s)\n \
             http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt 90 }\n",
        ),
        (
            "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
             http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) ge 20 }\n",
            (90, 10, None),
            "backend b\n stick-table type ip size 1m expire 10s store http_req_rate(10s)\n \
             http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) ge 91 }\n",
        ),
        (
            "type: leaky\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
             groupby: evt.Meta.source_ip\ncapacity: 5\nleakspeed: 10s\n",
            (44, 5, Some(1)),
            "type: leaky\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
             groupby: evt.Meta.source_ip\ncapacity: 44\nleakspeed: 5s\n",
        ),
        (
            "rateLimit:\n  average: 10\n  period: 10s\n  burst: 50\n",
            (70, 10, Some(20)),
            "rateLimit:\n  average: 20\n  period: 10s\n  burst: 70\n",
        ),
        (
            "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above 10/sec \
             --hashlimit-burst 20 --hashlimit-mode srcip --hashlimit-name http -j DROP",
            (44, 1, Some(5)),
            "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above 5/sec \
             --hashlimit-burst 44 --hashlimit-mode srcip --hashlimit-name http -j DROP",
        ),
        (
            "sub vcl_recv {\n if (vsthrottle.is_denied(client.identity, 15, 10s)) {\n  \
             return (synth(429));\n }\n}",
            (30, 60, Some(30)),
            "sub vcl_recv {\n if (vsthrottle.is_denied(client.identity, 30, 60s)) {\n  \
             return (synth(429));\n }\n}",
        ),
        (
            "[a]\nfailregex = ^<HOST> 10m 5\nmaxretry = 5\nfindtime = 10m\nbantime = 10m\n",
            (12, 3_600, None),
            "[a]\nfailregex = ^<HOST> 10m 5\nmaxretry = 12\nfindtime = 60m\nbantime = 10m\n",
        ),
    ] {
        assert_eq!(changed(rule, 0, wanted).as_deref(), Some(expected), "{rule}");
    }
}

#[test]
fn a_jail_gets_the_lines_that_it_leaves_to_defaults() {
    let jail = "[a]\nfailregex = ^<HOST> x\n";
    let expected = "[a]\nfindtime = 3600\nmaxretry = 12\nfailregex = ^<HOST> x\n";
    assert_eq!(changed(jail, 0, (12, 3_600, None)).as_deref(), Some(expected));
    let two = "[DEFAULT]\nmaxretry = 3\n[a]\nfailregex = ^<HOST> x\n[b]\nfailregex = ^<HOST> y\n";
    let second = changed(two, 1, (9, 600, None)).expect("the second jail");
    assert!(
        second.ends_with("[b]\nfindtime = 600\nmaxretry = 9\nfailregex = ^<HOST> y\n"),
        "{second}"
    );
}

#[test]
fn one_of_several_limits_is_changed() {
    let rule = "limit_req_zone $remote_addr zone=a:1m rate=10r/s;\n\
                limit_req_zone $uri zone=b:1m rate=10r/s;\n\
                limit_req zone=a burst=20 nodelay;\nlimit_req zone=b burst=20;\n";
    let expected = rule.replace("b:1m rate=10", "b:1m rate=50").replace("b burst=20", "b burst=7");
    assert_eq!(changed(rule, 1, (7, 1, Some(50))).as_deref(), Some(&*expected));
}

#[test]
fn the_numbers_of_a_large_text_are_found() {
    use std::fmt::Write;
    let jails = (0..400).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "[j{number}]\nfailregex = ^<HOST> {number} 5\nmaxretry = 5");
        text
    });
    let changed_jail = changed(&jails, 399, (9, 600, None)).expect("the last jail");
    assert!(changed_jail.ends_with("^<HOST> 399 5\nmaxretry = 9\n"), "only that");
    let padding = "# 100 requests in 1m of 192.0.2.5:100\n".repeat(3_000);
    let long = format!("{padding}limit 100 requests in 1m by client\n{padding}");
    let expected = format!("{padding}limit 40 requests in 10s by client\n{padding}");
    assert_eq!(changed(&long, 0, (40, 10, None)), Some(expected));
}

#[test]
fn one_of_thousands_of_lines_is_changed() {
    let line = |number: usize| format!("limit 5 requests in 1m by client where path^=/p{number}\n");
    let lines: String = (0..2_000).map(line).collect();
    let changed = changed(&lines, 1_999, (7, 30, None)).expect("it has the numbers");
    assert_eq!(changed.lines().count(), 2_000);
    assert!(changed.ends_with("limit 7 requests in 30s by client where path^=/p1999\n"));
    assert!(changed.starts_with("limit 5 requests in 1m"));
}

#[test]
fn what_the_text_does_not_have_is_not_changed() {
    let traefik = "rateLimit:\n  average: 10\n";
    assert_eq!(changed(traefik, 0, (9, 1, Some(10))), None, "the burst is a default");
    assert!(changed(traefik, 0, (1, 1, Some(20))).is_some());
    let twice = "limit 5 in 1m by client\nlimit 5 in 1m by path";
    let expected = "limit 5 in 1m by client\nlimit 6 in 1m by path";
    assert_eq!(changed(twice, 1, (6, 60, None)).as_deref(), Some(expected));
}
