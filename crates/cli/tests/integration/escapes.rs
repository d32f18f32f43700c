//! Escapes in the values of JSON lines: every command decodes them, and raw text keeps them.

use serde_json::Value;

use crate::support::{Folder, run, text};

const LOG: &str = concat!(
    r#"{"time":"2025-12-17T09:03:01Z","status":200,"path":"\/caf\u00e9\/\u0026","user_agent":"\n"}"#,
    "\n",
    r#"{"time":"2025-12-17T09:03:02Z","status":200,"path":"\/a\u001b[31m","user_agent":""}"#,
    "\n",
    r#"{"time":"2025-12-17T09:03:03Z","status":404,"path":"/a\"b","user_agent":"x"}"#,
    "\n",
    r#"{"time":"2025-12-17T09:03:04Z","status":404,"path":"/plain"}"#,
    "\n",
);

#[test]
fn conditions_and_lists_are_about_the_decoded_values() {
    let folder = Folder::new();
    let log = folder.file("a.json", LOG.as_bytes());
    let log = text(&log);
    for (condition, matching) in
        [("path=/café/&", "1"), ("path^=/", "4"), ("path='/a\"b'", "1"), (r"path~\\", "0")]
    {
        let report = run(["report", "--json", "--where", condition, log]);
        let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
        assert_eq!(report["matching"].to_string(), matching, "{condition}");
        assert_eq!(run(["grep", "-c", "--where", condition, log]).stdout.trim(), matching);
        let counted = run(["count", "--where", condition, log]).stdout;
        assert_eq!(counted.trim(), matching, "{condition}");
    }
    let paths = run(["count", "--by", "path", log]).stdout;
    assert_eq!(paths, "1  /a\\x1b[31m\n1  /a\"b\n1  /café/&\n1  /plain\n");
    let field = run(["grep", "-o", "--field", "path", "^/caf.*", log]).stdout;
    assert_eq!(field, "/café/&\n");
    let raw = run(["grep", "-c", "-F", r"caf\u00e9", log]).stdout;
    assert_eq!(raw, "1\n", "whole lines are as they are in the log");
}

#[test]
fn a_value_of_a_line_feed_is_not_the_empty_value() {
    let folder = Folder::new();
    let log = folder.file("a.json", LOG.as_bytes());
    let agents = run(["count", "--by", "user_agent", "--json", text(&log)]).stdout;
    let agents: Value = serde_json::from_str(&agents).expect("JSON");
    let mut values: Vec<String> = agents["values"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| format!("{} {}", row["value"], row["absent"]))
        .collect();
    values.sort();
    assert_eq!(values, [r#""" null"#, r#""(none)" true"#, r#""\n" null"#, r#""x" null"#]);
}

#[test]
fn wrapped_lines_are_decoded_too() {
    let folder = Folder::new();
    let first = LOG.lines().next().expect("a line");
    let escaped = first.replace('\\', r"\\").replace('"', "\\\"");
    let wrapped = [
        format!("<190>Dec 17 09:03:01 web app: {first}\n"),
        format!("2025-12-17T09:03:01.25Z stdout F {first}\n"),
        format!("{{\"log\":\"{escaped}\\n\",\"stream\":\"stdout\",\"time\":\"t\"}}\n"),
    ];
    for line in wrapped {
        let log = folder.file("wrapped.log", line.repeat(3).as_bytes());
        let paths = run(["count", "--by", "path", text(&log)]);
        assert_eq!(paths.stdout, "3  /café/&\n", "{line}{}", paths.stderr);
        let report = run(["report", "--json", text(&log)]);
        let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
        assert_eq!(report["top"]["path"][0]["value"], "/café/&", "{line}");
    }
}
