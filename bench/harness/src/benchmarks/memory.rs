//! The memory that a log takes.

use crate::input::{self, Log};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::process::RunningProgram;
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use crate::{build, curl};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command, output_of};

const DATA_SET: &str = "data set";
const PEAK: &str = "server's peak, taking curl -T";

/// Measures the data set of a log, and the peak of a server that receives the same log.
pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    let log = input::combined(settings)?;
    let mut contenders = vec![Contender::new(DATA_SET, 1, || data_set(settings))];
    let missing = packages::missing(&[("curl", "curl")], !settings.is_smoke);
    if missing.is_empty() {
        contenders.push(Contender::new(PEAK, settings.runs_if_slow(), || peak(settings, &log)));
    }
    let title = format!("bytes of memory by bytes of a combined log of {}", log.size_text());
    let [rows] = take_turns(contenders, [Unit::OfTheLog])?;
    let mut table = Table::list("memory", title, rows);
    let data_set = table.row(DATA_SET).map(Measured::median);
    table.add_goal("data set by log", data_set, Threshold::AtMost(0.15));
    table.notes = missing;
    Ok(vec![table])
}

/// The bytes of the data set of a log in memory, divided by the bytes of the log, as the example
/// `throughput` of ingest prints them. It checks its own answers.
fn data_set(settings: &Settings) -> Outcome<f64> {
    let example = build::example(settings, "throughput")?;
    let numbers = [settings.mebibytes.to_string(), cores()?.to_string()];
    let printed = output_of(command(&example, &[]).args(numbers))?;
    memory_of_segments(&printed).ok_or_else(|| "the example keeps no segments".into())
}

/// Reads `Segments, 2 threads: 1.05 GB/s, 4000 records, memory 0.103 of the log`.
fn memory_of_segments(printed: &str) -> Option<f64> {
    let line = printed.lines().find(|line| line.starts_with("Segments, "))?;
    line.split_once("memory ")?.1.split(' ').next()?.parse().ok()
}

/// The peak of resident memory of a server that receives the log, divided by the bytes of the log.
fn peak(settings: &Settings, log: &Log) -> Outcome<f64> {
    let (server, address) = RunningProgram::weir(settings, &[])?;
    let report = curl::upload(log, &address)?;
    let peak_bytes = server.peak_bytes()?;
    curl::check_lines(&report, log)?;
    Ok(peak_bytes as f64 / log.bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::memory_of_segments;

    #[test]
    fn lines_of_the_example_are_read() {
        let printed = "ValuesOnly, 2 threads: 1.5 GB/s, 4000 records, memory 0.001 of the log\n\
                       Segments, 2 threads: 1.05 GB/s, 4000 records, memory 0.103 of the log\n";
        assert_eq!(memory_of_segments(printed), Some(0.103));
        assert_eq!(memory_of_segments("count of line feeds: 7.00 GB/s"), None);
    }
}
