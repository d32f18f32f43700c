//! Idle connections: ten thousand to Weir itself, which closes most of them to make room, and as
//! many to a server with higher limits, which keeps them and shows what each costs.

use std::process::Command;
use std::time::Duration;

use super::bystander::Bystander;
use super::server::Server;
use super::{Setting, Verdict};
use crate::shell::Outcome;
use weir_tools::held_connections::HeldConnections;

const CONNECTIONS: usize = 10_000;

/// The most memory that Weir may have had, in MiB.
const PEAK_MIB_MAX: u64 = 128;

/// The kinds of connections: a name, the argument of the example `hold`, and the index of the
/// address of the example `echo`.
const KINDS: [(&str, &str, usize); 3] =
    [("TCP", "plain", 0), ("TLS, HTTP/1.1", "http1", 1), ("TLS, HTTP/2", "http2", 1)];

/// How long the bystander sends requests: half of the time after which Weir closes idle
/// connections.
const TIME: Duration = Duration::from_secs(5);

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    super::build_examples()?;
    let mut lines = vec![make_room(setting)?];
    for (name, word, address) in KINDS {
        lines.push(stay(setting, name, word, address)?);
    }
    Ok(Verdict::Passed(lines))
}

/// Opens more connections than Weir allows.
fn make_room(setting: &Setting) -> Outcome<String> {
    let server = Server::start(&setting.weir)?;
    let held = hold("plain", server.host())?;
    let waits = Bystander::ask_for(&setting.weir, server.host(), TIME)?;
    drop(held);
    let peak = server.peak_mib()?;
    let text = format!(
        "{CONNECTIONS} idle connections, 1,024 of them at a time: {waits}, peak {peak} MiB"
    );
    if peak > PEAK_MIB_MAX { Err(text.into()) } else { Ok(text) }
}

/// Opens connections that the server keeps, and measures the memory of each.
fn stay(setting: &Setting, name: &str, word: &str, address: usize) -> Outcome<String> {
    let mut echo = Command::new(super::example("echo"));
    let server = Server::start_program(echo.args(["tcp://127.0.0.1:0", "tls://127.0.0.1:0"]), 2)?;
    let before = server.memory_kib()?;
    let held = hold(word, &server.hosts[address])?;
    let waits = Bystander::ask_for(&setting.weir, server.host(), TIME)?;
    let each = server.memory_kib()?.saturating_sub(before) as f64 / CONNECTIONS as f64;
    drop(held);
    Ok(format!("{CONNECTIONS} idle connections over {name}: {each:.1} KiB each, {waits}"))
}

/// Opens connections that are closed when the returned value is dropped.
fn hold(kind: &str, host: &str) -> Outcome<HeldConnections> {
    let program = super::example("hold");
    HeldConnections::open(&program.to_string_lossy(), kind, host, CONNECTIONS)
}
