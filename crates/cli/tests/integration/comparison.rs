//! Periods that are compared.

use serde_json::Value;

use crate::support::{Folder, run, text};

/// What a report about the hour from ten and the one before has of the paths.
const OPTIONS: [&str; 8] = [
    "report",
    "--compare",
    "--since",
    "2025-12-17T10:00",
    "--until",
    "2025-12-17T11:00",
    "--group",
    "path",
];

#[test]
fn a_comparison_begins_with_what_is_new_and_what_changed_its_share() {
    // The second hour has twice the requests of the first. `/steady` keeps its share, though its number
    // has the largest change.
    let line = |hour: u32, number: u32, path: &str, status: u32| {
        format!(
            "192.0.2.7 - - [17/Dec/2025:{hour:02}:{:02}:00 +0000] \"GET {path} HTTP/1.1\" {status} 5\n",
            number % 60
        )
    };
    let mut lines = Vec::new();
    let mut add = |path: &str, before: u32, now: u32, status: u32| {
        lines.extend((0..before).map(|number| line(9, number, path, 200)));
        lines.extend((0..now).map(|number| line(10, number, path, status)));
    };
    add("/steady", 60, 120, 200);
    add("/falling", 20, 10, 200);
    add("/failing", 18, 60, 500);
    add("/gone", 2, 0, 200);
    add("/new", 0, 10, 200);
    let folder = Folder::new();
    let log = folder.file("a.log", lines.concat().as_bytes());
    let shown = run([&OPTIONS[..], &["--json", text(&log)]].concat()).stdout;
    let report: Value = serde_json::from_str(&shown).expect("JSON");
    let values = |rows: &Value| -> Vec<String> {
        let rows = rows.as_array().expect("rows").iter();
        rows.map(|row| row["value"].as_str().expect("a value").to_owned()).collect()
    };
    let lists = &report["compare"]["lists"]["path"];
    // Shares: 60% and 60%, 20% and 5%, 18% and 30%.
    assert_eq!(values(&lists["changed"]), ["/falling", "/failing", "/steady"]);
    assert_eq!(
        values(&report["group"]["rows"]),
        ["/new", "/gone", "/falling", "/failing", "/steady"]
    );
    let shown = run([&OPTIONS[..], &[text(&log)]].concat()).stdout;
    assert!(
        shown.contains("By path, new and gone first, then the largest changes of share"),
        "{shown}"
    );
    let rows: Vec<&str> =
        shown.lines().skip_while(|line| !line.starts_with("Paths")).skip(1).take(4).collect();
    assert!(rows[0].ends_with("  /new") && rows[1].ends_with("  /gone"), "{rows:?}");
    assert!(rows[3].contains("errors 0 → 60  /failing"), "{rows:?}");
    let sorted = run([&OPTIONS[..], &["--json", "--sort", "requests", text(&log)]].concat());
    let sorted: Value = serde_json::from_str(&sorted.stdout).expect("JSON");
    assert_eq!(values(&sorted["group"]["rows"])[..2], ["/steady", "/failing"]);
}

#[test]
fn durations_are_ordered_by_the_rate_of_their_change() {
    // Milliseconds before and now; `/new` and `/gone` have no rate.
    let paths: [(&str, &[u32], &[u32]); 6] = [
        ("/slow", &[900, 900, 900], &[990, 990]),
        ("/slower", &[10, 20], &[30, 60]),
        ("/faster", &[400], &[100, 100, 100, 100]),
        ("/same", &[5; 9], &[5; 9]),
        ("/new", &[], &[500]),
        ("/gone", &[700], &[]),
    ];
    let mut lines = String::new();
    for (path, before, now) in paths {
        for (hour, times) in [(9, before), (10, now)] {
            for (minute, ms) in times.iter().enumerate() {
                lines += &format!(
                    "192.0.2.{minute} [2025-12-17T{hour:02}:{minute:02}:00+00:00] \"GET {path} HTTP/1.1\" 200 5 {}.{:03}\n",
                    ms / 1_000,
                    ms % 1_000
                );
            }
        }
    }
    let folder = Folder::new();
    let log = folder.file("a.log", lines.as_bytes());
    let format = "$remote_addr [$time_iso8601] \"$request\" $status $body_bytes_sent $request_time";
    let ask = |more: &[&str]| {
        let found = run([&OPTIONS[..], &["--format", format, text(&log)], more].concat());
        assert_eq!(found.code, 0, "{}", found.stderr);
        found.stdout
    };
    let rows = |more: &[&str]| -> Vec<(String, Option<f64>, Option<f64>)> {
        let report: Value =
            serde_json::from_str(&ask(&[&["--json"], more].concat())).expect("JSON");
        let row = |row: &Value| {
            let p95 = |measures: &str| row[measures]["p95:request_time"].as_f64();
            (
                row["value"].as_str().expect("a text").to_owned(),
                p95("measures"),
                p95("previous_measures"),
            )
        };
        report["group"]["rows"].as_array().expect("rows").iter().map(row).collect()
    };
    let expected = [
        ("/faster", Some(0.1), Some(0.4)),
        ("/slower", Some(0.06), Some(0.02)),
        ("/slow", Some(0.99), Some(0.9)),
        ("/same", Some(0.005), Some(0.005)),
        ("/new", Some(0.5), None),
        ("/gone", None, Some(0.7)),
    ];
    let expected = expected.map(|(path, now, before)| (path.to_owned(), now, before));
    assert_eq!(rows(&["--sort", "p95"]), expected);
    assert_eq!(rows(&["--sort", "p95", "--top", "2"]), expected[..2]);
    // They stand beside the others without being asked for, also for combinations.
    let mut usual = rows(&[]);
    let mut sorted = expected.clone();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    usual.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(usual, sorted);
    let combined = [
        &OPTIONS[..7],
        &["path,status", "--sort", "p95", "--json", "--format", format, text(&log)],
    ];
    let combined: Value = serde_json::from_str(&run(combined.concat()).stdout).expect("JSON");
    let values =
        combined["group"]["rows"].as_array().expect("rows").iter().map(|row| &row["value"]);
    assert!(values.eq(expected.iter().map(|(path, ..)| path)), "{combined}");
    let faster = &combined["group"]["rows"][0];
    assert_eq!(faster["previous_measures"]["p95:request_time"], 0.4);
    assert_eq!(faster["previous"]["count"], 1);
    let shown = ask(&["--sort", "p95"]);
    assert!(shown.contains("By path, largest change of p95 first"), "{shown}");
    assert!(shown.contains("p95    prev."), "{shown}");
    let csv = ask(&["--csv"]);
    assert!(
        csv.lines()
            .next()
            .expect("a head")
            .ends_with(",p95:request_time,previous_p95:request_time"),
        "{csv}"
    );
    let slower = csv.lines().find(|line| line.contains(",group,path,/slower,")).expect("a row");
    assert!(slower.ends_with(",0.06,0.02"), "{slower}");
}
