//! `weir rules` against limits that other programs enforce, request for request. `cargo xtask test`
//! installs them; to run those with HAProxy alone:
//! `cargo test -p weir --test integration limiters::haproxy -- --ignored`.
//!
//! The clock of a log is not the one of a limit. So the client does not send requests that are too
//! close to a limit for the log to be decisive. A request that may have come too late is not compared,
//! and the next ones have another address. The test goes on until enough are compared, so that a busy
//! machine makes it longer.

#![cfg(unix)]

mod apache;
mod core_rule_set;
mod haproxy;
mod mod_evasive;
mod payloads;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::support::{run, text};

/// A step of a test fails after this time. It allows for a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A request that took longer may have come too late.
const REQUEST_TIME_MAX: Duration = Duration::from_millis(25);

/// How close to a limit a request may come.
const DISTANCE_MS: u64 = 30;

/// A program, which is killed when the test ends.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something is there.
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < TIMEOUT, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What was compared.
#[derive(Debug, Default)]
struct Comparison {
    compared: usize,
    rejected: usize,
    undecided: usize,
    wrong: Vec<String>,
}

/// Compares the decisions about a log with its statuses, of which one is that of a rejection.
/// The lines of `late`, by number from 1, are left out.
fn compare(
    rule: &Path,
    log: &Path,
    format: &str,
    rejection: &str,
    late: &BTreeSet<usize>,
) -> Comparison {
    let replayed =
        run(["rules", "--decisions", "--format", format, "--rule", text(rule), text(log)]);
    assert!(matches!(replayed.code, 0 | 3), "{}", replayed.stderr);
    let lines = std::fs::read_to_string(log).expect("a log");
    let lines: Vec<&str> = lines.lines().collect();
    let mut comparison = Comparison::default();
    for decision in replayed.stdout.lines() {
        let decision: serde_json::Value = serde_json::from_str(decision).expect("JSON");
        let number = decision["line"].as_u64().expect("a number") as usize;
        let (line, verdict) = (lines[number - 1], decision["verdict"].as_str().expect("text"));
        if late.contains(&number) {
            continue;
        }
        comparison.compared += 1;
        let is_rejected = line.contains(rejection);
        comparison.rejected += usize::from(is_rejected);
        match verdict {
            "undecided" => comparison.undecided += 1,
            _ if (verdict == "rejected") != is_rejected => {
                comparison.wrong.push(format!("{line} but {verdict}"));
            }
            _ => {}
        }
    }
    comparison
}
