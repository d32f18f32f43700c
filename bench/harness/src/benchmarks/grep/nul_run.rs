//! A log with a long run of NULs, as `copytruncate` leaves it: time and peak memory.

use std::cell::RefCell;

use super::process::{Run, check_number, measured};
use super::rare_literal;
use crate::input::{self, Log};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use weir_tools::shell::{Outcome, command, is_installed};

/// The size of the log divided by that of the others: 1.5 GiB for a gigabyte.
const SIZE_FACTOR: (u64, u64) = (3, 2);

/// Counts lines as a script usually does.
const PYTHON: &str = "import sys\nprint(sum(1 for line in open(sys.argv[1], 'rb')))";

/// A program, and the numbers that it may print.
struct Program {
    name: &'static str,
    file: String,
    arguments: Vec<String>,
    expected: Vec<u64>,
}

/// By program, in the order of the turns: the peak of each turn, the first included.
type Peaks = RefCell<Vec<(&'static str, Vec<f64>)>>;

pub(super) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let (numerator, denominator) = SIZE_FACTOR;
    let mebibytes = (settings.mebibytes * numerator / denominator).max(1);
    let log = input::generated(settings, "nul-run", mebibytes)?;
    let (programs, missing): (Vec<_>, Vec<_>) =
        programs(settings, &log)?.into_iter().partition(|program| is_installed(&program.file));
    let peaks = Peaks::default();
    let contenders = programs.iter().map(|program| {
        let peaks = &peaks;
        Contender::new(program.name, settings.runs_if_slow(), move || {
            let run = program.run()?;
            let mut peaks = peaks.borrow_mut();
            match peaks.iter_mut().find(|(name, _)| *name == program.name) {
                Some((_, turns)) => turns.push(run.peak_mebibytes),
                None => peaks.push((program.name, vec![run.peak_mebibytes])),
            }
            Ok(run.seconds)
        })
    });
    let rows = take_turns(contenders.collect(), Unit::Seconds { bytes: log.bytes })?;
    let title = format!("log of {} with one run of NULs, two fifths of it", log.size_text());
    let mut times = times_table(&title, rows);
    times.notes = missing.iter().map(|program| format!("missing: {}", program.file)).collect();
    Ok(vec![times, memory_table(&title, peaks.into_inner())])
}

fn programs(settings: &Settings, log: &Log) -> Outcome<Vec<Program>> {
    // The run of NULs is in the middle, far from this line.
    let rare = rare_literal(log, log.bytes / 8)?;
    let weir = settings.weir();
    let counted = measured(command(&weir, &["grep", "-c", "-F", &rare, &log.path]))?;
    let found: u64 = counted.printed.trim().parse()?;
    let program = |name, file: &str, arguments: &[&str], expected: &[u64]| Program {
        name,
        file: file.to_owned(),
        arguments: arguments
            .iter()
            .chain(&[&log.path[..]])
            .map(|word| (*word).to_owned())
            .collect(),
        expected: expected.to_vec(),
    };
    let lines = [log.lines, log.lines + 1];
    Ok(vec![
        program("wc -l", "wc", &["-l"], &lines),
        program("weir count", &weir, &["count"], &lines),
        program("weir report", &weir, &["report", "--json"], &lines),
        program("Python, for line in f", "python3", &["-c", PYTHON], &lines),
        program("weir grep -c", &weir, &["grep", "-c", "-F", &rare], &[found]),
        program("rg -a -c", "rg", &["--no-config", "-a", "-c", "-F", &rare], &[found]),
        program("grep -a -c", "grep", &["-a", "-c", "-F", &rare], &[found]),
    ])
}

impl Program {
    /// Runs the program and checks the number that it prints.
    fn run(&self) -> Outcome<Run> {
        let mut command = command(&self.file, &[]);
        command.args(&self.arguments);
        let run = measured(command)?;
        let number = match run.printed.strip_prefix("{\"lines\":") {
            Some(rest) => rest.split(',').next().unwrap_or_default(),
            None => &run.printed,
        };
        check_number(number, &self.expected)?;
        Ok(run)
    }
}

fn times_table(title: &str, rows: Vec<Measured>) -> Table {
    let mut table = Table::new("grep", title, rows);
    let ratio = table.ratio("weir count", "wc -l");
    table.add_goal("weir count by wc -l", ratio, Threshold::AtMost(1.2));
    for other in ["rg -a -c", "grep -a -c"] {
        let ratio = table.ratio("weir grep -c", other);
        table.add_goal(&format!("weir grep by {other}"), ratio, Threshold::AtMost(1.0));
    }
    table
}

fn memory_table(title: &str, peaks: Vec<(&'static str, Vec<f64>)>) -> Table {
    let rows = peaks.into_iter().map(|(name, turns)| Measured {
        name: name.to_owned(),
        unit: Unit::Mebibytes,
        // The first turn is not recorded.
        runs: turns.into_iter().skip(1).collect(),
    });
    let title = format!("peak of resident memory, {title}");
    let mut table = Table::new("grep", title, rows.collect());
    table.notes.push("rg maps the file; its pages count as they are touched".to_owned());
    table
}
