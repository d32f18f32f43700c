//! The visitors, visits and clients of each value of a field.

use serde_json::Value;

use crate::support::{Folder, run, text};

#[test]
fn visitors_are_clients_with_an_agent_on_a_day() {
    let line = |client: u32, time: &str, path: &str, agent: &str| {
        format!(
            "192.0.2.{client} - - [{time} +0000] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n"
        )
    };
    let (evening, night) = ("17/Dec/2025:23:50:00", "18/Dec/2025:00:10:00");
    let lines = [
        line(1, evening, "/a", "curl/8"),
        line(1, evening, "/a", "curl/8"),
        line(1, evening, "/a", "Firefox/1"),
        line(1, night, "/a", "curl/8"),
        line(2, night, "/b", "curl/8"),
        line(2, night, "/b", "curl/8"),
        line(2, "18/Dec/2025:00:39:59", "/b", "curl/8"),
        line(2, "18/Dec/2025:01:09:59", "/b", "curl/8"),
        line(2, night, "/b", "curl/8"),
    ];
    let folder = Folder::new();
    let log = folder.file("a.log", lines.concat().as_bytes());
    let count = |options: &[&str]| {
        let options = [&["count", "--csv", "--by", "path", "--sort", "visitors"], options];
        let run = run([&options.concat()[..], &[text(&log)]].concat());
        assert_eq!((run.code, &*run.stderr), (0, ""));
        run.stdout.replace('\r', "")
    };
    let measures = ["--measure", "requests,visitors,visits,clients"];
    let expected = "path,requests,visitors,visits,clients\n/a,4,3,2,1\n/b,5,1,2,1\n";
    assert_eq!(count(&measures), expected);
    // East of UTC all of it is one day.
    let in_berlin = ["--measure", "visitors", "--tz", "Europe/Berlin"];
    assert_eq!(count(&in_berlin), "path,visitors\n/a,2\n/b,1\n");
}

#[test]
fn visitors_beyond_the_memory_are_estimates_and_say_so() {
    // A visitor of each path for each address: 60,000 half hours, of which 4 MiB have room for 21,845.
    let lines: String = (0..60_000u32)
        .map(|number| {
            let (client, path) = (number % 20_000, number / 20_000);
            format!(
                "10.0.{}.{} - - [17/Dec/2025:23:50:00 +0000] \"GET /{path} HTTP/1.1\" 200 5 \"-\" \"a\"\n",
                client / 250,
                client % 250
            )
        })
        .collect();
    let folder = Folder::new();
    let log = folder.file("a.log", lines.as_bytes());
    let count = |memory: &str| {
        let options = ["count", "--json", "--by", "path", "--measure", "visitors,visits"];
        let run = run([&options[..], &["--memory", memory, text(&log)]].concat());
        serde_json::from_str::<Value>(&run.stdout).expect("JSON")
    };
    let numbers = |counted: &Value| -> Vec<u64> {
        let rows = counted["rows"].as_array().expect("rows").iter();
        let both = rows.flat_map(|row| [&row["measures"]["visitors"], &row["measures"]["visits"]]);
        both.map(|number| number.as_u64().expect("a number")).collect()
    };
    let exact = count("64MiB");
    assert_eq!((&exact["estimated"], numbers(&exact)), (&Value::Null, vec![20_000; 6]));
    let estimated = count("4MiB");
    assert_eq!(estimated["estimated"], serde_json::json!(["visitors", "visits"]));
    // A sample of 5,000 visitors, with a standard error of 1.2%.
    let numbers = numbers(&estimated);
    assert!(numbers.iter().all(|number| number.abs_diff(20_000) < 1_200), "{numbers:?}");
    assert!(numbers.iter().any(|number| *number != 20_000), "{numbers:?}");
}

#[test]
fn visitors_without_a_client_that_is_known_make_lower_bounds() {
    // Names of 240 bytes, for a fraction of which 1 MiB has room: but for every one that is kept there is
    // room among the visitors, so that nothing is sampled.
    let label = "x".repeat(60);
    let lines: String = (0..6_000u32)
        .map(|number| {
            format!(
                "host-{number}.{label}.{label}.{label}.example - - [17/Dec/2025:23:50:00 +0000] \"GET /{} HTTP/1.1\" 200 5 \"-\" \"a\"\n",
                number % 2
            )
        })
        .collect();
    let folder = Folder::new();
    let log = folder.file("a.log", lines.as_bytes());
    let options =
        ["count", "--by", "path", "--measure", "visitors,clients", "--memory", "1MiB", text(&log)];
    let counted = run([&options[..], &["--json"]].concat());
    let counted: Value = serde_json::from_str(&counted.stdout).expect("JSON");
    assert_eq!(counted["estimated"], Value::Null);
    assert_eq!(counted["lower_bounds"], serde_json::json!(["visitors", "clients"]));
    for row in counted["rows"].as_array().expect("rows") {
        for measure in ["visitors", "clients"] {
            let number = row["measures"][measure].as_u64().expect("a number");
            assert!((100..3_000).contains(&number), "{measure}: {row}");
        }
    }
    let shown = run(options).stdout;
    assert!(shown.contains('≥') && !shown.contains('≈'), "{shown}");
}
