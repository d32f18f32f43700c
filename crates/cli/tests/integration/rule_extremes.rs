//! Absurd numbers in rules: they are refused or replayed, and never end the program.

use std::time::{Duration, Instant};

use crate::support::{Folder, run, text};

/// Rules in all families, with a count as `{n}` and a duration, a rate or a burst as `{d}`.
const RULES: [&str; 16] = [
    "[web]\nfailregex = ^<HOST> - \\S+ \\[\\] \"[^\"]*\" 4\nmaxretry = {n}\nfindtime = {d}\nbantime = {d}\n",
    "[web]\nfailregex = ^<HOST> - \\S+ \\[\\] \"[^\"]*\" 4\nmaxretry = {n}\nfindtime = {d}d\nbantime = {d}\n\
     bantime.increment = true\nbantime.factor = {d}\nbantime.maxtime = {d}\n",
    "type: leaky\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
     groupby: evt.Meta.source_ip\ncapacity: {n}\nleakspeed: {d}h\nblackhole: {d}h\nlabels:\n  remediation: true\n",
    "type: counter\nname: a/b\ndescription: c\nfilter: evt.Meta.service == 'http'\n\
     groupby: evt.Meta.source_ip\ncapacity: {n}\nduration: {d}h\n",
    "limit_req_zone $remote_addr zone=a:1m rate={d}r/s;\nlimit_req zone=a burst={n} nodelay;",
    "limit_req_zone $remote_addr zone=a:1m rate={n}r/m;\nlimit_req zone=a burst={d} delay={n};",
    "limit_conn_zone $remote_addr zone=a:1m;\nlimit_conn a {n};",
    "nginx.ingress.kubernetes.io/limit-rps: \"{n}\"\nnginx.ingress.kubernetes.io/limit-burst-multiplier: \"{d}\"\n",
    "limit {n} requests in {d}d by client",
    "limit {n} in {d}s by client as token-bucket burst {d}",
    "rate_limit {\n zone a {\n  key {remote_host}\n  window {d}h\n  events {n}\n }\n}",
    "backend b\n stick-table type ip size 1m expire {d}s store http_req_rate({d}d)\n \
     http-request track-sc0 src\n http-request deny if { sc_http_req_rate(0) gt {n} }\n",
    "rateLimit:\n  average: {n}\n  period: {d}s\n  burst: {d}\n",
    "iptables -A INPUT -p tcp --dport 80 -m hashlimit --hashlimit-above {n}/sec --hashlimit-burst {d} \
     --hashlimit-mode srcip --hashlimit-name http -j DROP",
    "sub vcl_recv {\n if (vsthrottle.is_denied(client.identity, {n}, {d}s, {d}d)) {\n  return (synth(429));\n }\n}",
    "DOSPageCount {n}\nDOSPageInterval {d}\nDOSSiteCount {n}\nDOSSiteInterval {d}\nDOSBlockingPeriod {d}\n",
];

const NUMBERS: [&str; 9] = [
    "0",
    "1",
    "4294967295",
    "1000000",
    "9999999999999",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000000000000000",
];

#[test]
fn absurd_numbers_are_refused_or_replayed() {
    let folder = Folder::new();
    let line = |second: u32| {
        format!(
            "192.0.2.{} - - [22/Nov/2026:10:00:{second:02} +0000] \"GET /a HTTP/1.1\" 404 5 \"-\" \"-\"\n",
            second % 3
        )
    };
    let log = folder.file("a.log", (0..40).map(line).collect::<String>().as_bytes());
    let texts = RULES.iter().flat_map(|rule| {
        NUMBERS.iter().enumerate().map(move |(at, number)| {
            // Each number as the duration, with a small, the same or another absurd count.
            let counts = ["3", *number, NUMBERS[(at + 4) % NUMBERS.len()]];
            rule.replace("{n}", counts[at % 3]).replace("{d}", number)
        })
    });
    let mut answered = 0;
    for rule in texts {
        let begin = Instant::now();
        let shown = run(["rules", "--suggest", "--rule-text", &rule, text(&log)]);
        assert!(!shown.stderr.contains("panicked"), "{rule}\n{}", shown.stderr);
        assert!([0, 1, 2, 3].contains(&shown.code), "{rule}: {shown:?}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{rule}");
        answered += u32::from(shown.code != 2);
    }
    assert!(answered > 20, "{answered}");
}
