//! Requests and error-log lines beside each other, as in `/var/log/nginx`: every output counts
//! them apart.

use std::ffi::OsString;

use serde_json::Value;

use crate::support::{Folder, run};

const REQUESTS: &str = "\
192.0.2.1 - - [17/Dec/2025:09:00:01 +0000] \"GET /a HTTP/1.1\" 200 10 \"-\" \"curl/8\"
192.0.2.2 - - [17/Dec/2025:09:00:02 +0000] \"GET /b HTTP/1.1\" 502 20 \"-\" \"curl/8\"
192.0.2.2 - - [17/Dec/2025:09:00:03 +0000] \"GET /b HTTP/1.1\" 502 20 \"-\" \"curl/8\"
";
const ERRORS: &str = "\
2025/12/17 09:00:02 [error] 7#7: *1 no upstream, client: 192.0.2.2, server: a, request: \"GET /b HTTP/1.1\", host: \"a\"
2025/12/17 09:00:03 [crit] 7#7: *2 no upstream, client: 192.0.2.2, server: a, request: \"GET /b HTTP/1.1\", host: \"a\"
";

/// The arguments, with the folder of both logs at the end.
fn arguments(arguments: &[&str], folder: &Folder) -> Vec<OsString> {
    let logs = [
        folder.file("access.log", REQUESTS.as_bytes()),
        folder.file("error.log", ERRORS.as_bytes()),
    ];
    arguments.iter().map(OsString::from).chain(logs.map(OsString::from)).collect()
}

fn stdout(options: &[&str]) -> String {
    let run = run(arguments(options, &Folder::new()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

#[test]
fn a_failed_request_is_counted_once() {
    let text = stdout(&["report"]);
    assert!(text.contains("Requests        3\n"), "{text}");
    assert!(text.contains("Errors          2 (error rate 66.7%"), "{text}");
    assert!(text.contains("Error-log lines 2\n"), "{text}");

    let report: Value = serde_json::from_str(&stdout(&["report", "--json"])).expect("JSON");
    assert_eq!((&report["kind"], &report["matching"]), (&"request".into(), &3.into()));
    let lines = &report["other_kinds"][0];
    assert_eq!((&lines["kind"], &lines["matching"]), (&"error_log_line".into(), &2.into()));
    assert_eq!(lines["histogram"]["field"], "level");
    assert_eq!(report["top"]["path"][0]["count"], 2, "not the lines about the same request");

    let csv = stdout(&["report", "--csv"]);
    for row in
        ["request,total,matching,3,", "error_log_line,total,matching,2,", ",total,records,5,"]
    {
        assert!(csv.contains(row), "{row} in {csv}");
    }
    let html = stdout(&["report", "--html", "-"]);
    for figure in ["<b>Requests</b> <strong>3<", "<b>Error-log lines</b> <strong>2<"] {
        assert!(html.contains(figure), "{figure} in {html}");
    }
    // Only requests have errors and bytes.
    assert_eq!(html.matches("<b>Errors</b>").count(), 1);
}

#[test]
fn one_record_that_is_left_out_is_in_the_singular() {
    let folder = Folder::new();
    let error = ERRORS.lines().next().expect("a line").to_owned() + "\n";
    let logs = [
        folder.file("access.log", REQUESTS.as_bytes()),
        folder.file("error.log", error.as_bytes()),
    ];
    let options = ["count", "--by", "client"].map(OsString::from);
    let counted = run(options.into_iter().chain(logs.map(OsString::from)));
    assert_eq!(
        counted.stderr,
        "weir: 1 error-log line is left out; count it with --kind error-log-line\n"
    );
}

#[test]
fn a_kind_can_be_chosen() {
    let text = stdout(&["report", "--kind", "error-log-line"]);
    assert_eq!(text, stdout(&["report", "--kind", "error_log_line"]), "as it is in JSON and CSV");
    assert!(text.contains("Error-log lines 2\n") && !text.contains("Requests"), "{text}");
    let text = stdout(&["report", "--kind", "firewall-event"]);
    assert!(text.contains("Firewall events 0\n"), "{text}");
}

#[test]
fn a_condition_on_a_missing_field_is_stated() {
    let text = stdout(&["report", "--where", "status=502"]);
    assert!(text.contains("Requests        2 of 3 match the filter"), "{text}");
    assert!(
        text.contains("Error-log lines 0 of 2 match the filter: they have no status"),
        "{text}"
    );
}

#[test]
fn counts_are_of_one_kind() {
    let folder = Folder::new();
    let events = run(arguments(&["count", "--kind", "firewall-event"], &folder));
    assert_eq!((events.stdout.as_str(), events.code), ("0\n", 1), "{}", events.stderr);
    let lines = run(arguments(&["count", "--kind", "error-log-line"], &folder));
    assert_eq!(lines.stdout, "2\n");
    let requests = run(arguments(&["count", "--by", "client"], &folder));
    assert_eq!(requests.stdout, "2  192.0.2.2\n1  192.0.2.1\n");
    assert_eq!(
        requests.stderr,
        "weir: 2 error-log lines are left out; count them with --kind error-log-line\n"
    );
    let lines = run(arguments(&["count", "--by", "level", "--kind", "error-log-line"], &folder));
    assert_eq!((lines.stdout.as_str(), lines.stderr.as_str()), ("1  crit\n1  error\n", ""));
    // A field that only the other kind has is not an error for the requests.
    let requests = run(arguments(&["count", "--by", "status", "--json"], &folder));
    assert_eq!(requests.code, 0, "{}", requests.stderr);
    let start = "{\"kind\":\"request\",\"field\":\"status\",\"remainder\":0,\"count\":3,\
                 \"values\":[{\"count\":2,\"value\":\"502\"},{\"count\":1,\"value\":\"200\"}],\
                 \"sources\":[{\"name\":";
    assert!(requests.stdout.starts_with(start), "{}", requests.stdout);
    assert_eq!(requests.stdout.matches("\"complete\":true}").count(), 2, "{}", requests.stdout);
}

#[test]
fn periods_of_each_kind_are_compared() {
    let text = stdout(&["report", "--compare"]);
    assert!(text.contains("Requests") && text.contains("Error-log lines"), "{text}");
    let json: Value =
        serde_json::from_str(&stdout(&["report", "--compare", "--json"])).expect("JSON");
    assert_eq!(json["compare"]["totals"]["matching"]["selected"], json["matching"]);
    assert_eq!(json["other_kinds"][0]["kind"], "error_log_line");
    // All kinds are compared over the same period.
    let period = |report: &Value| report["compare"]["selected_period"].clone();
    assert!(period(&json).is_object());
    assert_eq!(period(&json["other_kinds"][0]), period(&json));
    // No error-log line is as late as this.
    let late = ["report", "--compare", "--json", "--since", "2025-12-17T09:00:03Z"];
    let mut arguments = arguments(&late, &Folder::new());
    arguments.truncate(late.len());
    let folder = Folder::new();
    let early = ERRORS.lines().next().expect("a line").to_owned() + "\n";
    arguments.push(folder.file("access.log", REQUESTS.as_bytes()).into());
    arguments.push(folder.file("error.log", early.as_bytes()).into());
    let late: Value = serde_json::from_str(&run(arguments).stdout).expect("JSON");
    assert_eq!((&late["matching"], &late["other_kinds"][0]["matching"]), (&1.into(), &0.into()));
}

#[test]
fn the_list_of_a_windows_firewall_holds_firewall_events() {
    let folder = Folder::new();
    let log = "#Software: Microsoft Windows Firewall\n\
        #Fields: date time action protocol src-ip dst-ip src-port dst-port size\n\
        2025-12-17 09:00:01 DROP TCP 192.0.2.1 192.0.2.9 40000 3389 -\n\
        2025-12-17 09:00:02 ALLOW UDP 192.0.2.2 192.0.2.9 40001 53 -\n\
        2025-12-17 09:00:03 DROP TCP 192.0.2.1 192.0.2.9 40002 22 -\n";
    let firewall = folder.file("pfirewall.log", log.as_bytes());
    let access = folder.file("access.log", REQUESTS.as_bytes());
    let text = run(["report".into(), firewall.clone().into_os_string(), access.into()]).stdout;
    assert!(text.contains("Requests        3\n"), "{text}");
    assert!(text.contains("Firewall events 3\n"), "{text}");

    let text = run(["report".into(), firewall.clone().into_os_string()]).stdout;
    assert!(!text.contains("Requests"), "{text}");
    let first_list = text.find("Actions\n").expect("a list of actions");
    assert!(first_list < text.find("Clients\n").expect("a list of clients"), "{text}");
    assert!(text.contains("66.7%  ████████  DROP"), "{text}");

    let options = ["count", "--by", "action"].map(OsString::from);
    let counted = run(options.into_iter().chain([firewall.into()]));
    assert_eq!((counted.stdout.as_str(), counted.stderr.as_str()), ("2  DROP\n1  ALLOW\n", ""));
}

#[test]
fn times_in_a_zone_that_the_log_does_not_name_are_noted() {
    let folder = Folder::new();
    let lines = "#Fields: date time action protocol src-ip\n\
                 2025-12-17 09:00:01 DROP TCP 192.0.2.1\n";
    let local = folder.file("local.log", format!("#Time Format: Local\n{lines}").as_bytes());
    let utc = folder.file("utc.log", lines.as_bytes());
    let html = folder.path("report.html");
    let note = "local.log: its times are local to the machine that wrote them, in a zone that the \
                log does not name; they are taken as UTC";
    let run_with = |options: &[&str]| {
        let options = options.iter().map(OsString::from);
        run(options.chain([local.clone().into(), utc.clone().into()]))
    };
    let report = run_with(&["report"]);
    assert!(report.stderr.ends_with(&format!("{note}\n")), "{}", report.stderr);
    assert_eq!(report.stderr.lines().count(), 1, "{}", report.stderr);
    let written = run_with(&["report", "--html", html.to_str().expect("UTF-8")]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let page = std::fs::read_to_string(&html).expect("a page");
    assert_eq!(page.matches(&format!("{note}.</p>")).count(), 1, "{page}");
}
