//! The section of the report about blocked clients, over access logs and block logs together.

use std::fs;
use std::path::Path;

use serde_json::Value;
use weir_testkit::json_schema::check;

use crate::support::{Folder, finish, line, run_with_stdin, weir};

/// An attack on a shop: its access log in UTC, an error log of nginx and a log of fail2ban two
/// hours ahead, and the kernel's log.
fn attack(folder: &Folder) {
    let (mut access, mut errors) = (String::new(), String::new());
    let mut bans = String::from(
        "2026-11-22 11:59:00,001 fail2ban.jail           [7]: INFO    Jail 'nginx-limit-req' started\n",
    );
    for second in 0..40_u32 {
        let time = format!("22/Nov/2026:10:{:02}:{:02} +0000", second / 30, second % 30);
        access += &line("198.51.100.4", &time, "GET /cart HTTP/1.1", 200, "Mozilla/5.0");
        for request in 0..second % 7 {
            let status = if request < 3 { 200 } else { 503 };
            access += &line("203.0.113.7", &time, "POST /login?u=1 HTTP/1.1", status, "curl/8");
            if request >= 3 {
                errors += &format!(
                    "2026/11/22 12:{:02}:{:02} [error] 8#8: *{second} limiting requests, excess: \
                     {request}.0{second:02} by zone \"one\", client: 203.0.113.7, server: _, \
                     request: \"POST /login?u=1 HTTP/1.1\", host: \"shop.example\"\n",
                    second / 30,
                    second % 30
                );
            }
        }
    }
    let head = "2026-11-22 12:01:09,500 fail2ban.actions        [7]: NOTICE  [nginx-limit-req]";
    bans += &format!("{head} Ban 203.0.113.7\n{head} Ban 198.51.100.99\n");
    let packet = "IN=eth0 OUT= SRC=192.0.2.66 DST=192.0.2.2 LEN=44 PROTO=TCP SPT=1 DPT=23";
    let kernel = format!("2026-11-22T10:00:05Z fw kernel: [9.1] [UFW BLOCK] {packet} SYN URGP=0\n");
    for (name, content) in [
        ("access.log", access),
        ("error.log", errors),
        ("fail2ban.log", bans),
        ("kern.log", kernel),
    ] {
        folder.file(name, content.as_bytes());
    }
}

const LOGS: [&str; 4] = ["access.log", "error.log", "fail2ban.log", "kern.log"];

fn report(folder: &Folder, options: &[&str], logs: &[&str]) -> String {
    let mut command = weir([&["report"], options, logs].concat());
    let run = finish(command.current_dir(folder.path("")));
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

fn blocks(folder: &Folder, options: &[&str], logs: &[&str]) -> Value {
    let json = report(folder, &[&["--json"], options].concat(), logs);
    let report: Value = serde_json::from_str(&json).expect("JSON");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/report.json");
    let schema =
        serde_json::from_str(&fs::read_to_string(schema).expect("a schema")).expect("JSON");
    check(&schema, &report).unwrap_or_else(|error| panic!("{error}"));
    report["blocks"].clone()
}

/// The blocked addresses and the keys of a rule are described alike, by two ways of reading.
#[test]
fn a_blocked_address_is_described_as_a_key_of_a_rule_is() {
    let folder = Folder::new();
    attack(&folder);
    let blocked = blocks(&folder, &[], &LOGS);
    let rule = "limit 1 requests in 1d by client";
    let options = ["rules", "--rule-text", rule, "--json", "access.log"];
    let run = finish(weir(options).current_dir(folder.path("")));
    let rules: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let clients = rules["rules"][0]["clients"].as_array().expect("clients");
    let profile = &blocked["clients"][0]["profile"];
    assert_eq!((&profile["client"], &profile["looks"]), (&"203.0.113.7".into(), &"program".into()));
    assert_eq!(profile["requests"], 115, "of all statuses");
    assert!(clients.contains(profile), "{profile} is not in {clients:?}");
    assert_eq!(blocked["clients"][1]["profile"], Value::Null, "it has no requests");
    let shown = report(&folder, &["--html", "-"], &LOGS);
    assert!(shown.contains("looks like: program; curl; 115 requests in all"), "{shown}");
    let run = finish(
        weir([&["rules", "--good", "203.0.113.0/24"], &LOGS[..]].concat())
            .current_dir(folder.path("")),
    );
    assert!(run.stdout.contains("looks like: program, named good; curl;"), "{}", run.stdout);
}

/// `weir rules` without a rule, compared with a file that was reviewed.
#[test]
fn without_a_rule_the_command_says_what_tripped_the_rules_and_what_lets_pass() {
    let folder = Folder::new();
    attack(&folder);
    let rules = |logs: &[&str]| {
        finish(weir([&["rules"], logs].concat()).current_dir(folder.path("")).env("COLUMNS", "80"))
    };
    let run = rules(&LOGS);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rules-in-force-80.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &run.stdout).expect("a golden file");
    }
    let expected = fs::read_to_string(&path).expect("a golden file");
    assert_eq!(run.stdout, expected, "write it with BLESS=1 and review it");
    let run = rules(&LOGS[..1]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("name an error log of nginx"), "{}", run.stderr);
    let run = rules(&["--json", "access.log"]);
    assert!(run.code == 2 && run.stderr.contains("name a rule"), "{}", run.stderr);
}

/// The section of the report, compared with a file that was reviewed.
#[test]
fn the_section_is_that_of_the_golden_file() {
    let folder = Folder::new();
    attack(&folder);
    let text = report(&folder, &[], &LOGS);
    let start = text.find("What tripped your rules").expect("the section");
    let section = &text[start..start + text[start..].find("\n\n").expect("its end") + 1];
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/blocks-80.txt");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, section).expect("a golden file");
    }
    assert_eq!(section, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
}

#[test]
fn the_clock_offset_is_estimated_from_rejections_or_set() {
    let folder = Folder::new();
    attack(&folder);
    let found = blocks(&folder, &[], &LOGS);
    assert_eq!(found["clock"]["offset_s"], 7_200);
    assert_eq!(found["clock"]["estimate"]["agreeing"], found["clock"]["estimate"]["pairs"]);
    assert_eq!(found["clients"][0]["client"], "203.0.113.7");
    assert!(found["clients"][0]["before"]["requests"].as_u64() > Some(0));
    assert_eq!(found["sampled"], true);
    // The number of threads changes nothing. With a wrong offset, no request precedes the blocks.
    assert_eq!(blocks(&folder, &["-j", "3"], &LOGS), found);
    let unset = blocks(&folder, &["--clock-offset", "-2h"], &LOGS);
    assert_eq!(unset["clock"]["offset_s"], -7_200);
    assert_eq!(unset["clients"][0]["before"]["requests"], 0);
    let counts =
        |blocks: &Value| ["blocks", "addresses", "unknown"].map(|name| blocks[name].clone());
    assert_eq!(counts(&unset), counts(&found));
}

#[test]
fn there_is_no_list_without_blocks_and_requests() {
    let folder = Folder::new();
    attack(&folder);
    assert_eq!(blocks(&folder, &[], &LOGS[..1]), Value::Null);
    assert_eq!(blocks(&folder, &[], &LOGS[1..]), Value::Null);
    assert_eq!(blocks(&folder, &["--kind", "request"], &LOGS), Value::Null);
    assert_eq!(blocks(&folder, &["--where", "status=404"], &LOGS), Value::Null);
    let of_one = blocks(&folder, &["--where", "client=198.51.100.99"], &LOGS);
    assert_eq!((&of_one["addresses"], &of_one["blocks"]), (&1.into(), &1.into()));
}

#[test]
fn csv_and_html_have_the_list_too() {
    let folder = Folder::new();
    attack(&folder);
    let found = blocks(&folder, &[], &LOGS);
    let csv = report(&folder, &["--csv"], &LOGS);
    assert!(csv.contains(",blocks,blocks,34,"), "{csv}");
    assert!(csv.contains(",blocks,clock_offset_s,7200,"), "{csv}");
    assert!(csv.contains(",blocked,client,203.0.113.7,32,"), "{csv}");
    let by_zone = ",blocked_by,203.0.113.7,\"zone \"\"one\"\" (excess 3.0 to 5.0)\",31,";
    assert!(csv.contains(by_zone), "{csv}");
    let html = report(&folder, &["--html", "-"], &LOGS);
    assert!(html.contains("<h2>What tripped your rules <small>34 blocks of 3 addresses</small>"));
    for client in found["clients"].as_array().expect("a list") {
        let sentence = client["sentence"].as_str().expect("a text");
        assert!(csv.contains(&sentence.replace('"', "\"\"")), "{sentence}");
        assert!(html.contains(&sentence.replace('"', "&quot;")), "{sentence}");
    }
    // Names of rules come from the log and are not trusted.
    let hostile = "[x] Ban 203.0.113.7".replace('x', "<script>=1");
    let line = format!("2026-11-22 12:01:09,500 fail2ban.actions        [7]: NOTICE  {hostile}\n");
    folder.file("fail2ban.log", line.as_bytes());
    let html = report(&folder, &["--html", "-"], &LOGS);
    assert!(html.contains("jail &lt;script&gt;=1") && !html.contains("<script"));
    // Without requests there is no list.
    assert!(!report(&folder, &["--csv"], &LOGS[1..]).contains("blocked"));
    assert!(!report(&folder, &["--html", "-"], &LOGS[1..]).contains("What tripped"));
}

#[test]
fn standard_input_is_named_as_the_reason() {
    let folder = Folder::new();
    attack(&folder);
    let mut log = fs::read(folder.path("access.log")).expect("a log");
    log.extend(fs::read(folder.path("error.log")).expect("a log"));
    let run = run_with_stdin(["report", "-"], &log);
    assert!(!run.stdout.contains("What tripped"), "{}", run.stdout);
    assert!(run.stderr.contains("name files instead of standard input"), "{}", run.stderr);
}
