//! Limits in a running gateway, compared with a replay of the same rules over its records.

use crate::backends::{Backend, answer_with, config};
use crate::gate::{Gate, Row, status};

const RULES: &str = "[[limits]]\nrule_file = \"limits.conf\"\n";

fn request(key: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: gate\r\nX-Key: {key}\r\nConnection: close\r\n\r\n")
}

/// Five requests with one key and one with another, against a limit of one request a minute with a
/// burst of two.
async fn six_requests(gate: &Gate) -> Vec<String> {
    let mut answers = Vec::new();
    for key in ["a", "a", "a", "a", "a", "b"] {
        answers.push(gate.exchange(&request(key)).await);
    }
    answers
}

fn verdicts(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.get("verdict").map_or("", String::as_str)).collect()
}

#[tokio::test]
async fn limits_in_the_shadow_let_everything_through() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let gate = Gate::start(&format!("{}{RULES}", config(&[backend.address], ""))).await;
    for answer in six_requests(&gate).await {
        assert_eq!(status(&answer), "200");
        assert!(!answer.to_ascii_lowercase().contains("ratelimit"), "{answer}");
    }
    let rows = gate.rows(6).await;
    assert_eq!(verdicts(&rows), ["", "", "", "would_reject", "would_reject", ""]);
    assert_eq!(rows[3]["limit"], "keys");
}

#[tokio::test]
async fn enforced_limits_refuse_with_what_to_do() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let rules = format!("{RULES}mode = \"enforce\"\n");
    let gate = Gate::start(&format!("{}{rules}", config(&[backend.address], ""))).await;
    let answers = six_requests(&gate).await;
    let statuses: Vec<&str> = answers.iter().map(|answer| status(answer)).collect();
    assert_eq!(statuses, ["200", "200", "200", "429", "429", "200"]);
    let wait = answers[3].lines().find_map(|line| line.strip_prefix("retry-after: "));
    let wait = wait.and_then(|seconds| seconds.parse::<u64>().ok());
    // As in nginx, the rate is rounded down to 16 thousandths of a request a second: one takes 62.5
    // s.
    assert!(wait.is_some_and(|seconds| (1..=63).contains(&seconds)), "{}", answers[3]);
    assert!(answers[0].contains("ratelimit: \"keys\";r="), "{}", answers[0]);
    assert!(answers[0].contains("ratelimit-policy: \"keys\";q="), "{}", answers[0]);
    let rows = gate.rows(6).await;
    assert_eq!(verdicts(&rows), ["", "", "", "rejected", "rejected", ""]);
    assert_eq!(rows[3]["outcome"], "limited");
}

#[tokio::test]
async fn a_reload_keeps_what_was_counted() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let rules = format!("{}{RULES}mode = \"enforce\"\n", config(&[backend.address], ""));
    let gate = Gate::start(&rules).await;
    for _ in 0..3 {
        assert_eq!(status(&gate.exchange(&request("a")).await), "200");
    }
    gate.reload(&format!("{rules}[backends.other]\ninstances = [\"http://127.0.0.1:1\"]\n"));
    assert_eq!(status(&gate.exchange(&request("a")).await), "429");
}

#[tokio::test]
async fn a_cookie_can_be_the_key() {
    let backend = Backend::answering(|_| answer_with("ok")).await;
    let rules = "[[limits]]\nrule_file = \"cookies.conf\"\nmode = \"enforce\"\n";
    let gate = Gate::start(&format!("{}{rules}", config(&[backend.address], ""))).await;
    let mut statuses = Vec::new();
    for cookie in ["id=a; x=1", "id=b", "x=2;id=a"] {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: gate\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        );
        statuses.push(status(&gate.exchange(&request).await).to_owned());
    }
    assert_eq!(statuses, ["200", "200", "429"]);
}

#[tokio::test]
async fn decisions_have_counters_before_the_first_one() {
    let backend = Backend::answering(answer_with).await;
    for (mode, verdicts) in
        [("shadow", ["would_delay", "would_reject"]), ("enforce", ["delayed", "rejected"])]
    {
        let limit = format!("[[limits]]\nrule_file = \"limits.conf\"\nmode = \"{mode}\"\n");
        let gate = Gate::start(&format!("{}{limit}", backend.config())).await;
        let decisions = gate.handle.counts().events.decisions;
        let found: Vec<_> =
            decisions.iter().map(|((limit, it), count)| (&**limit, *it, *count)).collect();
        assert_eq!(found, verdicts.map(|verdict| ("keys", verdict, 0)), "{mode}");
    }
}
