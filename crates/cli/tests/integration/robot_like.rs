//! The field `robot_like`.

use serde_json::Value;
use weir_testkit::fixtures;

use crate::support::{Folder, line, run, run_with_stdin, text};

fn report(arguments: &[&str]) -> Value {
    let run = run([&["report", "--json", "--top", "100000"], arguments].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The requests of each value of the field by which a report groups.
fn counts(report: &Value) -> Vec<(&str, u64)> {
    let rows = report["group"]["rows"].as_array().expect("rows").iter();
    let mut counts: Vec<(&str, u64)> = rows
        .map(|row| (row["value"].as_str().expect("text"), row["count"].as_u64().expect("a count")))
        .collect();
    counts.sort_unstable();
    counts
}

#[test]
fn requests_are_told_apart_by_what_their_clients_do() {
    let (time, agent) = ("17/Dec/2025:09:03:00 +0000", "Mozilla/5.0 Firefox/145.0");
    let request = |client: &str, path: &str, agent: &str| {
        line(client, time, &format!("GET {path} HTTP/1.1"), 200, agent)
    };
    let lines = [
        // A robot with the agent of a browser, and one that says so.
        request("192.0.2.1", "/robots.txt", agent),
        request("192.0.2.1", "/a", agent),
        request("192.0.2.1", "/b", agent),
        request("192.0.2.2", "/robots.txt", "Googlebot/2.1"),
        request("192.0.2.3", "/a", agent),
        request("192.0.2.3", "/a.css", agent),
    ];
    let folder = Folder::new();
    let log = folder.file("a.log", lines.concat().as_bytes());
    let log = text(&log);
    let grouped = report(&["--group", "robot_like", log]);
    assert_eq!(counts(&grouped), [("declared", 1), ("no", 2), ("yes", 3)]);
    // The clients are judged by all that they asked for, and not only by what meets the conditions.
    let selected =
        report(&["--where", "robot_like=yes and path!=/robots.txt", "--group", "path", log]);
    assert_eq!(counts(&selected), [("/a", 1), ("/b", 1)]);
    let by = ["count", "--csv", "--by", "robot_like,client", "--measure", "requests", log];
    let counted = run(by);
    assert_eq!((counted.code, &counted.stderr[..]), (0, ""));
    let expected = "robot_like,client,requests\r\nyes,192.0.2.1,3\r\nno,192.0.2.3,2\r\ndeclared,192.0.2.2,1\r\n";
    assert_eq!(counted.stdout, expected);
}

#[test]
fn the_field_agrees_with_the_list_of_robots() {
    let mut found = 0;
    for log in [fixtures::hackers_first_1000(), fixtures::elastic_first_2000()] {
        let log = text(&log);
        let robots = &report(&["--robots", log])["robots"];
        let number = |part: &str, name: &str| robots[part][name].as_u64().expect("a number");
        let all = |name: &str| number("clients", name) + number("cohort_clients", name);
        let listed = report(&["--where", "robot_like=yes", "--group", "client", log]);
        assert_eq!(listed["matching"], all("requests"), "{log}");
        assert_eq!(counts(&listed).len() as u64, all("clients"), "{log}");
        found += all("clients");
    }
    assert!(found > 10, "{found}");
}

#[test]
fn logs_that_cannot_be_read_twice_are_refused() {
    let folder = Folder::new();
    let request = line("192.0.2.1", "17/Dec/2025:09:03:00 +0000", "GET /a HTTP/1.1", 200, "curl");
    let log = folder.file("a.log", request.as_bytes());
    let piped = run_with_stdin(["report", "--group", "robot_like", "-"], request.as_bytes());
    assert_eq!(piped.code, 2);
    assert!(
        piped.stderr.contains("the logs are read twice, and a pipe cannot be"),
        "{}",
        piped.stderr
    );
    let hidden = run(["report", "--group", "robot_like", "--anonymize", text(&log)]);
    assert_eq!(hidden.code, 2);
    assert!(hidden.stderr.contains("`robot_like` needs whole addresses"), "{}", hidden.stderr);
    let elsewhere = run(["grep", "--where", "robot_like=yes", "", text(&log)]);
    assert_eq!(elsewhere.code, 2);
    assert!(elsewhere.stderr.contains("the log has no field `robot_like`"), "{}", elsewhere.stderr);
}
