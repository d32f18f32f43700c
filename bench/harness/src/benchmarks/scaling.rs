//! The speed with more cores, with the log in memory.

use super::parse::speed_up_goal;
use crate::build;
use crate::measure::{Measured, Unit};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, output_of};

/// One line of the example `throughput` of ingest, which checks its own answers.
#[derive(Debug, PartialEq)]
pub(crate) struct Throughput {
    /// The data that was kept.
    pub(crate) keep: String,
    pub(crate) threads: usize,
    pub(crate) gigabytes_per_second: f64,
    /// Bytes of the data set by bytes of the log.
    pub(crate) memory: f64,
}

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let cores = cores()?;
    let threads: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|threads| *threads < cores).collect();
    let threads = [&threads[..], &[cores]].concat();
    // The first round is not recorded.
    let turns = threads.repeat(settings.runs + 1);
    let runs = throughput(settings, &turns)?;
    let mut tables = Vec::new();
    for (keep, what) in [("ValuesOnly", "as a report does"), ("Segments", "as the page does")] {
        let rows = threads.iter().map(|threads| row(&runs, keep, *threads)).collect();
        let title = format!("{} MiB of combined log in memory, {what}", settings.mebibytes);
        let mut table = Table::new("scaling", title, rows);
        if let (Some(first), Some(last)) = (table.rows.first(), table.rows.last())
            && let Some(wanted) = speed_up_goal(cores)
        {
            let speed_up = Some(last.median() / first.median());
            table.add_goal(
                &format!("{cores} threads by one"),
                speed_up,
                Threshold::AtLeast(wanted),
            );
        }
        tables.push(table);
    }
    Ok(tables)
}

/// Runs the example with these numbers of threads, one after the other.
pub(crate) fn throughput(settings: &Settings, threads: &[usize]) -> Outcome<Vec<Throughput>> {
    let example = build::example(settings, "throughput")?;
    let numbers = [&[settings.mebibytes as usize], threads].concat();
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let printed = output_of(command(&example, &[]).args(numbers))?;
    Ok(printed.lines().filter_map(parse).collect())
}

fn row(runs: &[Throughput], keep: &str, threads: usize) -> Measured {
    let own = runs.iter().filter(|run| run.keep == keep && run.threads == threads);
    Measured {
        name: if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") },
        unit: Unit::GigabytesPerSecond,
        runs: own.skip(1).map(|run| run.gigabytes_per_second).collect(),
    }
}

/// Reads `Segments, 2 threads: 1.05 GB/s, 4000 records, memory 0.103 of the log`.
fn parse(line: &str) -> Option<Throughput> {
    let (keep, rest) = line.split_once(", ")?;
    let (threads, rest) = rest.split_once(" threads: ")?;
    let (speed, rest) = rest.split_once(" GB/s")?;
    let memory = rest.split_once("memory ")?.1.split(' ').next()?;
    Some(Throughput {
        keep: keep.to_owned(),
        threads: threads.parse().ok()?,
        gigabytes_per_second: speed.parse().ok()?,
        memory: memory.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Throughput, parse};

    #[test]
    fn lines_of_the_example_are_read() {
        let line = "Segments, 2 threads: 1.05 GB/s, 4000 records, memory 0.103 of the log";
        let read = Throughput {
            keep: "Segments".to_owned(),
            threads: 2,
            gigabytes_per_second: 1.05,
            memory: 0.103,
        };
        assert_eq!(parse(line), Some(read));
        assert_eq!(parse("count of line feeds: 7.00 GB/s"), None);
    }
}
