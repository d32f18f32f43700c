//! What `weir watch` begins with: a period.

use crate::support::{Folder, line, text};
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
