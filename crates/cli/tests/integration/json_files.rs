//! JSON as consoles, shippers and browsers store it.

use serde_json::{Value, json};

use crate::support::{Folder, Run, run, text};

const LINE: &str = "192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET /a?b=c HTTP/1.1\" 404 512";

/// A request in the names of loggers.
fn request() -> Value {
    json!({"time": "2025-12-17T09:03:01Z", "client_ip": "192.0.2.7", "method": "GET", "path": "/a?b=c", "status": 404})
}

/// The records that `weir grep` finds in a file.
fn records(folder: &Folder, name: &str, content: &str) -> Vec<Value> {
    let path = folder.file(name, content.as_bytes());
    let found = run(["grep", "--json", "", text(&path)]);
    assert_eq!((found.code, found.stderr.as_str()), (0, ""), "{name}: {}", found.stdout);
    found.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_record_is_found_wherever_exports_put_it() {
    let folder = Folder::new();
    let hit = json!({"_index": "a", "_id": "1", "_source": request(), "sort": [1]});
    let har = json!({
        "startedDateTime": "2025-12-17T09:03:01Z", "time": 12.5,
        "request": {"method": "GET", "url": "https://www.example.com/a?b=c", "httpVersion": "h2"},
        "response": {"status": 404, "content": {"text": "{\n[{"}, "bodySize": -1}
    });
    let s3 = json!({
        "requestdatetime": "17/Dec/2025:09:03:01 +0000", "remoteip": "192.0.2.7", "httpstatus": "404",
        "request_uri": "\"GET /a?b=c HTTP/1.1\"", "bytessent": "-"
    });
    let datadog = json!({
        "id": "A", "type": "log",
        "attributes": {"timestamp": "2025-12-17T09:03:01Z", "attributes": {
            "http": {"method": "GET", "url": "/a?b=c", "status_code": "404"},
            "network": {"client": {"ip": "192.0.2.7"}}
        }}
    });
    let entries: [(&str, Value); 10] = [
        (
            "get-log-events.json",
            json!({"events": [{"timestamp": 1, "message": LINE}], "nextForwardToken": "f"}),
        ),
        (
            "hits.json",
            json!({"took": 3, "timed_out": false, "hits": {"total": {"value": 1}, "hits": [hit]}}),
        ),
        ("elasticdump.json", hit.clone()),
        (
            "splunk.json",
            json!({"preview": false, "offset": 0, "result": {"_raw": LINE, "_time": "2025"}}),
        ),
        (
            "splunk-results.json",
            json!({"preview": false, "init_offset": 0, "messages": [], "results": [{"_raw": LINE}]}),
        ),
        ("datadog.json", json!({"data": [datadog], "meta": {"elapsed": 1}})),
        (
            "kafka.json",
            json!({"schema": {"type": "struct", "fields": [{"field": "time"}]}, "payload": request()}),
        ),
        ("athena.json", s3),
        (
            "page.har",
            json!({"log": {"version": "1.2", "creator": {"name": "x"}, "pages": [{}], "entries": [har]}}),
        ),
        (
            "logcli.json",
            json!({"labels": {"app": "web"}, "line": LINE, "timestamp": "2025-12-17T09:03:01Z"}),
        ),
    ];
    for (name, entry) in &entries {
        let unindented =
            format!("{entry:#}").lines().map(str::trim_start).collect::<Vec<_>>().join("\n");
        for content in [format!("{entry}\n"), format!("{entry:#}\n"), unindented + "\n"] {
            let found = records(&folder, name, &content);
            assert_eq!(found.len(), 1, "{name}: {content}");
            let has = |key: &str, value: Value| {
                assert_eq!(found[0][key], value, "{name}: {key} of {content}");
            };
            has("path", "/a".into());
            has("query", "b=c".into());
            has("status", "404".into());
            has("method", "GET".into());
            assert!(
                found[0]["time"]
                    .as_str()
                    .is_some_and(|time| time.starts_with("2025-12-17T09:03:01"))
            );
            let is_browser = name.ends_with(".har");
            has("client", if is_browser { Value::Null } else { "192.0.2.7".into() });
        }
    }
}

#[test]
fn the_lines_of_answers_to_queries_are_read() {
    let folder = Folder::new();
    let insights = json!({
        "results": [
            [
                {"field": "@timestamp", "value": "2025-12-17 09:03:05.000"},
                {"field": "@message", "value": LINE},
                {"field": "@logStream", "value": "web-1"}
            ],
            [{"field": "@timestamp", "value": "2025-12-17 09:03:06.000"}, {"field": "@message", "value": LINE}]
        ],
        "statistics": {"recordsMatched": 2.0},
        "status": "Complete"
    });
    let quoted = json!(LINE);
    let loki = format!(
        r#"{{"status":"success","data":{{"resultType":"streams","result":[{{"stream":{{"app":"web"}},"values":[["1765962185000000000",{quoted}],["1765962186000000000",{quoted}]]}}],"stats":{{}}}}}}"#
    );
    for (name, content) in [
        ("insights.json", insights.to_string()),
        ("insights-pretty.json", format!("{insights:#}\n")),
        ("loki.json", loki),
    ] {
        let found = records(&folder, name, &content);
        assert_eq!(found.len(), 2, "{name}");
        for record in &found {
            assert_eq!(record["client"], "192.0.2.7", "{name}");
            assert_eq!(record["status"], "404", "{name}");
            let time = record["time"].as_str().unwrap_or_default();
            assert!(time.starts_with("2025-12-17T09:03:01"), "{name}: {record}");
        }
        let is_loki = name == "loki.json";
        let (key, value) = if is_loki { ("app", "web") } else { ("logStream", "web-1") };
        assert_eq!(found[0][key], value, "{name}");
    }
}

#[test]
fn sequences_of_objects_are_read() {
    let folder = Folder::new();
    let entry = json!({"MESSAGE": LINE, "_HOSTNAME": "web1"});
    let bytes = json!({"MESSAGE": LINE.as_bytes(), "_HOSTNAME": "web1"});
    for (name, content) in [
        ("seq.json", format!("\u{1e}{entry}\n\u{1e}{entry}\n")),
        ("sse.json", format!("data: {entry}\n\ndata: {entry}\n\n")),
        ("bytes.json", format!("{entry}\n{bytes}\n")),
        ("comma-first.json", format!("[\n{entry}\n,{entry}\n]\n")),
        ("commas.json", format!("{entry},\n{entry},\n")),
    ] {
        let found = records(&folder, name, &content);
        let paths: Vec<&Value> =
            found.iter().map(|record| &record["path"]).filter(|path| !path.is_null()).collect();
        assert_eq!(paths, ["/a", "/a"], "{name}");
        assert_eq!(
            found[1]["syslog_host"],
            if name == "sse.json" { Value::Null } else { "web1".into() }
        );
    }
}

#[test]
fn the_fields_of_a_log_have_one_name_everywhere() {
    let folder = Folder::new();
    let content: String = (0..3)
        .map(|number| {
            let mut record = request();
            record["file"] = format!("main{number}.go").into();
            record["Path"] = "other".into();
            format!("{record}\n")
        })
        .collect();
    let path = folder.file("a.log", content.as_bytes());
    let ask = |arguments: &[&str]| -> Run { run(arguments.iter().copied().chain([text(&path)])) };
    for arguments in [
        &["grep", "-c", "--where", "log_file=main1.go and log_Path=other", ""][..],
        &["grep", "-c", "--field", "log_file", "main1"],
        &["count", "--where", "log_file=main1.go"],
    ] {
        let found = ask(arguments);
        assert_eq!(
            (found.code, found.stdout.as_str()),
            (0, "1\n"),
            "{arguments:?}: {}",
            found.stderr
        );
    }
    let count = ask(&["count", "--by", "log_file", "--csv"]).stdout;
    assert!(count.starts_with("log_file,count\r\nmain0.go,1\r\n"), "{count}");
    let report: Value =
        serde_json::from_str(&ask(&["report", "--json", "--group", "log_file"]).stdout)
            .expect("JSON");
    assert_eq!(report["group"]["field"], "log_file");
    for arguments in [&["export", "--to", "csv"][..], &["grep", "--csv", ""]] {
        let header = ask(arguments).stdout.lines().next().expect("a header").to_owned();
        let names: Vec<&str> = header.trim_end().split(',').collect();
        assert!(names.contains(&"log_file") && names.contains(&"log_Path"), "{header}");
    }
    for arguments in [&["export", "--to", "jsonl"][..], &["grep", "--json", ""]] {
        let first: Value =
            serde_json::from_str(ask(arguments).stdout.lines().next().expect("a line"))
                .expect("JSON");
        assert_eq!((&first["file"], &first["log_file"]), (&text(&path).into(), &"main0.go".into()));
    }
    let unknown = ask(&["count", "--where", "file=main1.go"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `log_file`?"), "{}", unknown.stderr);
}
