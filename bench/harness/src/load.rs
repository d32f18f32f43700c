//! The load of a server, and what its client measures.

use std::process::Command;

use crate::measure::{Contender, Unit, take_turns};
use crate::process::RunningProgram;
use crate::table::Table;
use weir_tools::shell::{Outcome, command, output_of};

/// Connections, each of which sends a request as soon as it has the answer to the one before.
const CONNECTIONS: &str = "16";

/// The requests of one run.
#[derive(Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) requests: f64,
    pub(crate) requests_per_second: f64,
}

/// wrk, which sends as many requests as a server answers in these seconds. The caller adds the
/// script and the URL.
pub(crate) fn wrk(seconds: u32) -> Command {
    command("wrk", &["-t1", "-c", CONNECTIONS, "-d", &format!("{seconds}s")])
}

/// Runs wrk with a script that prints as `bench/http/wrk.lua`, or the example `pace`. Returns the
/// load and the 99th percentile of the latency in microseconds.
pub(crate) fn measured(client: &mut Command) -> Outcome<(Load, f64)> {
    of_line(&output_of(client)?)
}

/// Reads the line `measured REQUESTS FAILURES SECONDS LATENCY...`.
fn of_line(printed: &str) -> Outcome<(Load, f64)> {
    let line = printed.lines().find_map(|line| line.strip_prefix("measured "));
    let numbers: Result<Vec<f64>, _> =
        line.ok_or("the client printed no numbers")?.split(' ').map(str::parse).collect();
    let [requests, failures, seconds, .., p99_us] = numbers?[..] else {
        return Err("the client printed too few numbers".into());
    };
    if failures > 0.0 || requests == 0.0 {
        return Err(format!("{failures} of {requests} requests failed").into());
    }
    Ok((Load { requests, requests_per_second: requests / seconds }, p99_us))
}

/// Sends this number of requests with h2load. It gets no duration, because it may then not end if a
/// server closes connections.
pub(crate) fn h2load(requests: usize, arguments: &[&str]) -> Outcome<Load> {
    let count = requests.to_string();
    let mut h2load = command("h2load", &["--h1", "--threads", "1", "--clients", CONNECTIONS]);
    let printed = output_of(h2load.args(["--requests", &count]).args(arguments))?;
    of_h2load(&printed, requests)
        .ok_or_else(|| format!("not all of {requests} requests succeeded: {printed}").into())
}

fn of_h2load(printed: &str, requests: usize) -> Option<Load> {
    let has_all = printed.contains(&format!("{requests} succeeded, 0 failed"))
        && printed.contains(&format!("status codes: {requests} 2xx"));
    let (before, _) = printed.split_once(" req/s").filter(|_| has_all)?;
    let requests_per_second = before.rsplit(' ').next()?.parse().ok()?;
    Some(Load { requests: requests as f64, requests_per_second })
}

/// Loads a server, and returns the requests a second, and the microseconds of its processor time
/// for each.
pub(crate) fn rate_and_cost(
    server: &RunningProgram,
    load: impl FnOnce() -> Outcome<Load>,
) -> Outcome<[f64; 2]> {
    let before = server.processor_seconds()?;
    let load = load()?;
    let used = server.processor_seconds()? - before;
    Ok([load.requests_per_second, used / load.requests * 1e6])
}

/// Runs servers in turn, each of which returns the numbers of [`rate_and_cost`]. Returns a table of
/// their rates and one of their processor times.
pub(crate) fn tables(
    benchmark: &str,
    title: &str,
    contenders: Vec<Contender<'_, 2>>,
) -> Outcome<[Table; 2]> {
    let units = [Unit::RequestsPerSecond, Unit::Microseconds];
    let [rates, times] = take_turns(contenders, units)?;
    let of_times = format!("{title}: processor time of the server for a request");
    Ok([
        Table::new(benchmark, format!("{title}: requests a second"), rates),
        Table::new(benchmark, of_times, times),
    ])
}

#[cfg(test)]
mod tests {
    use super::{Load, of_h2load, of_line};

    #[test]
    fn the_line_of_a_client_is_read() {
        let read = of_line("Running\nmeasured 300 0 1.5 5 6 7 8 9\n").unwrap();
        assert_eq!(read, (Load { requests: 300.0, requests_per_second: 200.0 }, 9.0));
        assert!(of_line("measured 200 1 1.5 5 6 7 8 9\n").is_err());
        assert!(of_line("Running\n").is_err());
    }

    #[test]
    fn a_summary_of_h2load_is_read_if_all_requests_succeeded() {
        let printed = "finished in 512.34ms, 195.18 req/s, 20.10KB/s\n\
                       requests: 100 total, 100 started, 100 done, 100 succeeded, 0 failed\n\
                       status codes: 100 2xx, 0 3xx, 0 4xx, 0 5xx\n";
        let load = of_h2load(printed, 100).unwrap();
        assert_eq!(load, Load { requests: 100.0, requests_per_second: 195.18 });
        assert_eq!(of_h2load(&printed.replace("100 2xx", "99 2xx"), 100), None);
        assert_eq!(of_h2load("", 100), None);
    }
}
