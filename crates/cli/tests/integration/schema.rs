//! The JSON of the commands against the schemas in `docs/schema`.

use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use weir_testkit::fixtures;
use weir_testkit::json_schema::check;

use crate::support::{Folder, generated, run, text};

fn docs(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&docs(&format!("schema/{name}.json"))).expect("JSON")
}

/// The objects that a command prints, each of which fits the schema of the command.
#[track_caller]
fn fitting(command: &str, options: &[&str], logs: &[&str]) -> Vec<Value> {
    let printed = run([&[command, "--json"], options, logs].concat());
    let schema = schema(command);
    let objects: Vec<Value> = printed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    assert!(!objects.is_empty(), "{command} {options:?} {logs:?}: {}", printed.stderr);
    for object in &objects {
        if let Err(error) = check(&schema, object) {
            panic!("{command} {options:?} {logs:?}: {error}");
        }
    }
    objects
}

/// Logs of each kind, with and without times, durations and hosts, and with lines that are not
/// UTF-8 or do not match.
fn logs() -> Vec<String> {
    let names = [
        "attacks/hackers-first-1000.log",
        "nginx-combined",
        "nginx-error",
        "firewall",
        "dirt",
        "aws",
        "iis",
        "w3c-and-json/logfile_caddy_log.1",
        "w3c-and-json/logfile_haproxy.0",
        "w3c-and-json/logfile_invalid_utf8.0",
        "w3c-and-json/logfile_cloudflare.json",
    ];
    names.iter().map(|name| text(&fixtures::file(name)).to_owned()).collect()
}

#[test]
fn reports_fit_their_schema() {
    let logs = logs();
    for log in &logs {
        fitting("report", &["--different", "--where", "client!=192.0.2.1"], &[log]);
        let whole = &fitting("report", &["--group", "client", "--top", "3"], &[log])[0];
        fitting("report", &["--visitors", "--robots"], &[log]);
        // One time is not a period.
        if whole["time"]["first"] != whole["time"]["last"] {
            fitting("report", &["--compare"], &[log]);
        }
    }
    let measures = ["--group", "client,method", "--measure", "clients,first_seen", "--min", "2"];
    fitting("report", &measures, &[&logs[0]]);
    fitting("count", &["--by", "client,method", "--sort", "last_seen"], &[&logs[0]]);
    let all: Vec<&str> = logs.iter().map(String::as_str).collect();
    let [mixed] = &fitting("report", &["--where", "client!=192.0.2.1"], &all)[..] else {
        panic!("one object")
    };
    assert!(mixed["other_kinds"].as_array().is_some_and(|kinds| kinds.len() == 2), "{mixed}");
    assert!(mixed["missing_fields"].is_null());
    let sources = mixed["sources"].as_array().expect("a list");
    assert!(sources.iter().all(|source| source["complete"] == true), "{sources:?}");
    for member in ["lines", "records", "unparsed_lines", "too_long_lines", "bytes_read"] {
        let sum: u64 = sources.iter().filter_map(|source| source[member].as_u64()).sum();
        assert_eq!(mixed[member], sum, "{member}");
    }
}

#[test]
fn counts_fit_their_schema() {
    for log in &logs() {
        for options in [
            &[][..],
            &["--where", "client!=192.0.2.1"],
            &["--by", "client"],
            &["--by", "client,time"],
        ] {
            fitting("count", options, &[log]);
        }
    }
}

#[test]
fn lines_fit_their_schema() {
    for log in &logs() {
        fitting("grep", &[""], &[log]);
    }
}

#[test]
fn formats_fit_their_schema() {
    let known = &fitting("formats", &[], &[])[0];
    let formats = known["formats"].as_array().expect("a list");
    assert_eq!(formats.len(), weir_core::format_notes().len());
    let firewall = formats.iter().find(|format| format["name"] == "FIREWALL").expect("a format");
    assert_eq!(firewall["kind"], "firewall_event");
    // This command does not read directories.
    let logs: Vec<String> =
        logs().into_iter().filter(|log| !std::path::Path::new(log).is_dir()).collect();
    assert!(logs.len() > 3);
    for log in &logs {
        let fits = &fitting("formats", &[], &[log])[0];
        assert_eq!(fits["file"], log.as_str());
        let formats = fits["formats"].as_array().expect("a list");
        let parsed: Vec<u64> =
            formats.iter().filter_map(|format| format["parsed_lines"].as_u64()).collect();
        let report = &fitting("report", &[], &[log])[0];
        if report["records"] != 0 {
            let name = &formats[0]["name"];
            assert!(report["formats"].to_string().contains(&name.to_string()), "{log}: {name}");
            assert!(parsed[0] > 0, "{log}");
        }
    }
    let definition = ["--format", "$remote_addr $status"];
    let forced = &fitting("formats", &definition, &[&logs[0]])[0];
    assert_eq!(
        (&forced["formats"][0]["name"], forced["formats"].as_array().map(Vec::len)),
        (&"custom".into(), Some(1))
    );
}

#[test]
fn estimates_fit_their_schema() {
    let folder = Folder::new();
    let line = |number: u32| {
        let time = "17/Dec/2025:09:00:00 +0000";
        crate::support::line(
            "192.0.2.1",
            time,
            &format!("GET /{number}/{number} HTTP/1.1"),
            200,
            "-",
        )
    };
    // The last value turns out to be frequent after memory ran out.
    let log: String = (0..60_000).chain([60_000; 30_000]).map(line).collect();
    let log = folder.file("a.log", log.as_bytes());
    let little = ["--memory", "1MiB"];
    let report = &fitting("report", &little, &[text(&log)])[0];
    assert!(report["estimated"].as_array().is_some_and(|fields| !fields.is_empty()), "{report}");
    let options = [&["--by", "path", "--top", "5"], &little[..]].concat();
    let count = &fitting("count", &options, &[text(&log)])[0];
    assert_ne!(count["remainder"], 0);
    fitting(
        "count",
        &[&["--by", "path,status", "--top", "5"], &little[..]].concat(),
        &[text(&log)],
    );
}

#[test]
fn every_output_of_a_report_names_what_was_not_read_whole() {
    let folder = Folder::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&generated(1 << 20)).expect("memory");
    let packed = encoder.finish().expect("memory");
    let cut = folder.file("cut<b>.log.gz", &packed[..packed.len() / 2]);
    let missing: Vec<_> = (0..9).map(|at| folder.path(&format!("{at}.log"))).collect();
    let logs: Vec<&str> = std::iter::once(&cut).chain(&missing).map(|path| text(path)).collect();
    let printed = |options: &[&str]| run([&["report"], options, &logs].concat()).stdout;
    let written = printed(&[]);
    for options in [&["--wide", "--compare"][..], &["--wide"]] {
        let lines: Vec<String> = printed(options).lines().map(str::to_owned).collect();
        let named: Vec<&String> =
            lines.iter().filter(|line| line.starts_with("Not read whole  ")).collect();
        assert_eq!(named.len(), 4, "{options:?}: {written}");
        let of_cut = named.iter().find(|line| line.contains(text(&cut))).expect("the cut one");
        assert!(of_cut.contains("cut short"), "{of_cut}");
        assert_eq!(named[3], "Not read whole  7 more");
    }
    let csv = printed(&["--csv"]);
    assert_eq!(csv.lines().filter(|line| line.starts_with(",incomplete,")).count(), 10, "{csv}");
    let html = printed(&["--html", "-"]);
    assert!(
        html.contains("<h2>Not read whole</h2>") && html.contains("cut&lt;b&gt;.log.gz</bdi>: ")
    );
    assert!(html.contains("<li>2 more</li>"), "{html}");
    let whole = run(["report", "--html", "-", text(&folder.file("a.log", &generated(1 << 16)))]);
    assert!(!whole.stdout.contains("Not read whole"));
}

#[test]
fn what_was_not_read_whole_is_named() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&log).expect("memory");
    let packed = encoder.finish().expect("memory");
    let cut = folder.file("cut.log.gz", &packed[..packed.len() / 2]);
    let whole = folder.file("whole.log.gz", &packed);
    let missing = folder.path("missing.log");
    let logs = [text(&cut), text(&whole), text(&missing)];
    let named = |object: &Value| {
        let incomplete = object["incomplete"].as_array().expect("a list");
        let name = |entry: &Value| entry["source"].as_str().expect("a name").to_owned();
        let mut names: Vec<String> = incomplete.iter().map(name).collect();
        names.sort();
        assert_eq!(names, [text(&cut), text(&missing)], "{incomplete:?}");
        assert!(incomplete[0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    };
    for (command, options) in [
        ("report", &[][..]),
        ("report", &["--compare"]),
        ("count", &["--by", "status"]),
        ("count", &["--by", "status,method"]),
        ("count", &["--by", "path,client", "--top", "2"]),
        ("count", &["--by", "path,client,status", "--top", "2"]),
        ("count", &["--where", "status=200"]),
    ] {
        let object = &fitting(command, options, &logs)[0];
        named(object);
        let source = |name: &str| {
            let sources = object["sources"].as_array().expect("a list");
            let found = sources.iter().find(|source| source["name"] == name);
            found.map(|source| source["complete"].clone())
        };
        assert_eq!(source(text(&cut)), Some(false.into()), "{command} {options:?}");
        assert_eq!(source(text(&whole)), Some(true.into()), "{command} {options:?}");
        assert_eq!(source(text(&missing)), None, "{command} {options:?}");
    }
    named(&fitting("count", &[], &logs)[0]);
    let complete = &fitting("report", &[], &[text(&whole)])[0];
    assert!(complete.get("incomplete").is_none());
}

#[test]
fn the_schemas_leave_nothing_open() {
    let log = logs().remove(0);
    for (command, options) in
        [("report", &["--group", "client", "--compare"][..]), ("count", &["--by", "client"])]
    {
        let (object, schema) = (fitting(command, options, &[&log]).remove(0), schema(command));
        for member in object.as_object().expect("an object").keys() {
            let mut without = object.clone();
            without.as_object_mut().expect("an object").remove(member);
            let is_optional = ["sources", "group", "compare"].contains(&member.as_str());
            let refused = check(&schema, &without).is_err();
            assert_eq!(refused, command == "count" || !is_optional, "{command} without {member}");
        }
        let mut with_more = object.clone();
        with_more["more"] = 1.into();
        assert!(check(&schema, &with_more).is_err(), "{command}");
    }
}

/// Calls a function with the name and the schema of each member in a schema.
fn for_each_member(schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        visit(name, member);
        for_each_member(member, visit);
    }
    schema["$defs"]
        .as_object()
        .into_iter()
        .flatten()
        .for_each(|(_, one)| for_each_member(one, visit));
}

#[test]
fn every_member_is_documented() {
    let page = docs("json.md");
    for command in ["report", "count", "grep", "formats", "rules", "decisions"] {
        let mut members = 0;
        for_each_member(&schema(command), &mut |name, member| {
            members += 1;
            let description = member["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{command}: {name} has no description");
            let is_listed = page
                .lines()
                .any(|line| line.contains(&format!("`{name}`")) && line.starts_with("| `"));
            assert!(is_listed, "{command}: {name} is not in docs/json.md");
        });
        assert!(members > 5, "{command}");
    }
}
