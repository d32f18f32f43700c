//! Clients that send requests, and what they measure.

use std::fs;

use super::servers::Address;
use crate::load::Load;
use crate::settings::{folder, text};
use weir_tools::shell::{Outcome, command, output_of};

/// Connections that send a request as soon as they have the answer to the one before.
const CONNECTIONS: &str = "16";
/// How long a server is measured at a time.
const SECONDS: &str = "1";

/// Sends requests as fast as the server answers: for a second with wrk, or `requests` of them with
/// h2load over a Unix socket. h2load gets no duration, because it may then not end if a server
/// closes connections.
pub(super) fn closed(address: &Address, path: &str, requests: usize) -> Outcome<Load> {
    if address.unix.is_some() {
        let requests = requests.to_string();
        return h2load(address, path, &["--clients", CONNECTIONS, "--requests", &requests]);
    }
    let url = format!("{}{path}", address.url);
    let duration = format!("{SECONDS}s");
    let arguments = ["-t1", "-c", CONNECTIONS, "-d", &duration, "-s", "bench/http/wrk.lua", &url];
    Load::of_line(&output_of(&mut command("wrk", &arguments))?)
}

fn h2load(address: &Address, path: &str, arguments: &[&str]) -> Outcome<Load> {
    let log = folder()?.join("h2load.log");
    // h2load appends to the file.
    let _ = fs::remove_file(&log);
    let mut h2load = command("h2load", &["--h1", "--threads", "1", "--log-file", &text(&log)]);
    h2load.args(arguments);
    if let Some(socket) = &address.unix {
        h2load.arg(format!("--base-uri=unix:{socket}"));
    }
    output_of(h2load.arg(format!("{}{path}", address.url)))?;
    of_log(&fs::read_to_string(log)?)
}

/// Reads a log of h2load: of each request the start, the status and the time, in microseconds.
fn of_log(log: &str) -> Outcome<Load> {
    let (mut first, mut last, mut times) = (f64::INFINITY, 0.0_f64, Vec::new());
    for line in log.lines() {
        let mut fields = line.split('\t').map(str::parse::<f64>);
        let (Some(Ok(start)), Some(Ok(status)), Some(Ok(time))) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(format!("h2load's line is not understood: {line}").into());
        };
        if status != 200.0 {
            return Err(format!("a request failed with status {status}").into());
        }
        (first, last) = (first.min(start), last.max(start + time));
        times.push(time);
    }
    Load::of_times(times, (last - first) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::of_log;

    #[test]
    fn percentiles_are_computed_out_of_a_log() {
        let line = |number: usize| format!("{}\t200\t{}\n", 1_000_000 + number * 100, number);
        let log: String = (0..100).map(line).collect();
        let load = of_log(&log).unwrap();
        assert_eq!(load.latencies_us, [50.0, 75.0, 90.0, 95.0, 99.0]);
        assert_eq!((load.requests, load.seconds), (100.0, 0.009_999));
        assert!(of_log("1\t503\t2\n").is_err());
        assert!(of_log("").is_err());
    }
}
