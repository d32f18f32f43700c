//! The memory that a log takes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use super::scaling;
use crate::build;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::process::peak_bytes;
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, is_installed, output_of};

const DATA_SET: &str = "data set";
const PEAK: &str = "server's peak, taking curl -T";

/// Measures the data set of a log, and the peak of a server that receives the same log.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let cores = cores()?;
    let mut contenders = vec![Contender::new(DATA_SET, 1, || {
        let runs = scaling::throughput(settings, &[cores])?;
        let run = runs.iter().find(|run| run.keep == "Segments");
        run.map(|run| run.memory).ok_or_else(|| "the example keeps no segments".into())
    })];
    let has_curl = is_installed("curl");
    if has_curl {
        contenders.push(Contender::new(PEAK, settings.runs_if_slow(), || peak(settings, &log)));
    }
    let title = format!("bytes of memory by bytes of a combined log of {}", log.size_text());
    let rows = take_turns(contenders, Unit::OfTheLog)?;
    let mut table = Table::list("memory", title, rows);
    let data_set = table.row(DATA_SET).map(crate::measure::Measured::median);
    table.add_goal("data set by log", data_set, Threshold::AtMost(0.15));
    if !has_curl {
        table.notes.push("missing: curl (Debian's package curl)".to_owned());
    }
    Ok(vec![table])
}

/// The peak of resident memory of a server that receives the log, divided by the bytes of the log.
fn peak(settings: &Settings, log: &Log) -> Outcome<f64> {
    let (mut server, address) = serve(settings, &[])?;
    let result = upload_and_measure(&server, &address, log);
    server.kill()?;
    server.wait()?;
    result
}

fn upload_and_measure(server: &Child, address: &str, log: &Log) -> Outcome<f64> {
    let answer = output_of(&mut command("curl", &["-sS", "--fail", "-T", &log.path, address]))?;
    let session = answer.rsplit("/s/").next().map(str::trim).unwrap_or_default();
    let session: String = session.chars().take_while(char::is_ascii_hexdigit).collect();
    let peak_bytes = peak_bytes(server.id())?;
    let report = format!("{address}api/sessions/{session}/report");
    let report = output_of(&mut command("curl", &["-sS", "--fail", &report]))?;
    let lines = crate::answer::line_count(&report)?;
    if lines != log.lines {
        return Err(format!("the server counts {lines} lines, not {}", log.lines).into());
    }
    Ok(peak_bytes as f64 / log.bytes as f64)
}

/// Starts a server with these logs or options on a free port. Returns it with its address, which
/// ends with a slash.
pub(super) fn serve(settings: &Settings, arguments: &[&str]) -> Outcome<(Child, String)> {
    let mut server = command(&settings.weir(), &["--listen", "127.0.0.1:0", "--no-open"]);
    let mut child = server.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take().ok_or("the server has no output")?;
    for line in BufReader::new(output).lines() {
        if let Some((_, rest)) = line?.split_once("http://") {
            let address = rest.split_whitespace().next().unwrap_or_default();
            return Ok((child, format!("http://{}/", address.trim_end_matches('/'))));
        }
    }
    child.kill()?;
    child.wait()?;
    Err("the server printed no address".into())
}
