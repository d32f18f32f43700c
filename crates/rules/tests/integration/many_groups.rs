//! Expressions with thousands of groups: their searches take little memory, or they are refused.

use std::sync::Arc;

use weir_core::{Format, LineParser, Record};
use weir_rules::{Events, Line, RuleFiles, parse_rules};

const FORMAT: &str = r#"$remote_addr $msec "$request" $status"#;

/// The most memory of the process, in bytes.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// Reads a rule and replays it over a request whose path has as many letters as there are groups.
///
/// # Errors
/// The message if the rule is refused or left out.
fn replay(rule: &str, path: &str) -> Result<(), String> {
    let rules = parse_rules(rule, "test", None, &RuleFiles::default());
    let rules = rules.map_err(|error| format!("{error:?}"))?;
    let notes: Vec<String> = rules[0].notes().iter().map(ToString::to_string).collect();
    let left_out = rules[0].left_out().into_iter().map(|it| it.reason);
    let reasons = notes.into_iter().chain(left_out).collect::<Vec<_>>().join("\n");
    let format = Arc::new(Format::parse(FORMAT).expect("a format"));
    let mut observer = match rules[0].observe_lines() {
        Some(observer) => observer,
        None => rules[0].bind(&format.record_fields()).map_err(|it| it.to_string())?,
    };
    let (mut events, mut record) = (Events::default(), Record::new());
    let line = format!("192.0.2.1 1766000000.001 \"GET {path} HTTP/1.1\" 404");
    LineParser::new(format).parse(line.as_bytes(), &mut record).expect("it fits");
    for number in 0..3 {
        let line = Line { number, bytes: line.as_bytes(), record: Some(&record) };
        observer.observe(&line, &mut events);
    }
    let mut replay = rules[0].replay();
    events.iter().for_each(|event| replay.take(0, event.line + 1, &event));
    replay.finish(None);
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// The most memory that the process has taken, in bytes.
#[cfg(target_os = "linux")]
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[cfg(not(target_os = "linux"))]
fn peak_bytes() -> u64 {
    0
}

#[test]
fn a_search_with_thousands_of_groups_takes_little_memory() {
    let groups = "(a)?".repeat(8_000);
    // A condition has at most 16 KiB.
    let fewer = "(a)?".repeat(4_000);
    let path = format!("/{}", "a".repeat(8_000));
    let zone = "limit_req_zone $binary_remote_addr zone=z:1m rate=1r/s;\n";
    let table = "stick-table type ip size 1m expire 1m store http_req_rate(10s)\n\
                 http-request track-sc0 src";
    let scenario = |expression: &str| {
        format!(
            "type: trigger\nname: test\ndescription: d\nfilter: |\n  evt.Meta.http_path matches '{expression}'\n\
             groupby: evt.Meta.source_ip\n"
        )
    };
    for (rule, refusal) in [
        (format!("{zone}server {{ location ~ \"^/{groups}$\" {{ limit_req zone=z; }} }}"), None),
        (
            format!(
                "map $uri $key {{ ~^/{groups}$ $binary_remote_addr; default ''; }}\nlimit_req_zone $key zone=z:1m rate=1r/s;\nserver {{ limit_req zone=z; }}"
            ),
            None,
        ),
        (format!("{zone}server {{ server_name ~^{groups}$; limit_req zone=z; }}"), None),
        (format!("- {{name: a, action: DENY, path_regex: '^/{groups}$'}}\n"), None),
        (
            format!("- {{name: a, action: DENY, expression: 'path.matches(\"^/{groups}$\")'}}\n"),
            None,
        ),
        (scenario(&format!("^/{groups}$")), None),
        (
            format!(
                "{table} if {{ path_reg ^/{fewer}$ }}\n\
                 http-request deny if {{ sc_http_req_rate(0) gt 1 }}"
            ),
            None,
        ),
        (format!("limit 1 request in 1m by client where path~'^/{fewer}$'"), None),
        (format!("deny where path~'^/{fewer}$'"), None),
        (format!("SecRule REQUEST_URI \"@rx ^/{groups}$\" \"id:1,phase:2,deny\""), None),
        (format!("SecRule REQUEST_URI \"@rx ^/{groups}$\" \"id:1,phase:2,deny,capture\""), None),
        (
            format!("SecRule REQUEST_URI \"@rx ^(?=/)/{groups}$\" \"id:1,phase:2,deny\""),
            Some("its groups take too much memory"),
        ),
        (format!("[a]\nenabled = true\nfailregex = ^<HOST> .*GET /{groups} HTTP\n"), None),
    ] {
        let begin: String = rule.chars().filter(|letter| !"(a)?".contains(*letter)).collect();
        let begin: String = begin.chars().take(200).collect();
        match (replay(&rule, &path), refusal) {
            (Ok(()), None) => {}
            (Err(message), Some(part)) => {
                assert!(message.contains(part), "{begin}: {message:.400}");
            }
            (found, _) => panic!("{begin}: {:.400}", format!("{found:?}")),
        }
        assert!(peak_bytes() < MEMORY_BYTES_MAX, "{begin}: {} bytes", peak_bytes());
    }
    // Whether the engine needs a table depends on how it divides the pattern.
    let rule = format!("[a]\nenabled = true\nfailregex = ^<HOST> .*GET /{groups}(b)?\\80 HTTP\n");
    if let Err(message) = replay(&rule, &path) {
        assert!(message.contains("its groups take too much memory"), "{message:.400}");
    }
    assert!(peak_bytes() < MEMORY_BYTES_MAX, "{} bytes", peak_bytes());
}
