//! `weir grep` against a naive oracle, and its output for options that grep does not have.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

use crate::support::{Folder, generated, line, run, run_with_stdin, text, weir};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use weir_testkit::fixtures;

fn raw(command: &mut Command) -> Output {
    command.output().expect("the binary runs")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// The lines of a log, without the NULs before them.
fn naive_lines(log: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = log.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for line in &mut lines {
        let nuls = line.iter().take_while(|byte| **byte == 0).count();
        line.drain(..nuls);
    }
    // Bytes after the last line feed are a line only if there are any.
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

/// The output of grep for one file, line by line.
fn naive(log: &[u8], pattern: &str, options: &str) -> Vec<u8> {
    let regex = regex::bytes::Regex::new(pattern).expect("an expression");
    let mut printed = Vec::new();
    let mut count = 0;
    for (line, number) in naive_lines(log).iter().zip(1..) {
        if regex.is_match(line) == options.contains('v') {
            continue;
        }
        count += 1;
        let prefix = if options.contains('n') { format!("{number}:") } else { String::new() };
        let mut parts: Vec<&[u8]> = vec![line];
        if options.contains('o') {
            let found = regex.find_iter(line).filter(|found| !found.is_empty());
            parts = found.map(|found| found.as_bytes()).collect();
        }
        for part in parts.into_iter().filter(|_| options != "-vo") {
            printed.extend([prefix.as_bytes(), part, b"\n"].concat());
        }
    }
    if options.contains('c') { format!("{count}\n").into_bytes() } else { printed }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_oracle(
        pieces in prop::collection::vec(
            prop::sample::select(&["a", "b", "ab", " ", "\n", "\n", "\n\0", "\0\0", "\r\n", "é", "/x?1"][..]),
            0..300,
        ),
        repeats in prop::sample::select(&[1usize, 1, 700][..]),
        pattern in prop::sample::select(&["a", "^a", "b$", "a|x", "^$", "", "ab+", "é", r"\?\d", "zz", "a.*b"][..]),
    ) {
        let log = pieces.concat().repeat(repeats).into_bytes();
        let folder = Folder::new();
        let (plain, packed) = (folder.file("a.log", &log), folder.file("b.log", &gzip(&log)));
        for options in ["-a", "-n", "-c", "-v", "-vc", "-vn", "-o", "-no"] {
            let expected = naive(&log, pattern, options);
            for path in [&plain, &packed] {
                let mut arguments = vec!["grep", "--jobs", "2", "--", pattern, text(path)];
                if options != "-a" {
                    arguments.insert(1, options);
                }
                let output = raw(&mut weir(arguments));
                prop_assert_eq!(
                    String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&expected),
                    "{} {:?}", options, pattern
                );
                let found = naive(&log, pattern, if options.contains('v') { "-v" } else { "" });
                prop_assert_eq!(output.status.code(), Some(i32::from(found.is_empty())));
            }
        }
    }
}

#[test]
fn files_are_printed_in_order_with_their_names() {
    let folder = Folder::new();
    let log = generated(1 << 20);
    let mut expected = Vec::new();
    let mut names = Vec::new();
    for number in 0..9 {
        let name = format!("{number}.log");
        let bytes = if number % 2 == 0 { log.clone() } else { gzip(&log) };
        folder.file(&name, &bytes);
        for line in log.split_inclusive(|byte| *byte == b'\n') {
            if line.windows(5).any(|part| part == b"\" 404") {
                expected.extend([name.as_bytes(), b":", line].concat());
            }
        }
        names.push(name);
    }
    assert!(!expected.is_empty());
    for jobs in ["1", "2", "5"] {
        let mut command = weir(["grep", "-j", jobs, "\" 404"]);
        let output = raw(command.args(&names).current_dir(folder.path("")));
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == expected, "{} bytes", output.stdout.len());
    }
}

#[test]
fn unreadable_files_are_reported_and_the_others_searched() {
    let folder = Folder::new();
    let good = folder.file("good.log", b"one\ntwo\n");
    let cut = gzip(&generated(1 << 20));
    let cut = folder.file("cut.gz", &cut[..cut.len() / 2]);
    let gone = folder.path("gone.log");
    let found = run(["grep", "-c", "o", text(&gone), text(&cut), text(&good)]);
    assert_eq!(found.code, 2);
    assert!(found.stderr.contains("gone.log: the file does not exist"), "{}", found.stderr);
    assert!(found.stderr.contains("cut.gz: the gzip data is "), "{}", found.stderr);
    assert!(found.stdout.contains("good.log:2\n"), "{}", found.stdout);
    let lines = found.stdout.lines().find(|line| line.contains("cut.gz:"));
    assert!(!lines.expect("the damaged file is searched").ends_with(":0"));
    assert_eq!(run(["grep", "(", text(&good)]).code, 2);
    assert_eq!(run(["grep", "--where", "x=", "", text(&good)]).code, 2);
}

#[test]
fn a_closed_output_ends_the_search_quietly() {
    let folder = Folder::new();
    let log = folder.file("a.log", &generated(4 << 20));
    let mut command = weir(["grep", "", text(&log)]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut [0; 10]).expect("the first bytes");
    drop(pipe);
    let output = child.wait_with_output().expect("the command ends");
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

#[test]
fn fields_of_records_are_searched() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:00:00 +0000";
    let log = line("192.0.2.1", time, "GET /a HTTP/1.1", 200, "=cmd()")
        + "nothing /a that fits\n"
        + &line("192.0.2.2", time, "GET /b HTTP/1.1", 404, "/a")
        + &line("10.0.0.1", time, "GET /ab HTTP/1.1", 404, "x,y");
    let log = folder.file("a.log", log.as_bytes());
    let grep = |arguments: &[&str]| run([&["grep"], arguments, &[text(&log)]].concat());
    assert_eq!(grep(&["-c", "/a"]).stdout, "4\n");
    let paths = grep(&["-n", "-o", "--field", "path", "^/a.*"]);
    assert_eq!(paths.stdout, "1:/a\n4:/ab\n");
    assert!(paths.stderr.contains("1 line does not match"), "{}", paths.stderr);
    assert_eq!(grep(&["-c", "-v", "--field", "path", "a"]).stdout, "1\n");
    assert_eq!(grep(&["-c", "--where", "status=404", "/a"]).stdout, "2\n");
    assert_eq!(grep(&["-c", "--where", "client=10.0.0.0/8", ""]).stdout, "1\n");
    assert_eq!(grep(&["-c", "--where", "bytes>10", ""]).stdout, "0\n");
    assert_eq!(grep(&["-c", "--where", "time>=2025-12-17T10:00:00+01:00", ""]).stdout, "3\n");
    let missing = grep(&["--field", "upstream_time", "1"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("has no field `upstream_time`"), "{}", missing.stderr);

    let json = grep(&["--json", "/a"]).stdout;
    let rows: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows.len(), 4);
    assert_eq!(
        (&rows[0]["path"], &rows[0]["bytes"], &rows[0]["line"]),
        (&"/a".into(), &10.into(), &1.into())
    );
    assert_eq!(rows[1]["raw"], "nothing /a that fits");
    assert!(rows[1].get("path").is_none());

    let csv = grep(&["--csv", "--where", "status=200", ""]).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].starts_with("file,line,time,client,"), "{}", rows[0]);
    assert!(rows[0].ends_with(",raw"));
    assert!(rows[1].contains(",\"'=cmd()\","), "{}", rows[1]);
}

#[test]
fn raw_bytes_are_printed_unchanged() {
    let folder = Folder::new();
    let log = folder.file("a.log", b"a\x1b[31m\xff\0b\r\nc");
    let output = raw(&mut weir(["grep", "", text(&log)]));
    assert_eq!(output.stdout, b"a\x1b[31m\xff\0b\r\nc\n");
    let json = run(["grep", "--json", "a", text(&log)]).stdout;
    assert!(json.contains("\"raw_hex\":\"611b5b33316dff00620d\""), "{json}");
}

#[test]
fn only_names_of_files_are_printed() {
    let paths = fixtures::nginx_combined();
    let mut command = weir(["grep", "-l", "wp-login"]);
    let found = crate::support::finish(command.args(&paths));
    let has = |path: &&std::path::PathBuf| {
        let bytes = std::fs::read(path).expect("a fixture");
        bytes.windows(8).any(|part| part == b"wp-login")
    };
    let expected: Vec<&str> = paths.iter().filter(has).map(|path| text(path)).collect();
    assert_eq!(found.stdout.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_large_file_is_searched_in_pieces_and_its_lines_stay_in_order() {
    let folder = Folder::new();
    // Large enough to be divided, with a line that is longer than a piece.
    let log = [generated(15 << 20), vec![b'x'; 9 << 20], generated(4 << 20)].concat();
    let path = folder.file("a.log", &log);
    let expected = naive(&log, "\" 404 |x$|x1", "");
    for jobs in ["1", "2", "5"] {
        let output = raw(&mut weir(["grep", "-j", jobs, "\" 404 |x$|x1", text(&path)]));
        assert!(output.stdout == expected, "{jobs} jobs: {} bytes", output.stdout.len());
        let count = raw(&mut weir(["grep", "-c", "-v", "-j", jobs, "Firefox", text(&path)]));
        assert_eq!(count.stdout, naive(&log, "Firefox", "-vc"));
        let options = ["--field", "path", "--where", "status=404", "^/[a-f]", text(&path)];
        let one = raw(&mut weir([&["grep", "-j", "1"], &options[..]].concat()));
        let many = raw(&mut weir([&["grep", "-j", jobs], &options[..]].concat()));
        assert!(!one.stdout.is_empty() && one == many, "{jobs} jobs");
    }
}

#[test]
fn times_without_a_year_have_the_year_of_their_file() {
    let folder = Folder::new();
    let line = "Dec 31 10:00:00 host kernel: IN=eth0 OUT= SRC=192.0.2.1 DST=192.0.2.2 PROTO=TCP\n";
    let small = folder.file("small.log", line.as_bytes());
    // Large enough to be searched in pieces.
    let large = folder.file("large.log", line.repeat((20 << 20) / line.len()).as_bytes());
    for log in [&small, &large] {
        // A time in June 2019.
        let written = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_559_390_400);
        let file = std::fs::File::options().write(true).open(log).expect("a file");
        file.set_modified(written).expect("a time");
        let json = run(["grep", "--json", "IN=", text(log)]).stdout;
        assert!(json.lines().next().is_some_and(|line| line.contains("\"2018-12-31T10:00:00Z\"")));
        let one = ["count", "--by", "client", "--where", "time>=2018-12-31T00:00:00Z", "--where"];
        let counted = run([&one[..], &["time<2019-01-01T00:00:00Z", text(log)]].concat()).stdout;
        assert!(counted.contains("192.0.2.1"), "{counted}");
    }
}

#[test]
fn beside_a_condition_no_pattern_is_needed() {
    let folder = Folder::new();
    let time = "17/Dec/2025:09:00:00 +0000";
    let lines =
        [200, 404, 404].map(|status| line("192.0.2.1", time, "GET / HTTP/1.1", status, "-"));
    let lines = lines.concat();
    let path = folder.file("a.log", lines.as_bytes());
    let log = text(&path);
    let count = |arguments: &[&str]| {
        let found = run([&["grep", "-c", "--no-filename"], arguments].concat());
        (found.stdout, found.code)
    };
    let found = |number: &str| (format!("{number}\n"), 0);
    assert_eq!(count(&["--where", "status=404", log]), found("2"));
    assert_eq!(count(&["--where", "status=404", "", log]), found("2"));
    assert_eq!(count(&["--where", "status=404", "GET", log]), found("2"));
    assert_eq!(count(&["--where", "status=404", "POST", log]).1, 1);
    // If a file is named too, a directory before it is a pattern.
    let directory = text(path.parent().expect("a folder"));
    assert_eq!(count(&["--where", "status=404", directory, log]).1, 1);
    assert_eq!(count(&["--where", "status=404", directory]), found("2"));
    let stdin = crate::support::run_with_stdin(
        ["grep", "-c", "--where", "status=404", "-"],
        lines.as_bytes(),
    );
    assert_eq!(stdin.stdout, "2\n");
    // -e makes sure that it is a pattern, even if it is the name of a file.
    assert_eq!(count(&["--where", "status=404", "-e", log, log]).1, 1);
    assert_eq!(count(&["-e", "-", log]), found("3"));
    let nothing = run(["grep"]);
    assert_eq!(nothing.code, 2);
    assert!(
        nothing.stderr.contains("a pattern, conditions with --where, or both"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn csv_has_the_columns_that_the_logs_have() {
    let folder = Folder::new();
    let header = |arguments: &[&str]| {
        let found = run(arguments.iter().copied());
        assert_eq!((found.code, found.stderr.as_str()), (0, ""), "{arguments:?}");
        found.stdout.lines().next().expect("a header").to_owned()
    };
    let text_log = folder
        .file("a.log", b"192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n");
    let of_text = "file,line,time,client,user,method,path,query,protocol,status,request,bytes,raw";
    assert_eq!(header(&["grep", "--csv", "", text(&text_log)]), of_text);
    let member =
        "{\"time\":\"2025-12-17T09:03:01Z\",\"path\":\"/a\",\"status\":200,\"tenant\":\"acme\"}\n";
    let json_log = folder.file("b.json", member.as_bytes());
    let of_json = "file,line,time,path,status,tenant,raw";
    assert_eq!(header(&["grep", "--csv", "", text(&json_log)]), of_json);
    let of_both = of_text.replace("bytes,", "bytes,tenant,");
    assert_eq!(header(&["grep", "--csv", "", text(&text_log), text(&json_log)]), of_both);
    let of_pipe = run_with_stdin(["grep", "--csv", ""], member.as_bytes()).stdout;
    let rows: Vec<&str> = of_pipe.lines().collect();
    assert_eq!(rows[0], "file,line,time,path,status,tenant,other_fields,raw");
    assert!(
        rows[1].starts_with("standard input,1,2025-12-17T09:03:01Z,/a,200,acme,,"),
        "{of_pipe}"
    );
}

#[test]
fn columns_are_chosen_by_their_names() {
    let folder = Folder::new();
    let path = folder.file(
        "a.json",
        b"{\"time\":\"2025-12-17T09:03:01Z\",\"path\":\"/a\",\"status\":200,\"bytes\":7,\"tenant\":\"acme\"}\nno record\n",
    );
    let grep = |arguments: &[&str]| {
        run(["grep"].iter().chain(arguments).copied().chain(["", text(&path)]))
    };
    let csv = grep(&["--csv", "--columns", "status_code,uri,line,tenant,path"]).stdout;
    assert_eq!(csv, "status,path,line,tenant\r\n200,/a,1,acme\r\n,,2,\r\n");
    let json = grep(&["--json", "--columns", "tenant,bytes,line"]).stdout;
    assert_eq!(json, "{\"tenant\":\"acme\",\"bytes\":7,\"line\":1}\n{\"line\":2}\n");
    let others = grep(&["--csv", "--columns", "path,other_fields", "--where", "path=/a"]).stdout;
    let object = "\"{\"\"time\"\":\"\"2025-12-17T09:03:01Z\"\",\"\"status\"\":\"\"200\"\",\"\"bytes\"\":7,\"\"tenant\"\":\"\"acme\"\"}\"";
    assert_eq!(others, format!("path,other_fields\r\n/a,{object}\r\n"));
    let all = grep(&["--csv", "--columns", "tenant,*"]).stdout;
    assert!(all.starts_with("tenant,file,line,time,path,status,bytes,raw\r\nacme,"), "{all}");
    for (arguments, message) in [
        (&["--csv", "--columns", "tenent"][..], "did you mean `tenant`?"),
        (
            &["--columns", "path"],
            "--columns: lines are printed as they are in the logs; add --csv or --json",
        ),
    ] {
        let refused = grep(arguments);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
    }
}

#[test]
fn a_field_that_appears_after_the_header_is_kept_or_named() {
    let folder = Folder::new();
    let member = |more: &str| {
        format!("{{\"time\":\"2025-12-17T09:03:01Z\",\"path\":\"/a\",\"status\":200{more}}}\n")
    };
    // More than the first lines that decide.
    let content = member(",\"a\":1").repeat(6_000) + &member(",\"b\":\"late\"");
    let path = folder.file("a.json", content.as_bytes());
    let found = run(["grep", "--csv", "late", text(&path)]);
    let rows: Vec<&str> = found.stdout.lines().collect();
    assert_eq!((found.code, rows[0]), (0, "file,line,time,path,status,a,other_fields,raw"));
    assert!(rows[1].contains("extra_more"), "{}", rows[1]);
    let request = "192.0.2.1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";
    let with_host = format!("late.example:80 {request}").repeat(2);
    let path = folder.file("b.log", (request.repeat(6_000) + &with_host).as_bytes());
    let found = run(["grep", "--csv", "late", text(&path)]);
    assert_eq!(found.code, 2, "{}", found.stdout);
    let message = "these fields have no column, because they appeared after the header was written: host, port;";
    assert!(found.stderr.contains(message), "{}", found.stderr);
    let found = run(["grep", "--csv", "--columns", "*,other_fields", "late", text(&path)]);
    assert_eq!((found.code, found.stderr.as_str()), (0, ""));
    assert!(found.stdout.contains("\"\"host\"\":\"\"late.example\"\""), "{}", found.stdout);
}
