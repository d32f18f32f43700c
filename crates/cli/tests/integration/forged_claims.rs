//! What a client says of itself does not protect it from a suggested limit if it floods.

use serde_json::Value;

use crate::support::{Folder, run, text};

const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// Rules that are tried, and how each is pasted with a suggestion.
const RULES: [&str; 3] = [
    "limit_req_zone $remote_addr zone=one:1m rate=1r/s; limit_req zone=one burst=5 nodelay;",
    "limit 30 requests in 1m by client",
    "http:\n  middlewares:\n    a:\n      rateLimit:\n        average: 20\n        period: 1m\n        burst: 10\n",
];

/// A line of a log: address, user, second, path, status, agent.
fn line(client: &str, user: &str, second: u32, path: &str, status: u32, agent: &str) -> String {
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!(
        "{client} - {user} [22/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \
         \"GET {path} HTTP/1.1\" {status} 5 \"-\" \"{agent}\"\n"
    )
}

/// Thirty people, and a client that sends a request each second for most of an hour, besides others.
fn log(agent: &str, others: &str) -> String {
    let mut log = String::new();
    for second in 0..3_000 {
        log += &line("192.0.2.66", "-", second, "/search", 200, agent);
        if second % 100 == 7 {
            let person = format!("198.51.100.{}", second / 100 + 1);
            log += &line(&person, "-", second, "/", 200, BROWSER);
            for _ in 0..4 {
                log += &line(&person, "-", second, "/site.css", 200, BROWSER);
            }
        }
        if second == 20 {
            log += others;
        }
    }
    log
}

/// The suggestion of a rule over a log.
fn suggested(rule: &str, log: &str) -> (Value, Value) {
    let folder = Folder::new();
    let path = folder.file("access.log", log.as_bytes());
    let printed = run(["rules", "--suggest", "--json", "--rule-text", rule, text(&path)]);
    let object: Value = serde_json::from_str(&printed.stdout).expect(&printed.stderr);
    let rule = &object["rules"][0];
    let clients = rule["clients"].as_array().expect("a list");
    let flood = clients.iter().find(|client| client["client"] == "192.0.2.66");
    (rule["suggestion"].clone(), flood.cloned().unwrap_or_default())
}

#[test]
fn a_claim_does_not_change_what_is_suggested() {
    let style = line("192.0.2.66", "-", 20, "/site.css", 200, BROWSER);
    let page = line("192.0.2.66", "-", 20, "/", 200, BROWSER);
    for rule in RULES {
        let (honest, flood) = suggested(rule, &log("curl/8.5.0", ""));
        assert_eq!(flood["looks"], "program", "{rule}");
        assert_eq!(honest["keys"], 1, "{rule}: the flood alone: {honest}");
        for (agent, others, looks) in [
            // One request with a user that nobody asked for.
            ("curl/8.5.0", line("192.0.2.66", "x", 20, "/", 200, "curl/8.5.0"), "program"),
            ("curl/8.5.0", line("192.0.2.66", "x", 20, "/only-me", 204, "curl/8.5.0"), "program"),
            // Others are challenged elsewhere, and the redirect came before a challenge.
            (
                "curl/8.5.0",
                line("203.0.113.9", "-", 19, "/admin/", 401, "-")
                    + &line("192.0.2.66", "x", 20, "/admin/", 301, "curl/8.5.0")
                    + &line("192.0.2.66", "x", 20, "/admin/../a", 200, "curl/8.5.0"),
                "attack",
            ),
            ("Mozilla/5.0 (compatible; Googlebot/2.1)", String::new(), "crawler"),
            ("Mozilla/5.0+(compatible; UptimeRobot/2.0)", String::new(), "monitor"),
            (
                "kube-probe/1.29",
                line("192.0.2.66", "-", 20, "/healthz", 200, "kube-probe/1.29"),
                "monitor",
            ),
            (BROWSER, page.clone() + &style, "person"),
        ] {
            let (suggestion, flood) = suggested(rule, &log(agent, &others));
            assert_eq!(flood["looks"], looks, "{rule} {agent} {others}");
            assert_eq!(flood["good"], Value::Null, "{rule} {agent} {others}");
            assert_eq!(suggestion["keys"], 1, "{rule} {agent} {others}: {suggestion}");
            let spared = &suggestion["busiest_spared"]["client"];
            assert_ne!(spared, "192.0.2.66", "{rule} {agent} {others}");
        }
    }
}

#[test]
fn who_signed_in_is_spared_even_if_busy() {
    let others = line("203.0.113.9", "-", 19, "/admin/", 401, "-")
        + &line("192.0.2.66", "ann", 20, "/admin/list", 200, "curl/8.5.0");
    for rule in RULES {
        let (suggestion, flood) = suggested(rule, &log("curl/8.5.0", &others));
        assert_eq!(flood["good"], serde_json::json!(["signed_in"]), "{rule}");
        assert_eq!(suggestion["keys"], 0, "{rule}: {suggestion}");
        let open = others.clone() + &line("203.0.113.8", "-", 21, "/admin/list", 200, BROWSER);
        let (suggestion, flood) = suggested(rule, &log("curl/8.5.0", &open));
        assert_eq!((&flood["good"], &flood["claims_user"]), (&Value::Null, &true.into()), "{rule}");
        assert_eq!(suggestion["keys"], 1, "{rule}: {suggestion}");
    }
}
