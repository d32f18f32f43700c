//! The address of what a command shows: the same after a restart.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Folder, Served, ask, page, place, report, run, text, weir};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

const LINE: &str = "::1 - - [17/Dec/2025:09:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n";

/// Starts `weir`. Returns the address that it prints.
fn start(arguments: &[&str]) -> (Served, String) {
    let mut command = weir([arguments, &["--no-open"]].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let address = page(&mut child);
    (Served(child), address)
}

/// Waits until the data set at an address has so many lines.
fn wait_for_lines(address: &str, lines: u64) {
    let start = Instant::now();
    while report(address)["lines"] != lines {
        assert!(start.elapsed() < TIMEOUT, "{lines} lines are read");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn status(host: &str, path: &str) -> u16 {
    let answer = ask(host, &format!("GET {path}"));
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

fn summary(host: &str, name: &str) -> Value {
    let answer = ask(host, &format!("GET /api/sessions/{name}"));
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn a_bookmark_leads_to_the_next_process() {
    let folder = Folder::new();
    let log = folder.file("access.log", LINE.as_bytes());
    let follow = ["--follow", text(&log), "--name", "web1", "--listen"];
    let (mut first, address) = start(&[&follow[..], &["127.0.0.1:0"]].concat());
    assert!(address.ends_with("/d/web1"), "{address}");
    let host = place(&address).0.to_owned();
    wait_for_lines(&address, 1);
    let before = summary(&host, "web1");
    // As `kill -9` does: nothing is said to the page.
    first.0.kill().expect("it runs");
    first.0.wait().expect("it ends");
    let mut file = std::fs::OpenOptions::new().append(true).open(&log).expect("it is there");
    file.write_all(LINE.as_bytes()).expect("room");
    let (_second, again) = start(&[&follow[..], &[&*host]].concat());
    assert_eq!(again, address);
    wait_for_lines(&address, 2);
    for path in ["/", "/d/web1", "/new"] {
        assert_eq!(status(&host, path), 200, "{path}");
    }
    assert_eq!(status(&host, "/d/web2"), 404);
    let after = summary(&host, "web1");
    assert!(after["started_unix_ms"].as_u64() > before["started_unix_ms"].as_u64(), "{after}");
}

#[test]
fn without_a_name_the_address_is_that_of_the_host() {
    let folder = Folder::new();
    let log = folder.file("access.log", LINE.as_bytes());
    let (_served, address) = start(&["--listen", "127.0.0.1:0", text(&log)]);
    let (host, name) = place(&address);
    assert_eq!((name, address.ends_with('/')), ("main", true), "{address}");
    wait_for_lines(&address, 1);
    assert!(ask(host, "GET /").contains("<meta name=\"weir-served\" content=\"main\" />"));
    let (_empty, address) = start(&["--listen", "127.0.0.1:0"]);
    let (host, _) = place(&address);
    assert!(!ask(host, "GET /").contains("weir-served"), "there is nothing but the page");
    assert!(ask(host, "GET /api/sessions").ends_with("{\"sessions\":[]}"));
}

#[test]
fn names_are_checked() {
    let folder = Folder::new();
    let log = folder.file("access.log", LINE.as_bytes());
    let id = "0123456789abcdef0123456789abcdef";
    for name in ["web 1", "", "../etc", "-web", "w\u{e9}b", "a/b", "<b>", id] {
        let option = format!("--name={name}");
        let refused = run(["--no-open", "--listen", "127.0.0.1:0", &option, text(&log)]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{name}");
        let sentence = "a name has 1 to 64 letters of ASCII, digits, `.`, `_` and `-`";
        assert!(refused.stderr.contains(sentence), "{name}: {}", refused.stderr);
    }
    let twice = run(["--no-open", "--name", "a", "--name", "b", text(&log)]);
    assert_eq!(twice.code, 2);
    assert!(twice.stderr.contains("--name"), "{}", twice.stderr);
    let none = run(["--no-open", "--listen", "127.0.0.1:0", "--name", "a"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("it shows no log; name the logs too"), "{}", none.stderr);
}
