//! HTTP/2 over TLS: h2spec, and floods of frames with a bystander.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::bystander::Bystander;
use super::server::Server;
use super::{Setting, Verdict, missing};
use crate::h2spec;
use crate::shell::Outcome;

/// Connections of each flood at a time. More would leave the bystander no processor on two cores.
const CONNECTIONS: usize = 2;

/// How long each flood goes on.
const TIME: Duration = Duration::from_secs(5);

/// The most memory that the server may have had, in MiB.
const PEAK_MIB_MAX: u64 = 128;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames and their flags (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xfa;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Adds the frames of one round of a flood, given its number, the first being 0.
type Round = fn(u32, &mut Vec<u8>);

const FLOODS: [(&str, Round); 8] = [
    ("PING", |_, bytes| push(bytes, PING, 0, 0, &[7; 8])),
    ("SETTINGS", |_, bytes| push(bytes, SETTINGS, 0, 0, &[])),
    ("SETTINGS of other windows", change_windows),
    ("PRIORITY", |_, bytes| push(bytes, PRIORITY, 0, 1, &[0, 0, 0, 3, 16])),
    ("unknown frames", |_, bytes| push(bytes, UNKNOWN, 0, 0, b"unknown")),
    ("empty DATA", |round, bytes| {
        if round == 0 {
            push(bytes, HEADERS, END_HEADERS, 1, &request(b"PUT"));
        }
        push(bytes, DATA, 0, 1, &[]);
    }),
    ("requests that are cancelled", |round, bytes| {
        push(bytes, HEADERS, END_HEADERS | END_STREAM, 2 * round + 1, &request(b"GET"));
        push(bytes, RST_STREAM, 0, 2 * round + 1, &[0, 0, 0, 8]);
    }),
    ("header fields without an end", |round, bytes| {
        let kind = if round == 0 { HEADERS } else { CONTINUATION };
        push(bytes, kind, 0, 1, &field(b"x-field", &[b'x'; 100]));
    }),
];

pub(super) fn run(setting: &Setting) -> Outcome<Verdict> {
    if let Some(why) = missing("openssl", "openssl") {
        return Ok(Verdict::Skipped(why));
    }
    let listen = ["--listen", "127.0.0.1:0", "--listen", "tls://127.0.0.1:0", "--tls-self-signed"];
    let server = Server::start_with(&setting.weir, &listen)?;
    let tls = server.hosts.get(1).ok_or("the server printed no second address")?;
    super::build_examples()?;
    let mut lines = vec![conformance(&super::example("echo"))?];
    for (name, round) in FLOODS {
        let bystander = Bystander::start(&setting.weir, server.host())?;
        let (processor, start) = (server.processor_time()?, Instant::now());
        let taken = flood(tls, round)?;
        let used = server.processor_time()?.saturating_sub(processor);
        let share = 100.0 * used.as_secs_f64() / start.elapsed().as_secs_f64();
        let waits = bystander.end().map_err(|waits| format!("{name}: {waits}"))?;
        let peak = server.peak_mib()?;
        let text = format!(
            "{name}: {taken}, {:.2} s of the processor ({share:.0} % of a core), {waits}, peak {peak} MiB",
            used.as_secs_f64()
        );
        if peak > PEAK_MIB_MAX {
            return Err(text.into());
        }
        lines.push(text);
    }
    Ok(Verdict::Passed(lines))
}

/// Runs h2spec against the example `echo`, which answers after the end of a request. Weir refuses
/// some of h2spec's requests before that, and then it is a race whether their streams are still
/// open.
///
/// # Errors
/// If a case fails or is skipped.
pub(super) fn conformance(echo: &Path) -> Outcome<String> {
    let h2spec = match h2spec::installed() {
        Ok(h2spec) => h2spec,
        Err(why) => return Ok(format!("skipped: 146 cases of h2spec, because {why}")),
    };
    let server = Server::start_program(Command::new(echo).arg("tls://127.0.0.1:0"), 1)?;
    Ok(format!("note: h2spec, strict: {}", h2spec::run(&h2spec, server.host())?))
}

/// Sends rounds over several connections at a time, and over new ones when the server ends them.
/// Returns how many of each there were.
fn flood(host: &str, round: Round) -> Outcome<String> {
    let end = Instant::now() + TIME;
    let clients = (0..CONNECTIONS).map(|_| {
        let host = host.to_owned();
        std::thread::spawn(move || {
            let (mut rounds, mut connections) = (0, 0);
            while Instant::now() < end {
                rounds += u64::from(send(connect(&host)?, round, end));
                connections += 1;
            }
            std::io::Result::Ok((rounds, connections))
        })
    });
    let (mut rounds, mut connections) = (0, 0);
    for client in clients.collect::<Vec<_>>() {
        let (sent, opened): (u64, usize) = client.join().map_err(|_| "a flood failed")??;
        rounds += sent;
        connections += opened;
    }
    Ok(format!("{rounds} rounds over {connections} connections, {CONNECTIONS} at a time"))
}

/// A client of TLS that passes on its standard input, and drops what it receives.
fn connect(host: &str) -> std::io::Result<Child> {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-quiet", "-alpn", "h2", "-connect", host]);
    openssl.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    openssl.spawn()
}

/// Sends rounds until the time is over or the server ends the connection. Returns their number.
fn send(mut client: Child, round: Round, end: Instant) -> u32 {
    const ROUNDS_AT_ONCE: u32 = 1_000;
    let mut rounds = 0;
    if let Some(mut stdin) = client.stdin.take() {
        let mut bytes = PREFACE.to_vec();
        push(&mut bytes, SETTINGS, 0, 0, &[]);
        while Instant::now() < end {
            (rounds..rounds + ROUNDS_AT_ONCE).for_each(|number| round(number, &mut bytes));
            if stdin.write_all(&bytes).is_err() {
                break;
            }
            bytes.clear();
            rounds += ROUNDS_AT_ONCE;
        }
    }
    // The client is no longer needed. It may have ended already.
    let _ = client.kill();
    let _ = client.wait();
    rounds
}

/// Sets another window for all streams, so that the server has to update each of them.
fn change_windows(round: u32, bytes: &mut Vec<u8>) {
    if round == 0 {
        for stream in 0..90 {
            push(bytes, HEADERS, END_HEADERS, 2 * stream + 1, &request(b"PUT"));
        }
    }
    let [.., high, low] = (1_000 + round % 1_000).to_be_bytes();
    push(bytes, SETTINGS, 0, 0, &[0, 4, 0, 0, high, low]);
}

/// Adds a frame (RFC 9113 section 4.1).
fn push(bytes: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    bytes.extend(&(payload.len() as u32).to_be_bytes()[1..]);
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
}

/// The head of a request for `/flood` of `localhost` (RFC 7541).
fn request(method: &[u8]) -> Vec<u8> {
    let fields: [(&[u8], &[u8]); 4] = [
        (b":method", method),
        (b":scheme", b"https"),
        (b":path", b"/flood"),
        (b":authority", b"localhost"),
    ];
    fields.iter().flat_map(|(name, value)| field(name, value)).collect()
}

/// A literal field without indexing (RFC 7541 section 6.2.2). Each text is shorter than 127 bytes.
fn field(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[0, name.len() as u8], name, &[value.len() as u8], value].concat()
}
