//! `weir export`: the same records as other commands, and files that are whole or untouched.

use std::fs;

use serde_json::Value;
use weir_testkit::fixtures;

use crate::support::{Folder, finish, generated, line, run, run_with_stdin, text, weir};

/// The JSON lines of an export with these arguments.
fn exported(arguments: &[&str]) -> Vec<Value> {
    let run = run([&["export", "--to", "jsonl"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The JSON lines of `weir grep` with these arguments, without the members that exports lack.
fn found(arguments: &[&str]) -> Vec<Value> {
    let run = run([&["grep", "--json"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let object = |line: &str| {
        let mut object: Value = serde_json::from_str(line).expect("JSON");
        let members = object.as_object_mut().expect("an object");
        for name in ["line", "raw", "raw_hex"] {
            members.remove(name);
        }
        // Exports lack what a server wrote for no value, and have the status as a number too.
        members.retain(|_, value| *value != "-");
        let code = members.get("status").and_then(|it| it.as_str()?.parse::<u64>().ok());
        if let Some(code) = code {
            members.insert("status_code".to_owned(), code.into());
        }
        object
    };
    run.stdout.lines().map(object).collect()
}

#[test]
fn exports_have_the_records_of_grep_and_report() {
    let log = fixtures::hackers_first_1000();
    for condition in ["status=404", "bytes>1000 or method=POST", "time>=2015-10-26"] {
        let arguments = ["--where", condition, text(&log)];
        let rows = exported(&arguments);
        assert_eq!(rows, found(&arguments), "{condition}");
        let report = run([&["report", "--json"], &arguments[..]].concat());
        let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
        assert_eq!(report["matching"], rows.len(), "{condition}");
    }
    let paths = fixtures::nginx_combined();
    let mut several = vec!["--since", "2025-12-20", "--tz", "Europe/Berlin"];
    several.extend(paths.iter().map(|path| text(path)));
    assert_eq!(exported(&several), found(&several), "several logs, in their order");
}

#[test]
fn the_ending_of_the_output_names_its_form() {
    let folder = Folder::new();
    let log = fixtures::elastic_first_2000();
    for (name, first) in [
        ("a.csv", &b"file,time,"[..]),
        ("a.jsonl", b"{\"file\""),
        ("a.parquet", b"PAR1"),
        ("a.arrows", &[0xFF; 4]),
        ("a.log", b"83.149.9.216 - - ["),
    ] {
        let output = folder.path(name);
        let run = run(["export", "--output", text(&output), text(&log)]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        assert!(fs::read(&output).expect("a file").starts_with(first), "{name}");
    }
    for (name, expected) in [("a.xlsx", "is not one of .parquet, .arrows"), ("-", "name the form")]
    {
        let output = folder.path(name);
        let output = if name == "-" { name } else { text(&output) };
        let run = run(["export", "--output", output, text(&log)]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
    let left = fs::read_dir(folder.path("")).expect("a folder").count();
    assert_eq!(left, 5, "no other file was begun");
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    // Several blocks.
    let log = folder.file("a.log", &generated(8 << 20));
    for form in ["csv", "jsonl", "parquet", "arrow"] {
        let output = folder.path(form);
        let exported = |jobs: &str| {
            let arguments = ["export", "--to", form, "--output", text(&output), "-j", jobs];
            let run = run([&arguments[..], &["--where", "status<400", text(&log)]].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            fs::read(&output).expect("a file")
        };
        let expected = exported("1");
        assert!(expected.len() > 100_000, "{} bytes", expected.len());
        for jobs in ["2", "3", "8"] {
            assert!(exported(jobs) == expected, "{form} with {jobs} threads");
        }
    }
}

#[test]
fn a_failed_export_leaves_the_file_that_was_there() {
    let folder = Folder::new();
    let log = fixtures::elastic_first_2000();
    let outputs = ["a.csv", "a.log"].map(|name| folder.file(name, b"old"));
    for arguments in [["--where", "no_such_field=1"], ["--where", "status==1"], ["--tz", "Nowhere"]]
    {
        for output in &outputs {
            let mut command = weir(["export", "--output", text(output)]);
            let run = finish(command.args(arguments).arg(&log));
            assert_eq!(run.code, 2, "{arguments:?}");
            assert_eq!(fs::read(output).expect("a file"), b"old", "{arguments:?}");
        }
    }
    let own = folder.file(
        "own.csv",
        line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a").as_bytes(),
    );
    let before = fs::read(&own).expect("a file");
    let run = run(["export", "--output", text(&own), text(&own)]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("is one of the logs and would be overwritten"), "{}", run.stderr);
    assert_eq!(fs::read(&own).expect("a file"), before);
    assert_eq!(
        fs::read_dir(folder.path("")).expect("a folder").count(),
        3,
        "no other file is left"
    );
}

#[test]
fn the_exit_code_depends_on_what_was_read() {
    let log = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let arguments = ["export", "--to", "csv"];
    let run = run_with_stdin(arguments, log.as_bytes());
    assert_eq!((run.code, run.stdout.lines().count()), (0, 2), "{}", run.stderr);
    let run = run_with_stdin(arguments, b"no log\nat all\n");
    assert_eq!((run.code, run.stdout.lines().count()), (1, 1), "{}", run.stderr);
    let run = run_with_stdin(["export", "--to", "csv", "-", "/no/such/file"], log.as_bytes());
    assert_eq!((run.code, run.stdout.lines().count()), (2, 2), "{}", run.stderr);
    assert!(run.stderr.contains("the file does not exist"), "{}", run.stderr);
}

#[test]
fn records_of_one_kind_are_exported() {
    let folder = Folder::new();
    let access = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let error = "2026/11/22 10:00:00 [error] 7#7: *1 open() \"/a\" failed (2: No such file or directory), \
                 client: ::1, server: a, request: \"GET /a HTTP/1.1\", host: \"a\"\n";
    let access = folder.file("access.log", access.repeat(3).as_bytes());
    let error = folder.file("error.log", error.repeat(2).as_bytes());
    let export = |arguments: &[&str]| {
        run([&["export", "--to", "jsonl", text(&error), text(&access)], arguments].concat())
    };
    let requests = export(&[]);
    assert_eq!((requests.code, requests.stdout.lines().count()), (0, 3), "{}", requests.stderr);
    assert!(
        requests.stderr.contains("2 records of other kinds were left out"),
        "{}",
        requests.stderr
    );
    let errors = export(&["--kind", "error-log-line"]);
    assert_eq!((errors.code, errors.stdout.lines().count()), (0, 2), "{}", errors.stderr);
}

#[test]
fn lines_are_those_of_the_selected_records() {
    let folder = Folder::new();
    let log = fixtures::hackers_first_1000();
    for condition in ["status=404", "bytes>1000 or method=POST"] {
        let arguments = ["--where", condition, text(&log)];
        let lines = run([&["export", "--to", "lines"], &arguments[..]].concat());
        let found = run([&["grep", ""], &arguments[..]].concat());
        assert_eq!((lines.code, &lines.stdout), (0, &found.stdout), "{condition}");
        assert_eq!(lines.stdout.lines().count(), exported(&arguments).len(), "{condition}");
    }
    let access = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a\u{1b}b");
    let error = "2026/11/22 10:00:00 [error] 7#7: *1 open() \"/a\" failed (2: No such file or directory), \
                 client: ::1, server: a, request: \"GET /a HTTP/1.1\", host: \"a\"\n";
    let access = folder.file("access.log", format!("{access}no record\n{access}").as_bytes());
    let error = folder.file("error.log", error.as_bytes());
    let lines = |arguments: &[&str]| {
        let run =
            run([&["export", "--to", "lines", text(&error), text(&access)], arguments].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("1 line does not match the format"), "{}", run.stderr);
        run.stdout.into_bytes()
    };
    let (of_access, of_error) =
        (fs::read(&access).expect("a log"), fs::read(&error).expect("a log"));
    let of_access = String::from_utf8(of_access).expect("UTF-8").replace("no record\n", "");
    assert_eq!(lines(&[]), [&of_error, of_access.as_bytes()].concat(), "all kinds, in their order");
    assert_eq!(lines(&["--kind", "error-log-line"]), of_error);
    assert_eq!(lines(&["--kind", "request"]), of_access.as_bytes());
    assert_eq!(lines(&["--where", "status=500"]), b"");
}

#[test]
fn every_line_of_a_log_is_exported_as_it_is() {
    let folder = Folder::new();
    let access = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let carriage_returns = access.replace('\n', "\r\n").repeat(3);
    let carriage_returns = folder.file("b.log", carriage_returns.as_bytes());
    for log in [fixtures::elastic_first_2000(), carriage_returns] {
        let output = folder.path("a.txt");
        let run = run(["export", "--output", text(&output), text(&log)]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        assert_eq!(fs::read(&output).expect("a file"), fs::read(&log).expect("a log"));
    }
}

/// The bytes in gzip.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Lines in the extended log format, with a field of this name.
fn extended(field: &str, lines: usize) -> String {
    let line = "2026-11-22 10:00:00 192.0.2.1 GET /a 200 7\n";
    let fields = format!("#Fields: date time c-ip cs-method cs-uri-stem sc-status {field}\n");
    fields + &line.repeat(lines)
}

/// The columns of a table that have one of these names, in the order of the table. A Parquet file
/// ends with its metadata, which begins with the names of the columns in that order.
fn columns(table: &std::path::Path, names: &[&str]) -> Vec<String> {
    let bytes = fs::read(table).expect("a table");
    let (rest, length) = bytes[..bytes.len() - 4].split_at(bytes.len() - 8);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    let metadata = &rest[rest.len() - length..];
    // Names in quotes are in the smallest and the largest value of the column of other fields.
    let is_name = |it: &[u8], name: &str| it[0] != b'"' && &it[1..] == name.as_bytes();
    let place = |name: &str| metadata.windows(name.len() + 1).position(|it| is_name(it, name));
    let mut found: Vec<_> = names.iter().filter_map(|name| Some((place(name)?, *name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn the_columns_are_in_the_order_of_the_inputs() {
    let folder = Folder::new();
    let (table, file) =
        (folder.path("a.parquet"), folder.file("a.log", extended("x-two", 9).as_bytes()));
    let names = ["x-one", "x-two", "x-three"];
    for (files, expected) in [
        (&["-", text(&file)][..], &["x-one", "x-two"][..]),
        (&[text(&file), "-"], &["x-two"]),
        (&["-"], &["x-one"]),
    ] {
        for lines in [1, 5_000] {
            // The last field first occurs after the table has begun.
            let log = extended("x-one", lines) + &extended("x-three", 1);
            let arguments = [&["export", "--output", text(&table)], files].concat();
            let run = run_with_stdin(arguments, log.as_bytes());
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_eq!(columns(&table, &names), expected, "{files:?} with {lines} lines");
        }
    }
}

/// The files in a folder that a process has opened, by the names that the system shows for them.
#[cfg(target_os = "linux")]
fn opened_in(process: u32, folder: &std::path::Path) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{process}/fd")).expect("a process").flatten();
    let targets = links.filter_map(|link| fs::read_link(link.path()).ok());
    targets.filter(|it| it.starts_with(folder)).map(|it| it.display().to_string()).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn an_export_that_is_killed_leaves_nothing() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use crate::support::Served;

    for (signal, name) in [("-INT", "a.parquet"), ("-TERM", "a.csv"), ("-KILL", "a.log")] {
        let folder = Folder::new();
        let output = folder.file(name, b"old");
        let mut command = weir(["export", "--output", text(&output), "-"]);
        let mut export = Served(command.stdin(Stdio::piped()).spawn().expect("the binary runs"));
        let mut log = export.0.stdin.take().expect("a pipe");
        log.write_all(&generated(1 << 20)).expect("it reads");
        let mut opened = Vec::new();
        while opened.is_empty() {
            assert!(export.0.try_wait().expect("a process").is_none(), "it waits for more");
            std::thread::yield_now();
            opened = opened_in(export.0.id(), &folder.path(""));
        }
        if !opened[0].ends_with("(deleted)") {
            println!("not tested: {} has no files without a name", folder.path("").display());
            return;
        }
        let kill = Command::new("kill").args([signal, &export.0.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        assert!(!export.0.wait().expect("its end").success(), "{signal}");
        let left: Vec<_> = fs::read_dir(folder.path("")).expect("a folder").flatten().collect();
        assert_eq!(left.len(), 1, "{signal}: {left:?}");
        assert_eq!(fs::read(&output).expect("a file"), b"old", "{signal}");
    }
}

#[test]
fn a_file_is_not_replaced_by_a_part_of_the_logs() {
    let folder = Folder::new();
    let log = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let good = folder.file("good.log", log.as_bytes());
    let mut packed = gzip(&generated(1 << 20));
    packed.truncate(packed.len() / 2);
    let cut = folder.file("cut.gz", &packed);
    let foreign = folder.file("foreign", &[0x7F, b'E', b'L', b'F', 0, 1, b'\n', 0, 2, b'\n']);
    let missing = folder.path("nope.log");
    for (name, to) in [
        ("a.parquet", "--output - --to parquet"),
        ("a.csv", "--output - --to csv"),
        ("a.log", "--output - --to lines"),
        ("a.html", "--html -"),
    ] {
        let output = folder.file(name, b"old");
        let new = folder.path(&format!("new-{name}"));
        let write = |output: &std::path::Path, logs: &[&std::path::Path]| {
            let option =
                if name == "a.html" { ["report", "--html"] } else { ["export", "--output"] };
            let logs = logs.iter().map(|log| text(log));
            run(option.into_iter().chain([text(output)]).chain(logs))
        };
        for (logs, code, reason) in [
            (&[&*missing][..], 2, "a log could not be read to its end"),
            (&[&cut], 2, "a log could not be read to its end"),
            (&[&good, &missing], 2, "a log could not be read to its end"),
            (&[&foreign], 1, "no line matches a format"),
        ] {
            for output in [&output, &new] {
                let run = write(output, logs);
                assert_eq!(run.code, code, "{name} {logs:?}: {}", run.stderr);
                let sentence = format!("{}: was not written, because {reason}", text(output));
                assert!(run.stderr.contains(&sentence), "{name} {logs:?}: {}", run.stderr);
                assert_eq!(run.stderr.contains(to), code == 2, "{name}: {}", run.stderr);
            }
            assert_eq!(fs::read(&output).expect("a file"), b"old", "{name} {logs:?}");
            assert!(!new.exists(), "{name} {logs:?}");
        }
        let run = write(&output, &[&good, &foreign]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert!(
            run.stderr.contains("is a program, not a log") || name == "a.log",
            "{}",
            run.stderr
        );
        assert_ne!(fs::read(&output).expect("a file"), b"old", "{name}");
    }
}

#[test]
fn a_log_without_lines_or_matching_records_is_exported() {
    let folder = Folder::new();
    let log = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let (log, empty) = (folder.file("a.log", log.as_bytes()), folder.file("empty.log", b""));
    for name in ["a.csv", "a.txt"] {
        for (code, arguments) in
            [(0, &["--where", "status=404", text(&log)][..]), (1, &[text(&empty)])]
        {
            let output = folder.file(name, b"old");
            let run = run([&["export", "--output", text(&output)], arguments].concat());
            assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
            assert_ne!(fs::read(&output).expect("a file"), b"old", "{arguments:?}");
        }
    }
}

#[test]
fn another_ending_is_refused_with_those_that_are_known() {
    for (name, nearest) in [("x.json", "jsonl"), ("x.csv.gz", "csv"), ("x.feather", "arrow")] {
        let run = run(["export", "--output", name, "a.log"]);
        let endings =
            "is not one of .parquet, .arrows, .arrow, .csv, .jsonl, .ndjson, .log and .txt";
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains(endings), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("--to, such as --to {nearest}\n")), "{}", run.stderr);
    }
}

/// The lines of CSV that an export with these arguments writes to standard output.
fn csv(arguments: &[&str]) -> Vec<String> {
    let run = run([&["export", "--to", "csv"], arguments].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn csv_has_the_fields_of_the_log_and_no_others() {
    let folder = Folder::new();
    let log = "192.0.2.1 HIT \"acme, inc\" 0.25 [22/Nov/2026:10:00:00 +0000] 200\n";
    let log = folder.file("cache.log", log.as_bytes());
    let format = "$remote_addr $upstream_cache_status \"$http_x_tenant\" $request_time \
                  [$time_local] $status";
    assert_eq!(
        csv(&["--format", format, text(&log)]),
        [
            "file,time,client,status,status_code,request_time,upstream_cache_status,http_x_tenant",
            &format!(
                "{},2026-11-22T10:00:00Z,192.0.2.1,200,200,0.25,HIT,\"acme, inc\"",
                text(&log)
            ),
        ]
    );
    let object =
        "{\"time\":\"2026-11-22T10:00:00Z\",\"status\":200,\"uri\":\"/a\",\"tenant\":\"-\"}\n";
    let log = folder.file("json.log", object.repeat(3).as_bytes());
    let lines = csv(&[text(&log)]);
    assert_eq!(lines[0], "file,time,path,status,status_code,tenant", "members that objects have");
    assert!(lines[1].ends_with(",2026-11-22T10:00:00Z,/a,200,200,-"), "{}", lines[1]);
    let access = line("::1", "22/Nov/2026:10:00:00 +0000", "GET / HTTP/1.1", 200, "a");
    let log = folder.file("access.log", access.as_bytes());
    assert_eq!(
        csv(&[text(&log)])[0],
        "file,time,client,user,method,path,query,protocol,status,status_code,referer,user_agent,\
         request,bytes"
    );
}

#[test]
fn columns_are_chosen_and_ordered_in_all_forms() {
    let folder = Folder::new();
    let log = text(&fixtures::elastic_first_2000()).to_owned();
    let arguments = ["--columns", "status_code,path,remote_addr,line_offset", &log];
    let lines = csv(&arguments);
    assert_eq!(lines[0], "status_code,path,client,line_offset");
    assert_eq!(
        lines[1],
        "200,/presentations/logstash-monitorama-2013/images/kibana-search.png,\
                          83.149.9.216,0"
    );
    let objects = run([&["export", "--to", "jsonl"][..], &arguments].concat());
    let first = objects.stdout.lines().next().expect("a record");
    assert!(first.starts_with("{\"status_code\":200,\"path\":\"/presentations/"), "{first}");
    assert!(first.ends_with(",\"client\":\"83.149.9.216\",\"line_offset\":0}"), "{first}");
    let table = folder.path("a.parquet");
    let exported = run([&["export", "--output", text(&table)][..], &arguments].concat());
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let rows = weir_testkit::tables::parquet_rows(fs::read(&table).expect("a table"));
    let names: Vec<&str> = rows[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["status_code", "path", "client", "line_offset"]);
    assert_eq!(rows.len(), lines.len() - 1);

    let all = csv(&["--columns", "time,*,request_time_ns", &log]);
    assert!(all[0].starts_with("time,file,client,") && all[0].ends_with(",bytes,request_time_ns"));
    let one = csv(&["--columns", "query", &log]);
    assert_eq!(one.len(), lines.len(), "a row without a value is no empty line");
    assert_eq!(one[1], "\"\"");

    for (to, columns, expected) in [
        ("csv", "stauts", "--columns: the log has no field `stauts`; did you mean `status`?"),
        ("parquet", "client,vhost", "did you mean `host`?"),
        ("csv", "escaped_columns", "--columns: the log has no field `escaped_columns`"),
        ("lines", "client", "--columns: lines are written as they are in the logs"),
    ] {
        let output = folder.path("new");
        let arguments =
            ["export", "--to", to, "--columns", columns, "--output", text(&output), &log];
        let run = run(arguments);
        assert_eq!((run.code, output.exists()), (2, false), "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}

#[test]
fn fields_that_appear_late_are_in_the_file() {
    let folder = Folder::new();
    let early = "{\"time\":\"2026-11-22T10:00:00Z\",\"status\":200,\"uri\":\"/a\"}\n";
    let late = "{\"time\":\"2026-11-22T10:00:01Z\",\"status\":200,\"uri\":\"/b\",\
                \"remote_user\":\"ann\",\"request_time\":0.5}\n";
    // Far beyond the lines that are read first.
    let log = early.repeat(40_000) + late;
    let file = folder.file("a.log", log.as_bytes());
    let output = folder.path("a.csv");
    let to_file = run(["export", "--output", text(&output), text(&file)]);
    assert_eq!((to_file.code, to_file.stderr.as_str()), (0, ""));
    let csv = fs::read_to_string(&output).expect("a file");
    assert_eq!(csv.lines().count(), 40_002);
    assert_eq!(csv.lines().next(), Some("file,time,user,path,status,status_code,request_time"));
    assert!(csv.ends_with("a.log,2026-11-22T10:00:01Z,ann,/b,200,200,0.5\r\n"));

    let columns = ["--columns", "*,line_offset", "--output", text(&output)];
    let all = run([&["export"], &columns[..], &[text(&file)]].concat());
    assert_eq!((all.code, all.stderr.as_str()), (0, ""));
    let csv = fs::read_to_string(&output).expect("a file");
    let names = csv.lines().next().unwrap_or_default();
    assert_eq!(names, "file,time,user,path,status,status_code,request_time,line_offset");

    let to_pipe = run(["export", "--to", "csv", text(&file)]);
    assert_eq!((to_pipe.code, to_pipe.stderr.as_str()), (0, ""));
    assert!(to_pipe.stdout.starts_with("file,time,path,status,status_code,other_fields\r\n"));
    let last = "/b,200,200,\"{\"\"user\"\":\"\"ann\"\",\"\"request_time\"\":0.5}\"\r\n";
    assert!(to_pipe.stdout.ends_with(last), "{:?}", to_pipe.stdout.lines().last());
    let columns = ["--columns", "other_fields,path"];
    let objects = run([&["export", "--to", "jsonl"], &columns[..], &[text(&file)]].concat());
    let last = "{\"other_fields\":{\"user\":\"ann\",\"request_time\":0.5},\"path\":\"/b\"}\n";
    assert!(objects.stdout.ends_with(last), "{:?}", objects.stdout.lines().last());
}

/// The records that are written are those of the first kind, whichever way the file is read.
#[test]
fn fields_that_appear_late_do_not_change_the_kind() {
    let folder = Folder::new();
    let error = |rest: &str| {
        format!(
            "2026/11/22 10:00:00 [error] 12#12: *1 open() \"/a\" failed (2: No such file or \
             directory), client: 192.0.2.7, server: a{rest}, host: \"a\"\n"
        )
    };
    let late = error(", request: \"GET /a HTTP/1.1\", upstream: \"http://192.0.2.9/a\"");
    let access =
        "192.0.2.7 - - [22/Nov/2026:10:00:01 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"-\"\n";
    let log = error("").repeat(5_000) + &late + access;
    let file = folder.file("a.log", log.as_bytes());
    let output = folder.path("a.csv");
    let exported = run(["export", "--output", text(&output), text(&file)]);
    assert_eq!(exported.code, 0, "{}", exported.stderr);
    let csv = fs::read_to_string(&output).expect("a file");
    assert_eq!(csv.lines().count(), 5_002, "{}", exported.stderr);
    assert!(csv.lines().next().is_some_and(|names| names.contains("upstream")), "{csv:.200}");
}

#[test]
fn fields_of_a_later_format_are_not_lost_silently() {
    let folder = Folder::new();
    let log = extended("x-one", 20_000) + &extended("x-two", 1);
    let file = folder.file("a.log", log.as_bytes());
    let names = |csv: &str| csv.lines().next().map(str::to_owned).unwrap_or_default();
    let to_pipe = run_with_stdin(["export", "--to", "csv", "-"], log.as_bytes());
    assert_eq!(to_pipe.code, 2, "{}", to_pipe.stderr);
    assert!(names(&to_pipe.stdout).ends_with(",status_code,x-one"), "{}", names(&to_pipe.stdout));
    assert!(to_pipe.stderr.contains("after the header was written: x-two;"), "{}", to_pipe.stderr);
    let others = ["export", "--to", "csv", "--columns", "*,other_fields", "-"];
    let others = run_with_stdin(others, log.as_bytes());
    assert_eq!((others.code, others.stderr.as_str()), (0, ""));
    assert!(others.stdout.ends_with(",\"{\"\"x-two\"\":\"\"7\"\"}\"\r\n"));
    let output = folder.path("a.csv");
    let to_file = run(["export", "--output", text(&output), text(&file)]);
    assert_eq!((to_file.code, to_file.stderr.as_str()), (0, ""));
    let csv = fs::read_to_string(&output).expect("a file");
    assert!(names(&csv).ends_with(",status_code,x-one,x-two"), "{}", names(&csv));
    assert!(csv.ends_with(",,7\r\n"));
}

#[test]
fn an_empty_text_is_no_missing_value_and_names_differ_in_more_than_their_case() {
    let folder = Folder::new();
    let lines = "\
{\"time\":\"2025-12-17T09:03:01Z\",\"status\":200,\"\u{c9}\":\"a\",\"\u{e9}\":\"\",\"referer\":\"\"}
{\"time\":\"2025-12-17T09:03:02Z\",\"status\":200,\"\u{c9}\":\"b\",\"referer\":\"-\"}
";
    let log = folder.file("app.json", lines.as_bytes());
    let columns = "status,referer,\u{c9},log_\u{e9}";
    let csv = run(["export", "--to", "csv", "--columns", columns, text(&log)]).stdout;
    assert_eq!(csv, "status,referer,\u{c9},log_\u{e9}\r\n200,\"\",a,\"\"\r\n200,,b,\r\n");
}
