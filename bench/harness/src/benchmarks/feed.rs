//! The four modes of `weir listen` with one flooding sender and with a thousand, beside socat.

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::build;
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, folder, text};
use crate::statistics;
use crate::table::{Table, Threshold, number};
use weir_tools::shell::{Outcome, command, is_installed, output_of};

const FLOWS: [&str; 4] = ["unlimited", "passive", "once", "64"];
const SOCAT: &str = "socat to /dev/null";

/// All bytes are sent over one connection, or divided among a thousand.
const CONNECTIONS: [usize; 2] = [1, 1_000];

/// What the receiver does with the lines: in words, and as an argument of the program.
const SINKS: [(&str, &str); 2] = [("dropped", "nothing"), ("parsed", "pipeline")];

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if settings.is_smoke {
        build::weir(settings)?;
    }
    let program = build::example(settings, "flood")?;
    let mut tables = Vec::new();
    for connections in CONNECTIONS {
        for sink in SINKS {
            tables.push(flood(settings, &program, connections, sink)?);
        }
    }
    Ok(tables)
}

/// The results of one mode, one for each run.
type Runs = Vec<Value>;

fn flood(
    settings: &Settings,
    program: &str,
    connections: usize,
    (action, sink): (&str, &str),
) -> Outcome<Table> {
    // Every connection sends the same number of bytes.
    let bytes = (settings.mebibytes << 20) / connections as u64 * connections as u64;
    let words = [connections.to_string(), bytes.to_string()];
    let runs: RefCell<Vec<Runs>> = RefCell::new(vec![Runs::new(); FLOWS.len()]);
    let mut contenders = Vec::new();
    for (index, flow) in FLOWS.iter().enumerate() {
        let (runs, words) = (&runs, &words);
        contenders.push(Contender::new(*flow, settings.runs, move || {
            let arguments = [flow, words[0].as_str(), words[1].as_str(), sink];
            let run: Value = serde_json::from_str(&output_of(&mut command(program, &arguments))?)?;
            let seconds = run["seconds"].as_f64().ok_or("the program printed no time")?;
            if run["bytes"] != bytes {
                return Err(format!("{} of {bytes} bytes were received", run["bytes"]).into());
            }
            runs.borrow_mut()[index].push(run);
            Ok(seconds)
        }));
    }
    let mut notes = Vec::new();
    if connections == 1 && sink == "nothing" {
        match is_installed("socat") {
            true => contenders.push(Contender::new(SOCAT, settings.runs, || socat(program, bytes))),
            false => notes.push("missing: socat (Debian's package socat)".to_owned()),
        }
    }
    let rows = take_turns(contenders, Unit::Seconds { bytes })?;
    let senders = if connections == 1 { "connection" } else { "connections" };
    let title = format!("{connections} flooding {senders}, lines {action}");
    let mut table = Table::new("feed", title, rows);
    for flow in ["passive", "64"] {
        let rate = table.rate_ratio(flow, "unlimited");
        table.add_goal(&format!("{flow}, rate by unlimited"), rate, Threshold::AtLeast(0.9));
    }
    let rate = table.rate_ratio("passive", SOCAT);
    table.add_goal("passive, rate by socat", rate, Threshold::AtLeast(0.9));
    for (flow, runs) in FLOWS.iter().zip(runs.into_inner()) {
        let calls = system_calls(program, flow, connections, bytes, sink);
        notes.push(note(flow, &runs, calls.ok()));
    }
    table.notes = notes;
    Ok(table)
}

/// The medians of one mode: reads, system calls, processor time and memory.
fn note(flow: &str, runs: &Runs, calls: Option<f64>) -> String {
    let middle = |value: fn(&Value) -> f64| {
        let values: Vec<f64> = runs.iter().map(value).collect();
        number(statistics::median(&values).unwrap_or(f64::NAN))
    };
    let reads = middle(|run| field(run, "reads") / (field(run, "bytes") / f64::from(1 << 20)));
    let share = middle(|run| {
        let receive = field(run, "receive_cpu_s");
        100.0 * receive / (receive + field(run, "work_cpu_s"))
    });
    let peak = middle(|run| field(run, "peak_bytes") / f64::from(1 << 20));
    let calls = calls.map(|calls| format!(", {} system calls", number(calls)));
    format!(
        "{flow}: {reads} reads{} a MiB; {share} % of the processor time in the threads that \
         receive; peak {peak} MiB",
        calls.unwrap_or_default()
    )
}

fn field(run: &Value, key: &str) -> f64 {
    run[key].as_f64().unwrap_or(f64::NAN)
}

/// System calls of the receiving process for each mebibyte. strace counts them in a separate run,
/// because it slows the process down.
fn system_calls(
    program: &str,
    flow: &str,
    connections: usize,
    bytes: u64,
    sink: &str,
) -> Outcome<f64> {
    let table = folder()?.join("feed-strace.txt");
    let table = text(&table);
    // A part of the bytes is enough for counting.
    let each = (bytes / connections as u64).min((16 << 20) / connections as u64);
    let total = each * connections as u64;
    let (connections, total_text) = (connections.to_string(), total.to_string());
    let words = ["-f", "-c", "-o", &table, program, flow, &connections, &total_text, sink, "wait"];
    let mut taker = command("strace", &words).stdout(Stdio::piped()).spawn()?;
    let host = first_line(&mut taker)?;
    let sent = send(program, host.trim(), &connections, &each.to_string());
    taker.wait()?;
    sent?;
    let counted = std::fs::read_to_string(&table)?;
    let line = counted.lines().find(|line| line.trim_end().ends_with("total"));
    // % time, seconds, usecs/call, calls, errors, total.
    let calls = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<f64>().ok());
    let calls = calls.ok_or("the output of strace has no total")?;
    Ok(calls / (total as f64 / f64::from(1 << 20)))
}

/// Seconds from the first byte to the last, with socat as the receiver.
fn socat(program: &str, bytes: u64) -> Outcome<f64> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let listen = format!("TCP-LISTEN:{port},reuseaddr,bind=127.0.0.1");
    let mut taker = command("socat", &["-u", &listen, "OPEN:/dev/null,wronly"]).spawn()?;
    let host = format!("127.0.0.1:{port}");
    let mut sender = command(program, &["send", &host, "1", &bytes.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    if first_line(&mut sender)?.is_empty() {
        // socat would wait for a connection for ever.
        taker.kill()?;
        taker.wait()?;
        return Err("the sender has not reached socat".into());
    }
    let start = Instant::now();
    taker.wait()?;
    let seconds = start.elapsed().as_secs_f64();
    sender.wait()?;
    Ok(seconds)
}

fn send(program: &str, host: &str, connections: &str, bytes: &str) -> Outcome {
    output_of(&mut command(program, &["send", host, connections, bytes])).map(|_| ())
}

fn first_line(child: &mut Child) -> Outcome<String> {
    let mut line = String::new();
    let output = child.stdout.as_mut().ok_or("the program has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    Ok(line)
}
