//! What `weir watch` begins with: a period, and rules of one's own.

use crate::support::{Folder, line, run, text};
use crate::watch::{report, separated, watch};

#[test]
fn a_period_begins_as_a_filter_that_can_be_dropped() {
    let folder = Folder::new();
    let at = |minute: usize| {
        let time = format!("17/Dec/2025:09:{minute:02}:00 +0000");
        line("192.0.2.7", &time, "GET / HTTP/1.1", 200, "-").repeat(1 + minute)
    };
    let log = folder.file("a.log", (0..60).map(at).collect::<String>().as_bytes());
    let log = text(&log);
    let (since, until) = ("2025-12-17T09:50:00Z", "2025-12-17 09:55:00");
    for (period, filter) in [
        (&["--since", since, "--until", until][..], "filter: time>=2025-12-17T09:50:00Z and time<"),
        (
            &["--since", "2025-12-17", "--until", "2025-12-17"],
            "time>=2025-12-17 and time<=2025-12-17",
        ),
        (&["--until", "2025-12-16"], "filter: time<=2025-12-16"),
    ] {
        let told = report(&[period, &[log]].concat());
        let mut terminal = watch(&[period, &[log]].concat(), (120, 24));
        let requests = match told["matching"].as_u64() {
            Some(1_830) => "Requests 1,830 ".to_owned(),
            _ => format!("Requests {} of 1,830", separated(&told["matching"])),
        };
        terminal.wait_for_screen(&[filter, &requests]);
        terminal.press(if period.len() == 4 { b"uu" } else { b"u" });
        terminal.wait_for_screen(&["no filter", "Requests 1,830 "]);
    }
    // What is relative to now is an instant from then on.
    let terminal = watch(&["--since", "-2h", log], (120, 24));
    let screen = terminal.wait_for_screen(&["filter: time>=20", "Requests 0 of 1,830"]);
    let time = screen.split("time>=").nth(1).expect("a time");
    let time: jiff::Timestamp = time[.."2025-12-17T09:50:00Z".len()].parse().expect("an instant");
    let ago = jiff::Timestamp::now().duration_since(time);
    assert!((7_200..10_000).contains(&ago.as_secs()), "{ago:?}");
    let mut refused = watch(&["--since", "noon-ish", log], (120, 24));
    assert_eq!(refused.end().code(), Some(2));
    refused
        .wait_for(|written| written.contains("--since: `noon-ish` is not a valid").then_some(()));
}

#[test]
fn a_rule_of_ones_own_says_what_it_would_have_done() {
    let folder = Folder::new();
    let at = |client: &str, second: u32| {
        line(client, &format!("17/Dec/2025:09:03:{second:02} +0000"), "GET /a HTTP/1.1", 200, "-")
    };
    let lines: String = (1..=5).map(|second| at("192.0.2.7", second)).collect();
    let log = folder.file("a.log", (lines + &at("192.0.2.8", 7)).as_bytes());
    let log = text(&log);
    let rule = "limit 2 requests in 1m by client";
    let file = folder.file("mine.rule", rule.as_bytes());
    for options in [["--rule-text", rule], ["--rule", text(&file)]] {
        let told = run([&["rules"], &options[..], &[log]].concat()).stdout;
        let sentences: Vec<&str> = told.lines().skip(1).take(3).collect();
        assert_eq!(sentences[0], "1 key would be rejected 3 times for certain", "{told}");
        let mut terminal = watch(&[&options[..], &[log]].concat(), (120, 30));
        terminal.wait_for_screen(&["Requests 6 "]);
        terminal.press(b"b");
        let screen = terminal
            .wait_for_screen(&[&[rule, "192.0.2.7  tripped  5.000"], &sentences[..]].concat());
        assert!(!screen.contains("No block stands"), "{screen}");
        // It is about the selected requests.
        terminal.press(b"\x7f");
        terminal.wait_for_screen(&["! exclude"]);
        terminal.press(b"/client=192.0.2.8\r");
        terminal.wait_for_screen(&["Requests 1 of 6 "]);
        terminal.press(b"b");
        terminal.wait_for_screen(&["No request would be rejected", "1 key, 0 tripped"]);
    }
    let mut refused = watch(&["--rule-text", "limit bogus", log], (120, 30));
    assert_eq!(refused.end().code(), Some(2));
    refused.wait_for(|written| written.contains("--rule-text:1: `bogus`").then_some(()));
}

#[test]
fn a_rule_that_looks_at_lines_is_named() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:03:01 +0000";
    let log = folder.file("a.log", line("192.0.2.7", time, "GET /a HTTP/1.1", 200, "-").as_bytes());
    let jail = "[Definition]\nfailregex = ^<HOST> .*$\n";
    let mut terminal = watch(&["--rule-text", jail, text(&log)], (120, 30));
    terminal.wait_for_screen(&["Requests 1 "]);
    terminal.press(b"b");
    terminal
        .wait_for_screen(&["looks at whole lines, which are not kept; replay it with weir rules"]);
}
