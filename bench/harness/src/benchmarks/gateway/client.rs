//! The clients: wrk, which sends as fast as it is answered, and the example `pace`, which sends at
//! a fixed rate.

use std::path::Path;

use super::proxies::Program;
use crate::load::Load;
use crate::settings::{Settings, text};
use weir_tools::shell::{Outcome, command, output_of};

/// Connections of wrk, each with one request at a time.
const CONNECTIONS: &str = "16";

/// What a client sends.
#[derive(Debug, Clone)]
pub(in crate::benchmarks) enum Requests<'a> {
    WithoutToken,
    /// The same token with each.
    OneToken(&'a str),
    /// The next token of a file with each.
    NewTokens(&'a Path),
}

/// Sends as many requests as a proxy answers in these seconds.
pub(in crate::benchmarks) fn closed(
    proxy: &Program,
    path: &str,
    requests: &Requests<'_>,
    seconds: u32,
) -> Outcome<Load> {
    wrk(CONNECTIONS, proxy, path, requests, seconds)
}

/// As [`closed`], on one connection, so that no request waits for another.
pub(super) fn alone(proxy: &Program, path: &str, token: &str, seconds: u32) -> Outcome<Load> {
    wrk("1", proxy, path, &Requests::OneToken(token), seconds)
}

fn wrk(
    connections: &str,
    proxy: &Program,
    path: &str,
    requests: &Requests<'_>,
    seconds: u32,
) -> Outcome<Load> {
    let (url, duration) = (url(proxy, path), format!("{seconds}s"));
    let mut wrk = command("wrk", &["-t1", "-c", connections, "-d", &duration]);
    match requests {
        Requests::WithoutToken => wrk.args(["-s", "bench/http/wrk.lua", &url]),
        Requests::OneToken(token) => {
            let field = format!("Authorization: Bearer {token}");
            wrk.args(["-H", &field, "-s", "bench/http/wrk.lua", &url])
        }
        Requests::NewTokens(file) => {
            wrk.args(["-s", "bench/gateway/tokens.lua", &url, "--", &text(file)])
        }
    };
    Load::of_line(&output_of(&mut wrk)?)
}

/// Sends requests a second at this rate.
pub(super) fn open(
    settings: &Settings,
    proxy: &Program,
    path: &str,
    token: &str,
    (rate, seconds): (f64, f64),
) -> Outcome<Load> {
    let host = format!("127.0.0.1:{}", proxy.port);
    let arguments = [&host, path, &rate.to_string(), &seconds.to_string(), token];
    Load::of_line(&output_of(&mut command(&settings.example("pace"), &arguments))?)
}

/// Sends this number of requests with h2load.
pub(super) fn counted(proxy: &Program, path: &str, requests: usize) -> Outcome {
    let requests = requests.to_string();
    let arguments = ["--h1", "--threads", "1", "--clients", CONNECTIONS, "--requests", &requests];
    let printed = output_of(command("h2load", &arguments).arg(url(proxy, path)))?;
    let all = format!("{requests} succeeded, 0 failed");
    if printed.contains(&all) && printed.contains(&format!("status codes: {requests} 2xx")) {
        return Ok(());
    }
    Err(format!("not all of {requests} requests succeeded: {printed}").into())
}

fn url(proxy: &Program, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", proxy.port)
}
