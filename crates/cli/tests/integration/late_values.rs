//! A client that comes late, when the memory for distinct values is used up, and sends the most.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Folder, Run, line, run, text};

const RARE: u32 = 160_000;
const FREQUENT: u64 = 60_000;
const CLIENT: &str = "203.0.113.9";

/// The lines of clients that come once, and then those of one client with another method.
fn lines() -> (String, String) {
    let time = "17/Dec/2025:09:00:00 +0000";
    let rare = |n: u32| {
        let client = format!("10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255);
        line(&client, time, "GET / HTTP/1.1", 200, "-")
    };
    let frequent = line(CLIENT, time, "POST /login HTTP/1.1", 403, "-");
    ((0..RARE).map(rare).collect(), frequent.repeat(FREQUENT as usize))
}

/// The log in one file, which is large enough to be divided among threads, and in two.
fn logs(folder: &Folder) -> (PathBuf, [PathBuf; 2]) {
    let (rare, frequent) = lines();
    let all = folder.file("all.log", (rare.clone() + &frequent).as_bytes());
    assert!(rare.len() + frequent.len() > 16 << 20);
    (all, [folder.file("1.log", rare.as_bytes()), folder.file("2.log", frequent.as_bytes())])
}

/// Runs the command with several numbers of threads, which must not matter.
fn run_with_threads(arguments: &[&str]) -> Run {
    let [one, two, four] =
        ["1", "2", "4"].map(|jobs| run([arguments, &["--memory", "1MiB", "-j", jobs]].concat()));
    for other in [&two, &four] {
        assert!(one.stdout == other.stdout, "{}\n{}", one.stdout, other.stdout);
        assert_eq!(one.stderr, other.stderr);
    }
    one
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

#[test]
fn every_output_of_a_report_lists_it_as_a_lower_bound() {
    let folder = Folder::new();
    let (all, _) = logs(&folder);
    let run = run_with_threads(&["report", "--json", text(&all)]);
    let report = json(&run);
    assert_eq!(report["estimated"], serde_json::json!(["client"]));
    let rows = report["top"]["client"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["value"] == CLIENT).expect("the client has a row");
    let (count, uncounted_max) = (number(&row["count"]), number(&row["uncounted_max"]));
    assert!(FREQUENT / 2 < count && count <= FREQUENT && FREQUENT <= count + uncounted_max);
    let remainder = rows.iter().find(|row| row["remainder"] == true).expect("the remainder");
    let unlisted_max = number(&report["unlisted_max"]["client"]);
    assert!(unlisted_max < number(&remainder["count"]) / 10, "{unlisted_max}");
    let distinct = number(&report["distinct"]["client"]);
    assert!((5_000..u64::from(RARE)).contains(&distinct));
    // The few methods, paths and statuses fit into the memory.
    for (field, value) in [("method", "POST"), ("path", "/login"), ("status", "403")] {
        let rows = report["top"][field].as_array().expect("rows");
        let row = rows.iter().find(|row| row["value"] == value).expect("a row");
        assert_eq!((number(&row["count"]), row.get("uncounted_max")), (FREQUENT, None), "{field}");
    }
    assert_eq!(report["errors"], FREQUENT);

    let (shown, most) = (grouped(count), grouped(unlisted_max));
    let note = format!(
        "weir: memory limit reached: values of client first seen after that point are grouped as \
         \"(all other values)\", except frequent ones, whose counts may be lower bounds (≥); any \
         other value has at most this many requests: {most} (client); raise the limit with --memory\n"
    );
    let run = run_with_threads(&["report", "--group", "client", "--top", "3", text(&all)]);
    assert_eq!(run.stderr, note);
    assert!(run.stdout.contains(&format!("≥{shown}")), "{}", run.stdout);
    let total = format!("Clients         at least {}\n", grouped(distinct));
    assert!(run.stdout.contains(&total), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("3 of at least {}, estimated", grouped(distinct))));
    assert!(run.stdout.contains("(at least "), "{}", run.stdout);

    let csv = run_with_threads(&["report", "--csv", text(&all)]).stdout;
    for line in [
        format!("request,distinct_min,client,{distinct},"),
        format!("request,unlisted_max,client,{unlisted_max},"),
        format!("request,uncounted_max,client,{CLIENT},{uncounted_max},"),
    ] {
        assert!(csv.contains(&line), "{line}\n{csv}");
    }

    let page = folder.path("report.html");
    run_with_threads(&["report", "--html", text(&page), text(&all)]);
    let page = std::fs::read_to_string(page).expect("a page");
    let cell = format!("<span title=\"up to {} more\">≥{shown}</span>", grouped(uncounted_max));
    assert!(page.contains(&cell));
    assert!(page.contains(&format!("<strong>at least {}<", grouped(distinct))));
    assert!(page.contains("<p class=\"dim\">memory limit reached: values of client"));
}

#[test]
fn conditions_on_it_are_estimates() {
    let folder = Folder::new();
    let (all, _) = logs(&folder);
    let condition = format!("client={CLIENT}");
    let run = run_with_threads(&["report", "--where", &condition, text(&all)]);
    let end = "; the conditions cannot be decided for grouped values, so all numbers are \
               estimates; raise the limit with --memory\n";
    assert!(run.stderr.ends_with(end), "{}", run.stderr);
    assert!(run.stdout.contains("Requests        about "), "{}", run.stdout);
}

#[test]
fn conditions_on_values_that_came_early_are_exact() {
    let folder = Folder::new();
    let early = line("early.example", "17/Dec/2025:09:00:00 +0000", "GET / HTTP/1.1", 200, "-");
    let all = folder.file("all.log", (early + &lines().0).as_bytes());
    let run = run_with_threads(&["report", "--where", "client=early.example", text(&all)]);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.contains("Requests        1 of 160,001 match"), "{}", run.stdout);
    // Lines with another spelling of the address may be among the grouped values.
    let run = run_with_threads(&["report", "--where", "client=10.0.0.1", text(&all)]);
    assert!(run.stderr.contains("all numbers are estimates"), "{}", run.stderr);
    assert!(run.stdout.contains("Requests        about 1 of 160,001 match"), "{}", run.stdout);
}

#[test]
fn a_value_with_uncounted_records_is_not_called_new() {
    let folder = Folder::new();
    let (rare, frequent) = lines();
    let frequent_line = frequent.lines().next().expect("a line");
    // In the first period it comes late and is rare. The block with the start of the second period
    // has no such line.
    let is_chosen = |n: usize| (100_000..140_000).contains(&n) && n.is_multiple_of(500);
    let first = rare.lines().enumerate().map(|(n, line)| match is_chosen(n) {
        true => format!("{line}\n{frequent_line}\n"),
        false => format!("{line}\n"),
    });
    let second = frequent.replace(":09:00:00 ", ":10:00:00 ");
    let path = folder.file("a.log", (first.collect::<String>() + &second).as_bytes());
    let compare = |more: &[&str]| {
        run([&["report", "--compare", "--memory", "4MiB", text(&path)], more].concat())
    };
    let report = json(&compare(&["--json"]));
    let clients = &report["compare"]["lists"]["client"];
    assert_eq!(clients["estimated"], true);
    let changed = clients["changed"].as_array().expect("rows");
    let row = changed.iter().find(|row| row["value"] == CLIENT).expect("a row");
    assert_eq!((number(&row["previous"]["count"]), &row["percent"]), (0, &Value::Null));
    assert!(number(&row["uncounted_max"]) >= 80, "{row}");
    let shown = compare(&[]).stdout;
    let row = shown.lines().find(|line| line.ends_with(CLIENT)).expect("a row");
    assert!(row.contains("≥0") && !row.contains("new"), "{row}");
    assert!(shown.contains("at least "), "{shown}");
}

#[test]
fn a_count_finds_it() {
    let folder = Folder::new();
    let (all, parts) = logs(&folder);
    for files in [vec![text(&all)], vec![text(&parts[0]), text(&parts[1])]] {
        let count = |more: &[&str]| run_with_threads(&[&["count"], more, &files].concat());
        let counts = json(&count(&["--by", "client", "--json"]));
        let first = &counts["values"][0];
        let (counted, uncounted_max) = (number(&first["count"]), number(&first["uncounted_max"]));
        assert_eq!(first["value"], CLIENT);
        assert!(
            FREQUENT / 2 < counted && counted <= FREQUENT && FREQUENT <= counted + uncounted_max
        );
        let (remainder, unlisted_max) =
            (number(&counts["remainder"]), number(&counts["unlisted_max"]));
        assert!(unlisted_max < remainder / 50, "{unlisted_max} of {remainder}");
        let named = counts["values"].as_array().map_or(0, Vec::len) as u64;
        assert_eq!(named - 1 + counted + remainder, u64::from(RARE) + FREQUENT);

        let shown = count(&["--by", "client", "--top", "1"]);
        assert!(shown.stdout.starts_with(&format!("≥{counted}  {CLIENT}\n")), "{}", shown.stdout);
        let note = format!(
            "weir: memory limit reached: {} requests with a value first seen after that point are \
             grouped as \"(all other values)\"; counts of frequent values among them may be lower \
             bounds (≥); any other value has at most {}; raise the limit with --memory\n",
            grouped(remainder),
            grouped(unlisted_max)
        );
        assert_eq!(shown.stderr, note);
        let csv = count(&["--by", "client", "--csv", "--top", "1"]).stdout;
        let rows = format!("client,count,uncounted_max\n{CLIENT},{counted},{uncounted_max}\n");
        assert_eq!(csv.replace('\r', ""), format!("{rows}(all other values),{remainder},0\n"));
        let table = count(&["--by", "client,method", "--top", "1"]).stdout;
        assert!(table.contains(&format!("{CLIENT}         ≥")), "{table}");
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let split = |(index, digit): (usize, char)| {
        let is_first = index == 0 || !(digits.len() - index).is_multiple_of(3);
        if is_first { digit.to_string() } else { format!(",{digit}") }
    };
    digits.chars().enumerate().map(split).collect()
}
