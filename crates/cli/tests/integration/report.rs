//! The options of `weir report` for groups, comparisons, CSV and the HTML page.

use std::path::Path;

use crate::support::{Folder, finish, line, run, run_with_stdin, text, weir};
use serde_json::Value;

/// One request a minute from 09:00 on: `(client, path, status)`.
fn log(requests: &[(&str, &str, u16)]) -> String {
    let line = |(minute, (client, path, status)): (usize, &(&str, &str, u16))| {
        let time = format!("17/Dec/2025:09:{minute:02}:00 +0000");
        line(client, &time, &format!("GET {path} HTTP/1.1"), *status, "-")
    };
    requests.iter().enumerate().map(line).collect()
}

/// Six requests; the halves are 09:00 to 09:02 and 09:03 to 09:05.
fn six() -> String {
    log(&[
        ("192.0.2.1", "/a", 200),
        ("192.0.2.1", "/gone", 404),
        ("192.0.2.2", "/a", 200),
        ("192.0.2.1", "/a", 200),
        ("192.0.2.3", "/new", 500),
        ("192.0.2.1", "/a", 200),
    ])
}

fn json(path: &Path, arguments: &[&str]) -> Value {
    let run = run([&["report", "--json"], arguments, &[text(path)]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn a_group_has_the_most_frequent_values_and_the_rest() {
    let folder = Folder::new();
    let path = folder.file("a.log", six().as_bytes());
    let report = json(&path, &["--group", "client", "--top", "1"]);
    let group = &report["group"];
    assert_eq!(group["field"], "client");
    assert_eq!(group["rows"].as_array().map(Vec::len), Some(1));
    let largest = &group["rows"][0];
    assert_eq!(largest["value"], "192.0.2.1");
    let numbers =
        |value: &Value| ["count", "bytes_sent", "errors"].map(|name| value[name].as_u64());
    assert_eq!(numbers(largest), [Some(4), Some(40), Some(1)]);
    assert_eq!(numbers(&group["rest"]), [Some(2), Some(20), Some(1)]);
    assert_eq!(group["rest"]["values"], 2);

    let classes = json(&path, &["--group", "status_class", "--where", "path!=/new"]);
    let rows = classes["group"]["rows"].as_array().expect("rows");
    let rows: Vec<_> =
        rows.iter().map(|row| (row["value"].as_str(), row["count"].as_u64())).collect();
    assert_eq!(rows, [(Some("2xx"), Some(4)), (Some("4xx"), Some(1))]);

    let shown = run(["report", "--group", "status", "--top", "1", text(&path)]);
    assert!(shown.stdout.contains("By status\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("(2 other values)"), "{}", shown.stdout);
}

#[test]
fn invalid_groups_and_comparisons_are_refused() {
    let folder = Folder::new();
    let path = folder.file("a.log", six().as_bytes());
    let one = folder.file("one.log", log(&[("192.0.2.1", "/", 200)]).as_bytes());
    for (arguments, sentence) in [
        (vec!["--group", "bytes"], "--group: `bytes` is a number"),
        (vec!["--group", "time"], "--group: `time` is not a field to group by"),
        (vec!["--group", "hue"], "--group: the log has no field `hue`"),
        (vec!["--compare", "--since", "2026-01-01"], "no request was logged at --since or later"),
        (vec!["--html", "-", "--csv"], "standard output is already used"),
        (vec!["--html", text(&path)], "is one of the logs and would be overwritten"),
    ] {
        let run = run([&["report"], &arguments[..], &[text(&path)]].concat());
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains(sentence), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the file exists"), six());
    let run = run(["report", "--compare", text(&one)]);
    assert!(run.stderr.contains("the log has no period to divide"), "{}", run.stderr);
}

#[test]
fn without_a_period_the_halves_of_the_log_are_compared() {
    let folder = Folder::new();
    let path = folder.file("a.log", six().as_bytes());
    let report = json(&path, &["--compare"]);
    assert_eq!(
        (&report["matching"], &report["compare"]["previous"]["matching"]),
        (&3.into(), &3.into())
    );
    assert_eq!(report["compare"]["selected_period"]["since"], "2025-12-17T09:02:31Z");
    assert_eq!(report["compare"]["previous_period"]["since"], "2025-12-17T09:00:00Z");
    let paths = &report["compare"]["lists"]["path"];
    let names = |kind: &str| -> Vec<String> {
        let rows = paths[kind].as_array().expect("rows");
        rows.iter().map(|row| row["value"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names("changed"), ["/a"]);
    assert_eq!(names("new"), ["/new"]);
    assert_eq!(names("gone"), ["/gone"]);
    assert_eq!(report["compare"]["totals"]["clients"]["difference"], 0);
    let shown = run_with_stdin(["report", "--compare", "-"], six().as_bytes());
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for row in ["1  0  +1    new  errors 0 → 1  /new", "0  1  -1   gone  errors 1 → 0  /gone"] {
        assert!(shown.stdout.contains(row), "{row} in {}", shown.stdout);
    }
}

#[test]
fn a_period_is_compared_with_the_previous_one() {
    let folder = Folder::new();
    let path = folder.file("a.log", six().as_bytes());
    let range = ["--compare", "--since", "2025-12-17T09:03", "--until", "2025-12-17T09:05"];
    let report = json(&path, &[&range[..], &["--group", "path"]].concat());
    // 09:03 and 09:04; before them 09:01 and 09:02.
    assert_eq!(
        (&report["matching"], &report["compare"]["previous"]["matching"]),
        (&2.into(), &2.into())
    );
    let errors = &report["compare"]["totals"]["errors"];
    assert_eq!(
        (&errors["selected"], &errors["previous"], &errors["percent"]),
        (&1.into(), &1.into(), &0.0.into())
    );
    let rows = report["group"]["rows"].as_array().expect("rows");
    let counts: Vec<_> = rows
        .iter()
        .map(|row| {
            (row["value"].as_str(), row["count"].as_u64(), row["previous"]["count"].as_u64())
        })
        .collect();
    let expected = [("/new", 1, 0), ("/gone", 0, 1), ("/a", 1, 1)];
    assert_eq!(counts, expected.map(|(path, now, then)| (Some(path), Some(now), Some(then))));
    let filtered = json(&path, &[&range[..], &["--where", "client=192.0.2.3"]].concat());
    assert_eq!(
        (&filtered["matching"], &filtered["compare"]["previous"]["matching"]),
        (&1.into(), &0.into())
    );
    assert_eq!(filtered["compare"]["totals"]["matching"]["percent"], Value::Null);
}

#[test]
fn csv_is_one_table_without_formulas() {
    let folder = Folder::new();
    let hostile =
        log(&[("192.0.2.1", "=1+1", 200), ("192.0.2.2", "@x,y", 404)]) + "=cmd|' /C calc'!A0\n";
    let path = folder.file("a.log", hostile.as_bytes());
    for compare in [false, true] {
        let mut arguments = vec!["report", "--csv", "--group", "path"];
        arguments.extend(compare.then_some("--compare"));
        let run = run([&arguments[..], &[text(&path)]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let columns = run.stdout.lines().next().expect("a header").split(',').count();
        assert_eq!(columns, if compare { 11 } else { 8 });
        for row in run.stdout.split("\r\n").filter(|row| !row.is_empty()) {
            let cells = cells(row);
            assert_eq!(cells.len(), columns, "{row}");
            assert!(!cells.iter().any(|cell| cell.starts_with(['=', '@', '+', '\t'])), "{row}");
        }
    }
    let run = run(["report", "--csv", "--group", "path", text(&path)]);
    assert!(
        run.stdout.contains("request,group,path,\"'=1+1\",1,0.500000,10,0\r\n"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains(",total,unparsed_lines,1,,,,\r\n"), "{}", run.stdout);
}

/// The cells of a row of CSV.
fn cells(row: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut rest) = (false, row.chars().peekable());
    while let Some(c) = rest.next() {
        let cell = cells.last_mut().expect("there is one");
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => {
                rest.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

#[test]
fn the_html_page_escapes_the_log() {
    let folder = Folder::new();
    let agent = "</script></style></title><img src=x onerror=alert(1)>'`&\u{202e}\u{2028}";
    let time = "17/Dec/2025:09:00:00 +0000";
    let mut log =
        line("192.0.2.1", time, "GET /<svg/onload=alert(1)> HTTP/1.1", 200, agent).into_bytes();
    log.extend(line("192.0.2.1", time, "GET /a\0b HTTP/1.1", 500, "javascript:alert(1)").bytes());
    log.extend(b"<iframe src=//example.net> \0\x1b[31m \xff\n");
    let path = folder.file("<b onclick=x>&\".log", &log);
    let page = folder.path("page.html");
    let arguments = ["report", "--group", "path", "--stack", "user_agent", "--html"];
    for more in [&[][..], &["--compare", "--since", "2025-12-17"]] {
        let run = run([&arguments[..], &[text(&page)], more, &[text(&path)]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        let page = std::fs::read_to_string(&page).expect("a page");
        let policy = "default-src 'none'; style-src 'sha256-";
        assert!(page.find(policy).expect("a policy") < page.find("<title>").expect("a title"));
        // Every tag is one that weir writes, and no attribute requests anything.
        let tags: Vec<&str> = page.split('<').skip(1).collect();
        let ours = [
            "!doctype", "html", "head", "meta", "title", "style", "body", "header", "h1", "h2",
            "p", "ul", "li", "b", "strong", "details", "summary", "div", "small", "figure", "span",
            "svg", "rect", "path", "section", "table", "tr", "th", "td", "bdi", "pre", "footer",
            "text", "line",
        ];
        for tag in tags {
            let name =
                tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric() && c != '!');
            let name = name.into_iter().next().unwrap_or_default();
            assert!(ours.contains(&name), "<{tag}");
            let attributes = tag.split('>').next().unwrap_or_default();
            assert!(!attributes.contains("onload") && !attributes.contains("href"), "<{tag}");
        }
        assert!(!page.contains(['\0', '\x1b', '\u{202e}', '\u{2028}']));
        assert!(page.contains("&lt;/script&gt;"), "it is shown");
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_that_cannot_be_written_leaves_the_old_one() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    let log = folder.file("a.log", log(&[("192.0.2.1", "/", 200)]).as_bytes());
    let page = folder.file("page.html", b"old");
    let link = folder.path("link.html");
    symlink(&page, &link).expect("a link");
    let run_with = |file: &str| run(["report", "--html", file, text(&log)]);
    assert_eq!(run_with(text(&link)).code, 0);
    let written = std::fs::read_to_string(&page).expect("the page");
    assert!(written.ends_with("</html>\n"), "the file that the link names is replaced");
    assert!(link.is_symlink());
    let names = || std::fs::read_dir(page.parent().expect("a folder")).expect("a folder").count();
    assert_eq!(names(), 3, "no other file is left");
    // The page that is replaced was private, and stays so.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&page, PermissionsExt::from_mode(0o600)).expect("permissions");
    assert_eq!(run_with(text(&page)).code, 0);
    assert_eq!(page.metadata().expect("the page").permissions().mode() & 0o777, 0o600);
    // A link to nothing stays a link.
    let dangling = folder.path("dangling.html");
    symlink(folder.path("new.html"), &dangling).expect("a link");
    assert_eq!(run_with(text(&dangling)).code, 0);
    assert!(dangling.is_symlink() && folder.path("new.html").is_file());
    let names_before = names();
    // A full device: the write fails half-way.
    let full = run_with("/dev/full");
    assert_eq!(full.code, 2);
    assert!(full.stderr.contains("/dev/full: cannot be written"), "{}", full.stderr);
    // A file size limit cuts the page, and the old one stays.
    let limited = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_weir")])
        .args(["report", "--html", text(&page), text(&log)])
        .output()
        .expect("a shell");
    assert_eq!(limited.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&page).expect("the page"), written);
    assert_eq!(names(), names_before);
}

#[test]
fn values_are_whole_in_a_pipe_and_cut_to_columns_on_request() {
    let agent = format!("Mozilla/5.0 (compatible; {}bot/2.1)", "long-name-of-a-".repeat(8));
    let time = "17/Dec/2025:09:00:00 +0000";
    let folder = Folder::new();
    let text = line("192.0.2.1", time, "GET / HTTP/1.1", 200, &agent);
    let path = folder.file("access.log", text.as_bytes());
    let with = |columns: Option<&str>, arguments: &[&str]| {
        let mut command = weir(["report"]);
        command.args(arguments).arg(&path).env_remove("COLUMNS");
        if let Some(columns) = columns {
            command.env("COLUMNS", columns);
        }
        finish(&mut command).stdout
    };
    assert!(with(None, &[]).contains(&agent));
    assert!(!with(Some("80"), &[]).contains(&agent));
    assert!(with(Some("400"), &[]).contains(&agent));
    assert!(with(Some("80"), &["--wide"]).contains(&agent));
}

/// Two days: 192.0.2.1 comes with curl on both, twice on the first, and once with another agent.
fn two_days() -> String {
    let line = |client: &str, time: &str, agent: &str| {
        format!("{client} - - [{time} +0100] \"GET / HTTP/1.1\" 200 10 \"-\" \"{agent}\"\n")
    };
    [
        line("192.0.2.1", "17/Dec/2025:00:10:00", "curl"),
        line("192.0.2.1", "17/Dec/2025:00:39:59", "curl"),
        line("192.0.2.1", "17/Dec/2025:01:09:59", "curl"),
        line("192.0.2.1", "17/Dec/2025:12:00:00", "Firefox"),
        line("192.0.2.2", "17/Dec/2025:23:59:59", "curl"),
        line("192.0.2.2", "18/Dec/2025:00:00:00", "curl"),
        line("192.0.2.1", "18/Dec/2025:10:00:00", "curl"),
    ]
    .concat()
}

#[test]
fn visitors_are_clients_with_agents_by_day() {
    let folder = Folder::new();
    let path = folder.file("a.log", two_days().as_bytes());
    let visitors = json(&path, &["--visitors"])["visitors"].clone();
    let expected = serde_json::json!({
        "visitors": 5, "distinct_visitors": 3, "visits": 5,
        // All of curl, which the list of crawlers names.
        "robot_visitors": 4, "robot_visits": 4,
        "days": [
            {
                "date": "2025-12-17", "visitors": 3, "visits": 4, "robot_visitors": 2, "robot_visits": 3
            },
            {
                "date": "2025-12-18", "visitors": 2, "visits": 1, "robot_visitors": 2, "robot_visits": 1
            },
        ],
    });
    assert_eq!(visitors, expected);
    let filtered = json(&path, &["--visitors", "--where", "user_agent=Firefox"]);
    assert_eq!(filtered["visitors"]["visitors"], 1);
    assert_eq!(filtered["visitors"]["robot_visitors"], 0);
    assert!(json(&path, &[])["visitors"].is_null());
    // An hour earlier, the first requests are of the day before.
    let utc = json(&path, &["--visitors", "--tz", "UTC"]);
    assert_eq!(
        utc["visitors"]["days"][0],
        serde_json::json!({
            "date": "2025-12-16", "visitors": 1, "visits": 1, "robot_visitors": 1, "robot_visits": 1
        })
    );

    let shown = run(["report", "--visitors", text(&path)]).stdout;
    assert!(
        shown.contains("Visitors  5 on 2 days, 4 of robots, 3 distinct, 5 visits\n"),
        "{shown}"
    );
    assert!(shown.contains("  visitors  of robots  visits  of robots\n"), "{shown}");
    assert!(
        shown.contains("         3          2       4          3  ████████  2025-12-17\n"),
        "{shown}"
    );
    let csv = run(["report", "--visitors", "--csv", text(&path)]).stdout;
    for row in [
        "visitors,total,5",
        "distinct_visitors,total,3",
        "visits,2025-12-17,4",
        "robot_visitors,2025-12-17,2",
        "robot_visits,total,4",
    ] {
        assert!(csv.contains(&format!("\r\n,{row},")), "{row}: {csv}");
    }
    let html = run(["report", "--visitors", "--html", "-", text(&path)]).stdout;
    assert!(html.contains("<h2>Visitors <small>5 on 2 days"), "{html}");
    let cells = "<td>3</td><td>2</td><td>4</td><td>3</td>";
    assert!(
        html.contains(&format!("<tr>{cells}<td class=\"value\">2025-12-17</td></tr>")),
        "{html}"
    );
}

#[test]
fn visitors_are_counted_for_requests_of_one_period() {
    let folder = Folder::new();
    let path = folder.file("a.log", two_days().as_bytes());
    let compared = run(["report", "--visitors", "--compare", text(&path)]);
    assert_eq!(compared.code, 2, "{}", compared.stdout);
    let firewall = run(["report", "--visitors", "--kind", "firewall-event", text(&path)]);
    assert_eq!(firewall.code, 2, "{}", firewall.stdout);
    assert!(firewall.stderr.contains("--visitors"), "{}", firewall.stderr);
}
