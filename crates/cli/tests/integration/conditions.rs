//! The language of `--where`, the same in every command.

use crate::support::{Folder, run, run_with_stdin, text};

/// Requests of several kinds. The second and the last come from one client, in two spellings.
const LOG: &str = concat!(
    r#"192.0.2.1 - - [17/Dec/2025:09:00:00 +0100] "GET / HTTP/1.1" 200 500 "-" "Mozilla/5.0 (X11)""#,
    "\n",
    r#"192.0.2.99 - alice [17/Dec/2025:09:01:00 +0100] "GET /a?q=1 HTTP/1.1" 404 1500 "http://example.com/" "Googlebot/2.1""#,
    "\n",
    r#"2001:db8::1 - - [17/Dec/2025:09:02:00 +0100] "POST /login.php HTTP/1.1" 403 0 "-" """#,
    "\n",
    r#"::ffff:192.0.2.99 - - [18/Dec/2025:09:03:00 +0100] "GET /b HTTP/2.0" 503 2000000 "-" "curl/8""#,
    "\n",
);

/// The number of requests that the commands count.
fn counted(log: &str, condition: &str) -> [String; 3] {
    let report = run(["report", "--json", "--where", condition, log]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect(condition);
    let count = run(["count", "--where", condition, log]).stdout;
    let grep = run(["grep", "-c", "--where", condition, log]).stdout;
    let count = count.split_whitespace().next().unwrap_or_default().to_owned();
    [report["matching"].to_string(), count, grep.trim().to_owned()]
}

#[test]
fn every_command_reads_the_same_conditions() {
    let folder = Folder::new();
    let path = folder.file("a.log", LOG.as_bytes());
    for (condition, matching) in [
        ("status=4xx", 2),
        ("status=404,403", 2),
        ("status = 404 , 5xx", 2),
        ("status_class=4xx", 2),
        ("status!=4xx", 2),
        ("status:404", 1),
        ("bytes>1MB", 1),
        ("bytes>1K and bytes<=1.5KiB", 1),
        ("bytes!=0", 3),
        ("bytes>=1.5kB and bytes<1MiB", 1),
        ("client=192.0.2.0/25", 3),
        ("client=::ffff:192.0.2.99", 2),
        ("client=2001:db8:0:0:0:0:0:1", 1),
        ("client=\"192.0.2.99\"", 2),
        ("::ffff:192.0.2.0/120", 3),
        ("googlebot", 1),
        ("LOGIN or googleBOT", 2),
        ("not (status<400 or method=POST)", 2),
        ("request=(none)", 4),
        ("request!=(none) or path~'^/a$'", 1),
        ("user_agent=(empty)", 1),
        ("user_agent~'Mozilla/5.0 \\(X11'", 1),
        ("time=2025-12-17 and status>=400", 2),
        ("time>2025-12-17 or time<2025-12-17 09:00:30", 2),
    ] {
        let matching = matching.to_string();
        let expected = [matching.clone(), matching.clone(), matching];
        assert_eq!(counted(text(&path), condition), expected, "{condition}");
    }
}

#[test]
fn every_command_refuses_what_cannot_hold() {
    let folder = Folder::new();
    let path = folder.file("a.log", LOG.as_bytes());
    for (condition, message) in [
        ("client=10.0.0.0/40", "`/40` is not a valid IPv4 prefix (0 to 32)"),
        ("client=foo/8", "`foo` is not a valid address"),
        ("client=192.0.2/24", "write 192.0.2.0/24"),
        ("client=2001:db8::/129", "`/129` is not a valid IPv6 prefix (0 to 128)"),
        ("client=66.249.*", "write client=66.249.0.0/16"),
        ("status==404", "`==` is not an operator; write `=`"),
        ("status=abc", "`abc` is not a valid status"),
        ("method=get", "write method=GET"),
        ("path=/x*", "write path^=/x"),
        ("sttaus=404", "did you mean `status`?"),
        ("request_time>1", "the log has no field `request_time`"),
        ("status=404 and status=500", "a record has one status"),
        ("googlebot and", "a condition is missing"),
    ] {
        for command in [["report", "--where"], ["count", "--where"], ["grep", "--where"]] {
            let run = run([&command[..], &[condition, text(&path)]].concat());
            assert_eq!(run.code, 2, "{command:?} {condition}");
            assert!(run.stderr.contains(message), "{command:?} {condition}: {}", run.stderr);
        }
    }
    let marked = run(["count", "--where", "path=/ and status==404", text(&path)]).stderr;
    assert!(marked.ends_with("\n  path=/ and status==404\n                   ^^\n"), "{marked}");
}

#[test]
fn a_long_condition_is_refused_with_a_sentence() {
    let folder = Folder::new();
    let path = folder.file("a.log", LOG.as_bytes());
    let long = format!("path=/{}", "a".repeat(64 << 10));
    let run = run(["report", "--where", &long, text(&path)]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("the condition has 65542 bytes; write at most 16384"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.len() < 1_000, "{}", run.stderr);
}

#[test]
fn absent_and_empty_have_one_spelling_each() {
    let folder = Folder::new();
    let path = folder.file("a.log", LOG.as_bytes());
    let count = |arguments: &[&str]| run([&["count"], arguments, &[text(&path)]].concat()).stdout;
    assert_eq!(count(&["--by", "request"]), "4  (none)\n");
    assert_eq!(count(&["--by", "user_agent", "--where", "user_agent=(empty)"]), "1  (empty)\n");
    assert_eq!(count(&["--by", "request", "--csv"]), "request,count\r\n(none),4\r\n");
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&run([arguments, &[text(&path)]].concat()).stdout).expect("JSON")
    };
    let absent = json(&["count", "--by", "request", "--json"])["values"][0].clone();
    assert_eq!(absent, serde_json::json!({ "count": 4, "value": "(none)", "absent": true }));
    let agents = ["count", "--by", "user_agent", "--json", "--where", "status=403"];
    assert_eq!(json(&agents)["values"][0], serde_json::json!({ "count": 1, "value": "" }));
    let row = json(&["report", "--json", "--group", "request"])["group"]["rows"][0].clone();
    assert_eq!((&row["value"], &row["absent"]), (&"(none)".into(), &true.into()));
}

/// A field of a format that first occurs after the lines that detection examines.
#[test]
fn a_field_of_a_late_format_is_found() {
    let folder = Folder::new();
    let line = |host: &str, n: usize| {
        let client = format!("{host}192.0.2.{}", n % 251);
        format!(
            "{client} - - [17/Dec/2025:09:03:01 +0000] \"GET /{n} HTTP/1.1\" 200 5 \"-\" \"-\"\n"
        )
    };
    let lines = |host: &str, count| (0..count).map(|n| line(host, n)).collect::<String>();
    let (plain, hosts) = (lines("", 4_000), lines("a.example:443 ", 400));
    let log = plain.clone() + &hosts;
    let path = folder.file("a.log", log.as_bytes());
    let both = |arguments: &[&str]| {
        let file = run([arguments, &[text(&path)]].concat());
        let pipe = run_with_stdin(arguments, log.as_bytes());
        assert_eq!((file.code, &file.stdout), (pipe.code, &pipe.stdout), "{}", pipe.stderr);
        file.stdout
    };
    assert_eq!(both(&["count", "--where", "host=a.example"]), "400\n");
    assert_eq!(both(&["count", "--where", "host!=a.example"]), "4000\n");
    assert_eq!(both(&["count", "--by", "host"]), "4000  (none)\n 400  a.example\n");
    assert_eq!(both(&["grep", "-c", "--where", "host=a.example"]), "400\n");
    let refused = run_with_stdin(["count", "--by", "host"], plain.as_bytes());
    assert!(refused.stderr.contains("the log has no field `host`"), "{}", refused.stderr);
}

/// A field of one of several logs is a value that the records of the others lack.
#[test]
fn logs_that_lack_a_field_have_records_without_it() {
    let folder = Folder::new();
    let request = |host: &str| {
        format!(
            "{host}192.0.2.7 - - [17/Dec/2025:09:03:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n"
        )
    };
    let error = "2025/12/17 09:03:01 [error] 7#7: *1 open() failed, client: 192.0.2.7\n";
    let plain = folder.file("access.log", request("").repeat(3).as_bytes());
    let hosts = folder.file("hosts.log", request("a.example:443 ").repeat(2).as_bytes());
    let errors = folder.file("error.log", error.repeat(4).as_bytes());
    let mixed = folder.file("mixed.log", (request("") + error).repeat(5).as_bytes());
    let output = |command: &[&str], logs: &[&std::path::PathBuf]| {
        let logs: Vec<&str> = logs.iter().map(|log| text(log)).collect();
        let run = run([command, &logs].concat());
        assert!(!run.stderr.contains("no field"), "{command:?}: {}", run.stderr);
        run.stdout
    };
    let by_host = output(&["count", "--by", "host"], &[&plain, &hosts]);
    assert_eq!(by_host, "3  (none)\n2  a.example\n");
    let condition = ["count", "--where", "level!=error"];
    assert_eq!(output(&condition, &[&plain, &errors]).trim(), "3");
    let grep = ["grep", "-c", "--no-filename", "--where", "level!=error"];
    assert_eq!(output(&grep, &[&plain, &errors]), "3\n0\n");
    assert_eq!(output(&["count", "--by", "level"], &[&mixed]), "5  (none)\n");
    let by_level = ["count", "--by", "level", "--kind", "error-log-line"];
    assert_eq!(output(&by_level, &[&mixed, &errors]), "9  error\n");
    // A field that none of them has is an error.
    let wrong = run(["count", "--by", "hots", text(&plain), text(&hosts)]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("no field `hots`"), "{}", wrong.stderr);
}

#[test]
fn without_a_pattern_an_inverted_search_is_for_the_other_records() {
    let folder = Folder::new();
    let path = folder.file("a.log", (LOG.to_owned() + "?\n").as_bytes());
    let log = text(&path);
    let lines = |options: &[&str]| run([&["grep", "-c"], options, &[log]].concat()).stdout;
    assert_eq!(lines(&["--where", "status=404"]), "1\n");
    assert_eq!(lines(&["-v", "--where", "status=404"]), "3\n");
    let others = run(["grep", "-v", "--where", "status=404 or status=403", log]);
    let expected: Vec<&str> =
        LOG.lines().enumerate().filter(|(at, _)| at % 3 == 0).map(|(_, line)| line).collect();
    assert_eq!(others.stdout.lines().collect::<Vec<_>>(), expected);
    // If there is a pattern, `-v` inverts the pattern and not the condition.
    assert_eq!(lines(&["-v", "GET", "--where", "status=404"]), "0\n");
    assert_eq!(lines(&["-v", "POST", "--where", "status=404"]), "1\n");
}

#[test]
fn errors_name_the_fields_of_the_log_alone() {
    let folder = Folder::new();
    let firewall = "#Fields: date time action protocol src-ip\n\
                    2025-12-17 09:00:01 DROP TCP 192.0.2.1\n";
    let firewall = folder.file("pfirewall.log", firewall.as_bytes());
    for arguments in [
        &["report", "--where", "level=x"][..],
        &["count", "--where", "level=x"],
        &["grep", "--where", "level=x"],
        &["grep", "--field", "level", "x"],
        &["count", "--by", "level"],
    ] {
        let refused = run([arguments, &[text(&firewall)]].concat());
        assert_eq!(refused.code, 2, "{arguments:?}");
        let fields = "the log has no field `level`; it has time, client, protocol, action";
        assert!(refused.stderr.contains(fields), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn a_log_of_no_known_format_has_no_fields_that_could_be_missing() {
    let folder = Folder::new();
    let log = folder.file("text.log", b"hello\nworld\n");
    let log = text(&log);
    let sentence = "is a text without times or addresses, not a log";
    for arguments in [
        &["report", "--where", "level=x"][..],
        &["count", "--where", "level=x"],
        &["count", "--by", "level"],
        &["grep", "--where", "level=x"],
        &["grep", "--field", "level", "x"],
    ] {
        let unknown = run([arguments, &[log]].concat());
        assert_eq!(unknown.code, 1, "{arguments:?}: {}", unknown.stderr);
        assert!(unknown.stderr.contains(sentence), "{arguments:?}: {}", unknown.stderr);
        assert_eq!(unknown.stderr.lines().count(), 1, "{arguments:?}: {}", unknown.stderr);
    }
}

#[test]
fn a_list_of_fields_without_lines_has_its_fields_in_every_command() {
    let folder = Folder::new();
    let log = folder.file("head.log", b"#Version: 1.0\n#Fields: date time c-ip sc-status\n");
    let log = text(&log);
    for command in ["report", "count", "grep"] {
        let missing = run([command, "--where", "user=(none)", log]);
        assert_eq!(missing.code, 2, "{command}: {}", missing.stderr);
        let fields = "the log has no field `user`; it has time, client, status";
        assert!(missing.stderr.contains(fields), "{command}: {}", missing.stderr);
        assert_eq!(run([command, "--where", "status=404", log]).code, 1, "{command}");
    }
}

#[test]
fn a_condition_at_the_limits_is_the_same_in_every_command() {
    let folder = Folder::new();
    let log = folder.file("a.log", LOG.as_bytes());
    let rule = folder.file("rule", b"limit 4 requests in 10s by client\n");
    let long = |bytes: usize| format!("path={}", "a".repeat(bytes - 5));
    let deep = |levels: usize| "not ".repeat(levels) + "status=404";
    for (condition, refusal) in [
        (long(16_384), None),
        (long(16_385), Some("the condition has 16385 bytes; write at most 16384")),
        (deep(64), None),
        (deep(65), Some("brackets and `not` are nested more than 64 times")),
    ] {
        for command in [
            &["report"][..],
            &["count"],
            &["grep"],
            &["export", "--to", "csv", "--output", "-"],
            &["rules", "--rule", text(&rule)],
        ] {
            let run = run([command, &["--where", &condition, text(&log)]].concat());
            let start = refusal.map(|refusal| format!("weir: --where: {refusal}\n"));
            assert_eq!(run.code == 2, start.is_some(), "{command:?}: {}", run.stderr);
            let is_stated = start.is_none_or(|start| run.stderr.starts_with(&start));
            assert!(is_stated, "{command:?}: {}", run.stderr);
        }
        let limit = format!("limit 4 requests in 10s by client where {condition}\n");
        let rule = folder.file("conditional", limit.as_bytes());
        let run = run(["rules", "--rule", text(&rule), text(&log)]);
        let is_stated = refusal.is_none_or(|refusal| run.stderr.contains(refusal));
        assert!(is_stated && (run.code == 2) == refusal.is_some(), "a rule: {}", run.stderr);
    }
}
