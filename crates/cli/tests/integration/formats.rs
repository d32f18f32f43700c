//! `--format` and `weir formats`: notations of other programs, names that are not known, and logs
//! that no known format fits.

use crate::support::{Folder, run, text};
use serde_json::Value;

const LINES: &str = "\
192.0.2.1 - - [17/Dec/2025:09:03:01 +0100] \"GET /a HTTP/1.1\" 200 512 \"-\" \"curl/8.0\"
192.0.2.2 - jo [17/Dec/2025:09:03:02 +0100] \"GET /b HTTP/1.1\" 404 10 \"-\" \"curl/8.0\"
";

/// The members of the report on a log that do not depend on the format, with these options.
fn report(options: &[&str], log: &str) -> Value {
    let all = [&["report", "--json"], options, &[log]].concat();
    let run = run(all);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let members = ["records", "unparsed_lines", "bytes_sent", "errors", "time", "histogram"];
    members.map(|member| report[member].clone()).into_iter().collect()
}

#[test]
fn goaccess_s_notation_reads_what_combined_reads() {
    let folder = Folder::new();
    let log = folder.path("access.log");
    std::fs::write(&log, LINES).expect("a log");
    let configuration = folder.path("goaccess.conf");
    let format = "%h %^[%d:%t %^] \"%r\" %s %b \"%R\" \"%u\"";
    let lines = format!("time-format %T\ndate-format %d/%b/%Y\n# x\nlog-format {format}\n");
    std::fs::write(&configuration, lines).expect("a configuration");

    let expected = report(&["--format", "COMBINED"], text(&log));
    assert_eq!(expected[0].as_u64(), Some(2));
    for options in [
        &["--format", format][..],
        &["--log-format", format, "--date-format", "%d/%b/%Y", "--time-format", "%H:%M:%S"],
        &["--format", text(&configuration)],
    ] {
        assert_eq!(report(options, text(&log)), expected, "{options:?}");
    }
    let wrong = run(["report", "--format", "%h %^[%d]", "--date-format", "%Q", text(&log)]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("  date-format %Q\n"), "{}", wrong.stderr);
}

#[test]
fn a_name_that_is_not_known_brings_the_nearest() {
    let run = run(["report", "--format", "COMBIND", "-"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("did you mean COMBINED or VCOMBINED?"), "{}", run.stderr);
}

#[test]
fn the_nearest_formats_come_first_and_each_reason_names_its_format() {
    let folder = Folder::new();
    let log = folder.path("cut.log");
    for (line, nearest) in [
        (
            "192.0.2.1:52814 [17/Dec/2025:09:03:01.250] front back/s1 0/0/1/2/4 200 512 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\" x\n",
            "HAPROXY",
        ),
        (
            "{\"when\":1,\"status\":200,\"client\":\"192.0.2.1\",\"method\":\"GET\",\"size\":5}\n",
            "JSON",
        ),
        (
            "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\n",
            "COMBINED",
        ),
    ] {
        std::fs::write(&log, line.repeat(3)).expect("a log");
        let formats = run(["formats", text(&log)]);
        assert_eq!(formats.code, 1);
        let heading =
            formats.stdout.lines().find(|line| line.starts_with("Lines that do not match "));
        let expected = format!("Lines that do not match {nearest}");
        assert_eq!(heading, Some(expected.as_str()), "{}", formats.stdout);
        let report = run(["report", text(&log)]);
        assert!(report.stdout.contains(&format!(": {nearest}: ")), "{}", report.stdout);
    }
}

#[test]
fn a_known_line_with_something_around_it_is_read_and_its_definition_shown() {
    let folder = Folder::new();
    let log = folder.path("surrounded.log");
    let haproxy = "192.0.2.1:52814 [17/Dec/2025:09:03:01.250] front back/s1 0/0/1/2/4 200 512 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"";
    let combined =
        "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\"";
    for (line, expected) in [
        (format!("front {haproxy}"), "3 lines  HAPROXY after value\n"),
        (
            format!("Dec 17 host haproxy[12]: {haproxy}"),
            "HAPROXY after 2 values, host and program\n",
        ),
        (format!("{combined} rt=0.012 7"), "'COMBINED and rt=$request_time $extra_1'\n"),
    ] {
        std::fs::write(&log, format!("{line}\n").repeat(3)).expect("a log");
        let formats = run(["formats", text(&log)]);
        assert_eq!(formats.code, 0);
        assert!(formats.stdout.contains(expected), "{}", formats.stdout);
    }
}

/// The argument of `--format` in a text, without the quotes of the shell.
fn definition_in(text: &str) -> String {
    let start = text.find("--format '").unwrap_or_else(|| panic!("no definition: {text}"));
    let rest = &text[start + "--format '".len()..];
    rest[..rest.find("'\n").expect("the end of the argument")].to_owned()
}

#[test]
fn every_command_gives_a_definition_that_reads_all_lines_when_it_is_pasted() {
    let folder = Folder::new();
    let log = folder.path("own.log");
    let combined =
        "192.0.2.1 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\"";
    let own = "2025-12-17 09:03:01,123 INFO 192.0.2.1:443 \"GET /a HTTP/1.1\" 200 17\n\
               2025-12-17 09:03:02,001 WARN 192.0.2.8:9 \"POST /b HTTP/1.1\" 404 -\n\
               2025-12-17 09:03:03,001 WARN 192.0.2.8:9 \"POST /b HTTP/1.1\" 404 -\n";
    let tails = format!("{combined} 7 [a] rt=0.012\n{combined} 8\n{combined} 9 [b] x\n");
    for (lines, commands) in [
        (own.to_owned(), &["report", "formats", "grep", "count", "export"][..]),
        (tails, &["report", "formats"]),
        (
            format!("web-1  | {combined} 7\ndatabase-12 | {combined} -\nweb-1  | {combined}\n"),
            &["report"],
        ),
    ] {
        std::fs::write(&log, lines).expect("a log");
        for command in commands {
            let options = match *command {
                "grep" => &["--where", "status>=0"][..],
                "count" => &["--by", "status"],
                "export" => &["--to", "csv"],
                _ => &[],
            };
            let told = run([&[*command], options, &[text(&log)]].concat());
            let definition = definition_in(&(told.stdout + &told.stderr));
            let pasted = run(["report", "--json", "--format", &definition, text(&log)]);
            let report: Value = serde_json::from_str(&pasted.stdout).expect("JSON");
            assert_eq!(report["records"], 3, "{command}: {definition}");
            assert_eq!(report["unparsed_lines"], 0, "{command}: {definition}");
        }
        let json: Value =
            serde_json::from_str(&run(["report", "--json", text(&log)]).stdout).expect("JSON");
        let suggestion = match json["records"].as_u64() {
            Some(0) => &json["sources"][0]["unread"]["suggestion"],
            _ => &json["format"]["suggestion"],
        };
        let definition = suggestion.as_str().expect("a definition");
        assert_eq!(report(&["--format", definition], text(&log))[1], 0, "{definition}");
        let html = folder.path("report.html");
        run(["report", "--html", text(&html), text(&log)]);
        let fits: Value =
            serde_json::from_str(&run(["formats", "--json", text(&log)]).stdout).expect("JSON");
        let of_fits = fits["suggestion"]["definition"].as_str();
        assert_eq!(of_fits.or(fits["formats"][0]["suggestion"].as_str()), Some(definition));
    }
}

#[test]
fn a_file_that_is_no_log_is_called_what_it_is() {
    let folder = Folder::new();
    for (name, bytes, what) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\n\0"[..], "is a PNG image, not a log"),
        (
            "a.csv",
            b"name,city\nAnn,Rome\nBea,Oslo\n",
            "is a table without times or addresses, not a log",
        ),
        (
            "a.txt",
            b"Dear reader,\nthis is a letter.\n",
            "is a text without times or addresses, not a log",
        ),
    ] {
        let file = folder.file(name, bytes);
        let told = run(["report", "--json", text(&file)]);
        assert_eq!(told.code, 1);
        assert!(told.stderr.contains(&format!("{what}; Weir reads logs")), "{}", told.stderr);
        let report: Value = serde_json::from_str(&told.stdout).expect("JSON");
        let unread = serde_json::json!({ "reason": what, "is_log": false });
        assert_eq!(report["sources"][0]["unread"], unread);
        let counted = run(["count", "--by", "status", text(&file)]);
        assert!(counted.stderr.contains(what), "{}", counted.stderr);
    }
}

#[test]
fn no_format_is_near_to_plain_text() {
    let folder = Folder::new();
    let log = folder.file("text.log", b"hello world\nwith some words in it, and more of them\n");
    let formats = run(["formats", text(&log)]);
    assert_eq!(formats.code, 1);
    let start = format!(
        "{}, the first 2 lines\n\nNo known format fits a line, or the start of one.\n\n\
         Lines that do not match COMBINED\n  line 1, column ",
        text(&log)
    );
    assert!(formats.stdout.starts_with(&start), "{}", formats.stdout);
    assert_eq!(formats.stdout.matches("do not match").count(), 1, "{}", formats.stdout);
    let report = run(["report", text(&log)]).stdout;
    assert!(report.contains("no known format fits the start of the line"), "{report}");
}

/// What stands before a client decides who the client is; the addresses in it are not all clients.
#[test]
fn the_client_is_found_behind_what_stands_before_it() {
    let line = |start: &str, minute: usize| {
        format!(
            "{start} - - [17/Dec/2025:09:{minute:02}:01 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n"
        )
    };
    let host = |number: usize| match number % 5 {
        0..=2 => format!("198.51.100.{number}"),
        _ => "example.com".to_owned(),
    };
    type Start<'s> = (&'s str, &'s dyn Fn(usize) -> String, usize);
    let starts: [Start<'_>; 9] = [
        ("a balancer behind X-Forwarded-For", &|n| format!("203.0.113.{n} 10.0.0.1"), 40),
        ("the same in compose", &|n| format!("web-1  | 203.0.113.{n} 10.0.0.1"), 40),
        (
            "a server and a virtual host",
            &|n| format!("10.0.0.{} example.com 203.0.113.{n}", n % 2),
            40,
        ),
        ("the address of the server", &|_| "10.0.0.5 10.0.0.9".to_owned(), 1),
        ("two addresses of the server", &|n| format!("10.0.0.{} 203.0.113.9", n % 2), 1),
        ("hosts that strangers choose", &|n| format!("{} 203.0.113.{}", host(n), n % 7), 7),
        ("colours", &|n| format!("\x1b[36mweb-1  | \x1b[0m192.0.2.{n}"), 40),
        ("host names in compose", &|n| format!("web-1  | h{n}.example.com"), 40),
        (
            "host names in syslog",
            &|n| format!("Dec 17 09:03:01.1 web nginx[7]: h{n}.example.com"),
            40,
        ),
    ];
    let folder = Folder::new();
    for (name, start, clients) in starts {
        let log: String = (0..40).map(|number| line(&start(number), number)).collect();
        let log = folder.file("a.log", log.as_bytes());
        let counted = run(["count", "--by", "client", "--json", text(&log)]);
        let object: serde_json::Value = serde_json::from_str(&counted.stdout).expect(name);
        let rows = object["values"].as_array().expect(name);
        assert_eq!(rows.len(), clients, "{name}: {}", counted.stdout);
        assert!(
            !counted.stdout.contains("web-1\"") && !counted.stdout.contains("\"Dec\""),
            "{name}"
        );
    }
}

#[test]
fn the_year_of_lines_without_one_is_stated_or_in_the_name() {
    let folder = Folder::new();
    let line = |time: &str| {
        format!(
            "{time} web kernel: [1.5] [UFW BLOCK] IN=eth0 OUT= SRC=192.0.2.7 DST=192.0.2.1 LEN=40 \
             PROTO=TCP SPT=1 DPT=2\n"
        )
    };
    let lines = [line("Nov 30 10:00:00"), line("Jan  2 11:00:00")].concat();
    let report = |name: &str, options: &[&str]| {
        let log = folder.file(name, lines.as_bytes());
        let json = run([&["report", "--json"], options, &[text(&log)]].concat());
        let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
        let shown = run([&["report"], options, &[text(&log)]].concat()).stdout;
        (report["time"].clone(), shown)
    };
    let named = ["2022-11-30T10:00:00Z", "2023-01-02T11:00:00Z"];
    for (name, options, times, from) in [
        ("kern-20230105.log", &[][..], named, "name"),
        ("kern.log.2023-01-02", &[], named, "name"),
        (
            "kern-20230105.log",
            &["--year", "2019"],
            ["2019-11-30T10:00:00Z", "2020-01-02T11:00:00Z"],
            "stated",
        ),
        (
            "kern.log",
            &["--year", "2019", "--format", "firewall"],
            ["2019-11-30T10:00:00Z", "2020-01-02T11:00:00Z"],
            "stated",
        ),
    ] {
        let (time, shown) = report(name, options);
        assert_eq!((&time["first"], &time["last"]), (&times[0].into(), &times[1].into()), "{name}");
        assert_eq!(time["year_from"], from, "{name}");
        let doubt = "Year            by the day in the file's name; see --year";
        assert_eq!(shown.contains(doubt), from == "name", "{shown}");
        assert_eq!(shown.contains("--year"), from == "name", "{shown}");
    }
    // A day that the log begins on.
    let days: String = (1..=30).map(|day| line(&format!("Jun {day:2} 10:00:00"))).collect();
    let log = folder.file("fw-2025-06-01.log", days.as_bytes());
    let printed = run(["report", "--json", text(&log)]).stdout;
    let of_days: Value = serde_json::from_str(&printed).expect("JSON");
    let time = &of_days["time"];
    assert_eq!(
        (&time["first"], &time["last"]),
        (&"2025-06-01T10:00:00Z".into(), &"2025-06-30T10:00:00Z".into())
    );
    let (time, shown) = report("kern.log", &[]);
    assert_eq!(time["year_from"], "written");
    assert!(
        shown.contains("Year            that of the file's last change; see --year"),
        "{shown}"
    );
    let log = folder.file("kern.log", lines.as_bytes());
    assert_eq!(run(["report", "--year", "1492", text(&log)]).code, 2);
}

#[test]
fn a_line_of_1970_makes_no_steps_of_a_year() {
    let folder = Folder::new();
    let line = |time: &str| {
        format!("192.0.2.7 - - [{time} +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n")
    };
    let times = ["17/Dec/2025:09:03:01", "01/Jan/1970:00:00:05", "17/Dec/2025:09:03:03"];
    let log = folder.file("access.log", times.map(line).concat().as_bytes());
    let printed = run(["report", "--json", text(&log)]).stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(report["records"], 3);
    assert_eq!(report["time"]["first"], "1970-01-01T00:00:05Z");
    let histogram = &report["histogram"];
    assert_eq!((&histogram["step_s"], &histogram["left_out"]), (&1.into(), &1.into()));
    assert_eq!(histogram["buckets"].as_array().map(Vec::len), Some(3));
    let shown = run(["report", text(&log)]).stdout;
    assert!(
        shown.contains("Requests per second, times in UTC; 1 of a time before 1990 is left out"),
        "{shown}"
    );
    // So have they, if a condition chooses no others.
    let early = line("01/Jan/1970:00:00:05").replace(" 200 ", " 404 ");
    let lines = [line(times[0]), early, line(times[2])].concat();
    let log = folder.file("mixed.log", lines.as_bytes());
    let printed = run(["report", "--json", "--where", "status=404", text(&log)]).stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let histogram = &report["histogram"];
    let start = histogram["buckets"][0]["start"].as_str().expect("a time");
    assert!(start.starts_with("1970-01-01T00:00:0"), "{histogram}");
    assert_eq!(
        (&histogram["left_out"], &histogram["buckets"][0]["count"]),
        (&Value::Null, &1.into())
    );
    // A log of nothing else has its own buckets.
    let log = folder.file("old.log", line("01/Jan/1970:00:00:05").as_bytes());
    let printed = run(["report", "--json", text(&log)]).stdout;
    let report: Value = serde_json::from_str(&printed).expect("JSON");
    let histogram = &report["histogram"];
    assert_eq!(histogram["buckets"][0]["start"], "1970-01-01T00:00:05Z");
    assert_eq!(histogram["left_out"], Value::Null);
}

#[test]
fn the_client_behind_a_balancer_is_chosen_alike_by_all_commands() {
    let folder = Folder::new();
    let line = |peer: &str, header: &str| {
        format!(
            "{peer} - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 512 \"-\" \"curl/8\" \"{header}\"\n"
        )
    };
    let log = folder.file(
        "access.log",
        [
            line("10.0.0.9", "1.1.1.1, 203.0.113.9"),
            line("10.0.0.8", "203.0.113.9, 10.0.0.7"),
            line("198.51.100.4", "203.0.113.9"),
        ]
        .concat()
        .as_bytes(),
    );
    let log = text(&log);
    let clients = |options: &[&str]| {
        let run = run([&["count", "--by", "client", "--json"], options, &[log]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let counted: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let rows = counted["values"].as_array().expect("values").clone();
        rows.iter().map(|row| row["value"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    let trust = ["--trust", "10.0.0.0/8"];
    assert_eq!(clients(&trust), ["203.0.113.9", "198.51.100.4"]);
    assert_eq!(clients(&["--client", "http_x_forwarded_for"]), ["203.0.113.9", "1.1.1.1"]);
    assert_eq!(clients(&["--trust", "10.0.0.9", "--trust", "fd00::/8"]).len(), 3);

    let json = |options: &[&str]| -> Value {
        let run = run([&["report", "--json"], options, &[log]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        serde_json::from_str(&run.stdout).expect("JSON")
    };
    let report = json(&trust);
    assert_eq!(report["distinct"]["client"], 2);
    assert_eq!(report["format"]["client_field"], "http_x_forwarded_for");
    assert!(json(&[])["format"].get("client_field").is_none());
    let found = run(["grep", "--where", "client=203.0.113.9", "--count", trust[0], trust[1], log]);
    assert_eq!(found.stdout.trim(), "2", "{}", found.stderr);
    let exported = run(["export", "--to", "jsonl", trust[0], trust[1], log]);
    assert_eq!(exported.stdout.matches("\"client\":\"203.0.113.9\"").count(), 2);
    let rule = "limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m;\nlimit_req zone=one;";
    let rules = run(["rules", "--json", "--rule-text", rule, trust[0], trust[1], log]);
    let replayed: Value = serde_json::from_str(&rules.stdout).expect("JSON");
    // The lines begin with the balancers, which are not the clients.
    let clients = replayed["rules"][0]["clients"].as_array().expect("clients");
    let own = clients.iter().find(|client| client["client"] == "203.0.113.9");
    assert_eq!(own.expect("the client")["requests"], 2);

    for command in [&["report"][..], &["count", "--by", "status"], &["export", "--to", "csv"]] {
        let wrong = run([command, &["--client", "x_real_ip", log]].concat());
        assert_eq!(wrong.code, 2, "{command:?}: {}", wrong.stderr);
        assert!(wrong.stderr.contains("--client: "), "{command:?}: {}", wrong.stderr);
    }
    let bare = folder.file(
        "bare.log",
        crate::support::line("::1", "17/Dec/2025:09:03:01 +0000", "GET / HTTP/1.1", 200, "-")
            .as_bytes(),
    );
    for command in [&["report"][..], &["export", "--to", "csv"]] {
        let wrong = run([command, &trust, &[text(&bare)]].concat());
        assert_eq!(wrong.code, 2, "{command:?}: {}", wrong.stderr);
        assert!(
            wrong.stderr.contains("--trust: the log has no X-Forwarded-For"),
            "{}",
            wrong.stderr
        );
    }
    let wrong = run(["report", "--trust", "10.0.0.0", "--trust", "balancer", log]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("this is not a network"), "{}", wrong.stderr);
}
