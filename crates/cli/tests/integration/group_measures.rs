//! Measures of groups: `weir report --group` with `--sort`, `--measure` and `--min`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::support::{Folder, run, text};

/// A request of a log with times to serve it.
#[derive(Debug, Clone)]
struct Request {
    client: u64,
    path: String,
    status: u64,
    bytes: u64,
    second: u64,
    request_ms: u64,
    /// `None` if no upstream was asked.
    upstream_ms: Option<u64>,
}

const DEFINITION: &str = "$remote_addr [$time_iso8601] \"$request\" $status $body_bytes_sent \
                          $request_time $upstream_response_time";

/// Requests that differ in everything, from a simple generator.
fn requests(count: u64) -> Vec<Request> {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let request = |second| {
        let path = random(7) * random(7);
        Request {
            client: random(9) + 1,
            path: format!("/{path}"),
            status: [200, 200, 304, 404, 500][random(5) as usize],
            bytes: random(100_000),
            second,
            request_ms: random(50) * random(path * 10 + 2),
            upstream_ms: (path % 3 > 0).then(|| random(900)),
        }
    };
    (0..count).map(request).collect()
}

fn line(request: &Request) -> String {
    let Request { client, path, status, bytes, second, .. } = request;
    let seconds = |ms: u64| format!("{}.{:03}", ms / 1_000, ms % 1_000);
    let time = format!(
        "2025-12-17T{:02}:{:02}:{:02}+00:00",
        second / 3_600,
        second / 60 % 60,
        second % 60
    );
    let upstream = request.upstream_ms.map_or("-".to_owned(), seconds);
    let request_time = seconds(request.request_ms);
    format!(
        "192.0.2.{client} [{time}] \"GET {path} HTTP/1.1\" {status} {bytes} {request_time} {upstream}\n"
    )
}

fn report(log: &Path, arguments: &[&str]) -> Value {
    let options = ["report", "--json", "--format", DEFINITION];
    let run = run([&options[..], arguments, &[text(log)]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    serde_json::from_str(&run.stdout).expect("JSON")
}

/// The requests of each key.
fn grouped<K: Ord>(requests: &[Request], key: impl Fn(&Request) -> K) -> BTreeMap<K, Vec<Request>> {
    let mut groups: BTreeMap<K, Vec<Request>> = BTreeMap::new();
    for request in requests {
        groups.entry(key(request)).or_default().push(request.clone());
    }
    groups
}

/// The smallest number that is at least as large as `percent` of them, in seconds.
fn percentile(mut ms: Vec<u64>, percent: usize) -> Option<f64> {
    ms.sort_unstable();
    let rank = (ms.len() * percent).div_ceil(100).max(1);
    ms.get(rank - 1).map(|ms| *ms as f64 / 1_000.0)
}

fn request_p95(group: &[Request]) -> Option<f64> {
    percentile(group.iter().map(|request| request.request_ms).collect(), 95)
}

#[test]
fn paths_are_ordered_by_a_percentile() {
    let requests = requests(2_000);
    let folder = Folder::new();
    let log = folder.file("a.log", requests.iter().map(line).collect::<String>().as_bytes());
    let group =
        &report(&log, &["--group", "path", "--sort", "p95", "--min", "50", "--top", "4"])["group"];
    assert_eq!((&group["sort"], &group["min"]), (&"p95:request_time".into(), &50.into()));

    let mut expected: Vec<(f64, String, u64)> = grouped(&requests, |request| request.path.clone())
        .into_iter()
        .filter(|(_, group)| group.len() >= 50)
        .map(|(path, group)| (request_p95(&group).expect("a time"), path, group.len() as u64))
        .collect();
    expected.sort_by(|one, other| {
        other.0.total_cmp(&one.0).then(other.2.cmp(&one.2)).then(one.1.cmp(&other.1))
    });
    let rows = group["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4);
    for (row, (p95, path, count)) in rows.iter().zip(&expected) {
        assert_eq!((row["value"].as_str(), row["count"].as_u64()), (Some(&**path), Some(*count)));
        let own = row["measures"]["p95:request_time"].as_f64().expect("a number");
        assert!((own - p95).abs() <= p95 / 2_048.0, "{path}: {own} instead of {p95}");
    }
    let shown: u64 = expected.iter().take(4).map(|(_, _, count)| count).sum();
    assert_eq!(group["rest"]["count"], 2_000 - shown, "paths with few requests are in the rest");
}

#[test]
fn every_measure_is_that_of_a_naive_count() {
    let requests = requests(1_500);
    let folder = Folder::new();
    let log = folder.file("a.log", requests.iter().map(line).collect::<String>().as_bytes());
    let measures = "clients,error_rate,mean,sum:upstream_time,max,p50:upstream_time,max:bytes,first_seen,last_seen";
    let arguments =
        ["--group", "path,status", "--measure", measures, "--sort", "clients", "--top", "1000"];
    let report = report(&log, &arguments);
    let group = &report["group"];
    assert_eq!(
        (&group["field"], &group["further_fields"]),
        (&"path".into(), &serde_json::json!(["status"]))
    );
    let expected = grouped(&requests, |request| (request.path.clone(), request.status.to_string()));
    let rows = group["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), expected.len());
    let near = |own: &Value, expected: Option<f64>| match (own.as_f64(), expected) {
        (Some(own), Some(expected)) => (own - expected).abs() <= expected / 2_048.0 + 1e-9,
        (own, expected) => own == expected,
    };
    for row in rows {
        let key = [&row["value"], &row["further_values"][0]["value"]];
        let [path, status] = key.map(|value| value.as_str().expect("text"));
        let own = &expected[&(path.to_owned(), status.to_owned())];
        let upstream: Vec<u64> = own.iter().filter_map(|request| request.upstream_ms).collect();
        let request: Vec<u64> = own.iter().map(|request| request.request_ms).collect();
        let clients: BTreeSet<u64> = own.iter().map(|request| request.client).collect();
        assert_eq!(row["count"], own.len());
        assert_eq!(row["bytes_sent"], own.iter().map(|request| request.bytes).sum::<u64>());
        let measures = &row["measures"];
        assert_eq!(measures["clients"], clients.len());
        let sum = |ms: &[u64]| ms.iter().sum::<u64>() as f64 / 1_000.0;
        assert!(
            near(&measures["mean:request_time"], Some(sum(&request) / own.len() as f64)),
            "{row}"
        );
        assert!(
            near(&measures["sum:upstream_time"], (!upstream.is_empty()).then(|| sum(&upstream))),
            "{row}"
        );
        assert!(near(&measures["max:request_time"], percentile(request, 100)), "{row}");
        assert!(near(&measures["p50:upstream_time"], percentile(upstream, 50)), "{row}");
        assert_eq!(measures["max:bytes"].as_u64(), own.iter().map(|request| request.bytes).max());
        let times = |second: Option<u64>| {
            let second = second.expect("a request");
            format!("2025-12-17T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
        };
        assert_eq!(measures["first_seen"], times(own.iter().map(|request| request.second).min()));
        assert_eq!(measures["last_seen"], times(own.iter().map(|request| request.second).max()));
    }
    let clients = |row: &Value| row["measures"]["clients"].as_u64();
    assert!(rows.windows(2).all(|pair| clients(&pair[0]) >= clients(&pair[1])));
}

#[test]
fn the_columns_are_shown_in_text_and_csv() {
    let requests = requests(300);
    let folder = Folder::new();
    let log = folder.file("a.log", requests.iter().map(line).collect::<String>().as_bytes());
    let options = [
        "report",
        "--format",
        DEFINITION,
        "--group",
        "path,status",
        "--measure",
        "requests,p95,clients",
    ];
    let shown =
        run([&options[..], &["--sort", "p99:upstream_time", "--top", "2", text(&log)]].concat())
            .stdout;
    let lines: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("By ")).collect();
    assert_eq!(lines[0], "By path, status, largest p99 upstream time first");
    let heads: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(heads, ["requests", "p95", "clients", "p99", "upstream", "time"]);
    assert!(lines[4].contains("other combinations)"), "{shown}");

    let csv = run([&options[..], &["--csv", text(&log)]].concat()).stdout;
    let head = csv.lines().next().expect("a head");
    assert!(head.ends_with(",bytes_sent,errors,status,p95:request_time,clients"), "{head}");
    let columns = head.split(',').count();
    let row = csv.lines().find(|line| line.starts_with("request,group,path,")).expect("a row");
    assert_eq!(row.split(',').count(), columns);
    assert!(
        csv.lines()
            .filter(|line| !line.contains('"'))
            .all(|line| line.split(',').count() == columns)
    );
}

#[test]
fn measures_that_the_log_lacks_are_refused() {
    let folder = Folder::new();
    let log = folder.file("a.log", requests(5).iter().map(line).collect::<String>().as_bytes());
    let plain = b"192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 404 17\n";
    let plain = folder.file("plain.log", plain);
    for (log, arguments, sentence) in [
        (
            &plain,
            vec!["--group", "path", "--sort", "p95"],
            "--sort: the log has no field `request_time`",
        ),
        (
            &plain,
            vec!["--group", "path", "--measure", "max:upstream_time"],
            "--measure: the log has no field `upstream_time`",
        ),
        (&plain, vec!["--group", "path,hue"], "--group: the log has no field `hue`"),
        (&plain, vec!["--group", "path,bytes"], "--group: `bytes` is a number"),
        (
            &log,
            vec!["--group", "path", "--sort", "p95:path"],
            "`p95:path` is not a measure; use requests,",
        ),
        (
            &log,
            vec!["--group", "path", "--measure", "p95,hits"],
            "`hits` is not a measure; use requests,",
        ),
        (&log, vec!["--sort", "p95"], "--group"),
        (&log, vec!["--group", "a,b,c,d,e,f,g,h,i"], "--group: a group may have 8 fields at most"),
    ] {
        let run = run([&["report"], &arguments[..], &[text(log)]].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stdout);
        assert!(run.stderr.contains(sentence), "{arguments:?}: {}", run.stderr);
    }
}

/// The requests with status 500 are those of one path, and of one client in two.
#[test]
fn the_values_that_separate_the_requests_are_listed_first() {
    let request = |second: u64| Request {
        client: second % 2 + 1,
        path: if second.is_multiple_of(10) {
            "/broken".to_owned()
        } else {
            format!("/{}", second % 10)
        },
        status: if second.is_multiple_of(20) { 500 } else { 200 },
        bytes: 10,
        second,
        request_ms: 5,
        upstream_ms: None,
    };
    let requests: Vec<Request> = (0..400).map(request).collect();
    let folder = Folder::new();
    let log = folder.file("a.log", requests.iter().map(line).collect::<String>().as_bytes());
    let arguments = ["--different", "--where", "status=500", "--top", "3"];
    let different = &report(&log, &arguments)["different"];
    let counts = ["selected", "others", "values"].map(|name| different[name].as_u64());
    // Two clients, ten paths, and one value each of method and protocol.
    assert_eq!(counts, [Some(20), Some(380), Some(2 + 10 + 2)]);
    let rows = different["rows"].as_array().expect("rows");
    let numbers = |row: &Value| ["count", "others_count"].map(|name| row[name].as_u64());
    assert_eq!((&rows[0]["field"], &rows[0]["value"]), (&"path".into(), &"/broken".into()));
    assert_eq!(numbers(&rows[0]), [Some(20), Some(20)]);
    assert!(rows[0]["g2"].as_f64().is_some_and(|g2| g2 > 80.0), "{different}");
    // All of them are of the first client; of the others, 180 of 380 are. The second client is as
    // much rarer as the first is more frequent.
    let g2: Vec<f64> = rows[1..].iter().filter_map(|row| row["g2"].as_f64()).collect();
    assert_eq!(rows[1]["field"], "client");
    assert!((g2[0].abs() - g2[1].abs()).abs() < 1e-9 && g2[0] * g2[1] < 0.0, "{different}");

    let options = ["report", "--format", DEFINITION];
    let shown = run([&options[..], &arguments, &[text(&log)]].concat()).stdout;
    assert!(
        shown.contains("What is different  20 of 400 requests, 14 values compared\n"),
        "{shown}"
    );
    let refused = run([&options[..], &["--different", text(&log)]].concat());
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("--different: name the requests to compare"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_count_with_measures_is_the_group_of_a_report() {
    let requests = requests(500);
    let folder = Folder::new();
    let log = folder.file("a.log", requests.iter().map(line).collect::<String>().as_bytes());
    let arguments =
        ["--sort", "bytes", "--measure", "requests,bytes,p95", "--min", "3", "--top", "7"];
    let group = &report(&log, &[&["--group", "client,status"][..], &arguments].concat())["group"];
    let count = |output: &[&str]| {
        let options = ["count", "--format", DEFINITION, "--by", "client,status"];
        let run = run([&options[..], &arguments, output, &[text(&log)]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout
    };
    let own: Value = serde_json::from_str(&count(&["--json"])).expect("JSON");
    assert_eq!((&own["count"], &own["kind"]), (&500.into(), &"request".into()));
    for member in ["field", "further_fields", "measures", "sort", "min", "rows", "rest"] {
        assert_eq!(own[member], group[member], "{member}");
    }
    let bytes: Vec<u64> = {
        let groups = grouped(&requests, |request| (request.client, request.status));
        let sums = groups.values().filter(|group| group.len() >= 3);
        let mut sums: Vec<u64> =
            sums.map(|group| group.iter().map(|request| request.bytes).sum()).collect();
        sums.sort_unstable_by(|one, other| other.cmp(one));
        sums.into_iter().take(7).collect()
    };
    let csv = count(&["--csv"]);
    assert_eq!(csv.lines().next(), Some("client,status,requests,bytes,p95:request_time"));
    let column = csv.lines().skip(1).filter_map(|row| row.split(',').nth(3)?.parse().ok());
    assert_eq!(column.collect::<Vec<u64>>(), bytes);
    assert!(
        count(&[]).starts_with("By client, status, largest bytes sent first, from 3 requests\n")
    );

    let options = ["count", "--format", DEFINITION, "--by", "client", "--sort", "bytes"];
    let hidden = run([&options[..], &["--anonymize", text(&log)]].concat()).stdout;
    assert!(hidden.contains("192.0.2.0") && !hidden.contains("192.0.2.1"), "{hidden}");

    let refused = run(["count", "--by", "bytes", "--sort", "p95", text(&log)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--by: `bytes` is not a field of text"), "{}", refused.stderr);
    let refused =
        run(["count", "--format", DEFINITION, "--by", "hue", "--sort", "p95", text(&log)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--by: the log has no field `hue`"), "{}", refused.stderr);
}

/// Requests of three days: one in each of 30 hours, and nine in a minute of the second day.
fn hourly_log(folder: &Folder) -> std::path::PathBuf {
    let line = |day: u32, hour: u32, minute: u32, ms: u32| {
        format!(
            "192.0.2.7 [2025-12-{day}T{hour:02}:{minute:02}:05+00:00] \"GET /{ms} HTTP/1.1\" 200 5 0.{ms:03} -\n"
        )
    };
    let mut lines: Vec<String> =
        (0..30).map(|hour| line(17 + hour / 12, 6 + hour % 12, 10, hour)).collect();
    lines.extend((0..9).map(|number| line(18, 9, 30, 900 + number)));
    // The order of the log is not that of its times.
    lines.reverse();
    folder.file("a.log", lines.concat().as_bytes())
}

#[test]
fn the_peak_minute_and_the_hours_of_a_log_are_one_step() {
    let folder = Folder::new();
    let log = hourly_log(&folder);
    let values = |group: &Value| -> Vec<(String, u64)> {
        let rows = group["rows"].as_array().expect("rows").iter();
        let row = |row: &Value| {
            let value = row["value"].as_str().expect("a value").to_owned();
            (value, row["count"].as_u64().expect("a count"))
        };
        rows.map(row).collect()
    };
    let peak = report(&log, &["--group", "time/1m", "--top", "1"]);
    assert_eq!(values(&peak["group"]), [("2025-12-18 09:30".to_owned(), 9)]);
    assert_eq!(peak["group"]["rest"]["values"], 30);

    // All hours are shown, in their order, and the list of the field is like that, too.
    let hours = report(&log, &["--group", "hour", "--fields", "hour,weekday"]);
    let expected: Vec<(String, u64)> = (6..18)
        .map(|hour| {
            (format!("{hour:02}"), if hour < 12 { 3 } else { 2 } + if hour == 9 { 9 } else { 0 })
        })
        .collect();
    assert_eq!(values(&hours["group"]), expected);
    assert_eq!(values(&serde_json::json!({"rows": hours["top"]["hour"]})), expected);
    let days = ["3 Wednesday", "4 Thursday", "5 Friday"].map(str::to_owned);
    let listed = values(&serde_json::json!({"rows": hours["top"]["weekday"]}));
    assert_eq!(
        listed,
        [12, 21, 6].iter().zip(days).map(|(count, day)| (day, *count)).collect::<Vec<_>>()
    );
    let sorted = report(&log, &["--group", "hour", "--sort", "requests", "--top", "2"]);
    assert_eq!(sorted["group"]["sort"], "requests");
    assert_eq!(values(&sorted["group"]), [("09".to_owned(), 12), ("06".to_owned(), 3)]);

    let shown =
        run([&["report", "--format", DEFINITION, "--group", "time/1h", text(&log)][..]].concat());
    assert!(shown.stdout.contains("By time/1h, the 10 with the most requests"), "{}", shown.stdout);
    let refused = run(["report", "--group", "time/7m", text(&log)]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("`time/7m` needs a step that divides a day"),
        "{}",
        refused.stderr
    );
}

#[test]
fn counts_by_time_are_in_the_order_of_time() {
    let folder = Folder::new();
    let log = hourly_log(&folder);
    let count = |arguments: &[&str]| {
        let run =
            run([&["count", "--csv", "--format", DEFINITION], arguments, &[text(&log)]].concat());
        assert_eq!((run.code, &*run.stderr), (0, ""));
        run.stdout.replace('\r', "")
    };
    let p95 = count(&["--by", "time/1h", "--measure", "p95"]);
    let lines: Vec<&str> = p95.lines().collect();
    assert_eq!(lines[..2], ["time/1h,p95:request_time", "2025-12-17 06:00,0"]);
    assert_eq!((lines.len(), lines[16]), (31, "2025-12-18 09:00,0.908"));
    assert!(lines[1..].is_sorted());
    assert_eq!(
        count(&["--by", "date"]),
        "date,count\n2025-12-17,12\n2025-12-18,21\n2025-12-19,6\n"
    );
    let table = count(&["--by", "status,date"]);
    assert_eq!(table.lines().next(), Some("status by date,2025-12-17,2025-12-18,2025-12-19,total"));
    let three = count(&["--by", "date,hour,status", "--top", "5"]);
    let hours: Vec<&str> = three.lines().skip(1).collect();
    assert!(hours.is_sorted() && hours.contains(&"2025-12-18,09,200,10"), "{three}");
    let chosen = count(&["--by", "date,hour", "--measure", "requests", "--top", "3"]);
    assert!(
        chosen.contains("2025-12-18,09,10\n") && chosen.lines().skip(1).is_sorted(),
        "{chosen}"
    );
    let condition = count(&["--by", "date", "--where", "time/1m=\"2025-12-18 09:30\""]);
    assert_eq!(condition, "date,count\n2025-12-18,9\n");
}

#[test]
fn the_step_of_the_histogram_is_as_asked() {
    let folder = Folder::new();
    let log = hourly_log(&folder);
    // From 06:10 of the first day to 11:10 of the third, both included.
    for (step, step_s, buckets) in [("1m", 60, 53 * 60 + 1), ("1h", 3_600, 54), ("1d", 86_400, 3)] {
        let histogram = &report(&log, &["--step", step])["histogram"];
        assert_eq!(histogram["step_s"], step_s);
        let counts = histogram["buckets"].as_array().expect("buckets").iter();
        let counts: Vec<u64> =
            counts.map(|bucket| bucket["count"].as_u64().expect("a count")).collect();
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (buckets, 39));
        assert_eq!(
            counts.iter().max(),
            Some(&[9, 10, 21][(step == "1h") as usize + 2 * (step == "1d") as usize])
        );
    }
    let shown = run(["report", "--format", DEFINITION, "--step", "1m", text(&log)]);
    assert!(
        shown
            .stderr
            .contains("--step: 3,181 steps of a minute are more than the screen has columns"),
        "{}",
        shown.stderr
    );
    let fitting = run(["report", "--format", DEFINITION, "--step", "1d", text(&log)]);
    assert_eq!((fitting.code, &*fitting.stderr), (0, ""));
    assert!(fitting.stdout.contains("Requests per day"), "{}", fitting.stdout);
    let refused = run(["report", "--step", "2m", text(&log)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("use one of 1s, 5s"), "{}", refused.stderr);
}

#[test]
fn combinations_that_memory_has_no_room_for_are_said() {
    let lines: String = (0..9_000u32)
        .map(|number| {
            format!(
                "192.0.2.{} - - [17/Dec/2025:09:00:00 +0000] \"GET /{} HTTP/1.1\" 200 5\n",
                number % 100,
                number / 100
            )
        })
        .collect();
    let folder = Folder::new();
    let log = folder.file("a.log", lines.as_bytes());
    let count = |memory: &str| {
        run(["count", "--by", "client,path", "--measure", "bytes", "--memory", memory, text(&log)])
    };
    assert!(!count("64MiB").stderr.contains("combinations"));
    let few = count("4MiB").stderr;
    assert!(few.contains("combinations of client, path that were found after"), "{few}");
    assert!(few.contains("raise the limit with --memory"), "{few}");
}
