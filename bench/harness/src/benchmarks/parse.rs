//! `weir report` beside `wc -l`, on a usual log and on logs that slow parsers down.

use std::process::Command;

use crate::answer::{check_against_oracle, line_count, report_command, timed};
use crate::build;
use crate::input::{self, Log};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold, number};
use weir_tools::shell::{Outcome, command};

const WC: &str = "wc -l";
const ONE: &str = "weir report, 1 job";

/// The generator's shapes that slow parsers down.
const BAD_SHAPES: [&str; 6] =
    ["long-lines", "one-line", "many-agents", "empty-lines", "every-second", "nul-run"];
/// The size of a bad shape is the main input's size divided by this.
const BAD_SHAPE_PART: u64 = 4;
/// The same for a log of line feeds alone, which has many more lines a byte.
const EMPTY_LINES_PART: u64 = 32;
/// The goal: a byte or a line takes at most three times as long as usual.
const CLIFF: f64 = 3.0;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    build::weir(settings)?;
    check_against_oracle(settings, "combined")?;
    let log = input::combined(settings)?;
    let usual = beside_wc(settings, &log)?;
    Ok(vec![usual, bad_shapes(settings, &log)?])
}

fn beside_wc(settings: &Settings, log: &Log) -> Outcome<Table> {
    let cores = cores()?;
    let all = format!("weir report, {cores} jobs");
    let wc = counter(settings, log, WC, || command("wc", &["-l", &log.path]));
    let mut contenders = vec![wc, weir(settings, log, ONE, 1)];
    if cores > 1 {
        contenders.push(weir(settings, log, &all, cores));
    }
    let title = format!("combined log of {} in the page cache", log.size_text());
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes: log.bytes }])?;
    let mut table = Table::new("parse", title, rows);
    table.add_goal("one job by wc -l", table.ratio(ONE, WC), Threshold::AtMost(6.0));
    let speed_up = table.ratio(ONE, &all);
    if let Some(wanted) = speed_up_goal(cores) {
        table.add_goal(&format!("{cores} jobs by one"), speed_up, Threshold::AtLeast(wanted));
    }
    Ok(table)
}

/// The goal for the speed of `cores` cores by that of one; `None` if there is no goal.
fn speed_up_goal(cores: usize) -> Option<f64> {
    match cores {
        2 => Some(1.8),
        16 => Some(12.0),
        _ => None,
    }
}

fn weir<'a>(settings: &'a Settings, log: &'a Log, name: &str, jobs: usize) -> Contender<'a> {
    counter(settings, log, name, move || report_command(settings, &log.path, jobs))
}

/// A command that counts the lines of the log, among other things.
fn counter<'a>(
    settings: &Settings,
    log: &'a Log,
    name: &str,
    command: impl Fn() -> Command + 'a,
) -> Contender<'a> {
    Contender::new(name, settings.runs, move || {
        let (printed, seconds) = timed(&mut command())?;
        checked(&printed, log)?;
        Ok(seconds)
    })
}

fn checked(printed: &str, log: &Log) -> Outcome {
    let lines = line_count(printed)?;
    // wc does not count a last line without a line feed.
    if lines == log.lines || lines == log.lines + 1 {
        return Ok(());
    }
    Err(format!("the count is {lines} lines, not {}", log.lines).into())
}

/// All cores on each bad shape, in turn with the usual log.
fn bad_shapes(settings: &Settings, usual: &Log) -> Outcome<Table> {
    let cores = cores()?;
    let part = (settings.mebibytes / BAD_SHAPE_PART).max(1);
    let mut logs = vec![("combined", input::generated(settings, "combined", part)?)];
    for shape in BAD_SHAPES {
        check_against_oracle(settings, shape)?;
        let part = if shape == "empty-lines" {
            (settings.mebibytes / EMPTY_LINES_PART).max(1)
        } else {
            part
        };
        logs.push((shape, input::generated(settings, shape, part)?));
    }
    let contenders = logs.iter().map(|(shape, log)| weir(settings, log, shape, cores));
    let [mut rows] = take_turns(contenders.collect(), [Unit::Seconds { bytes: usual.bytes }])?;
    for (row, (_, log)) in rows.iter_mut().zip(&logs) {
        row.unit = Unit::Seconds { bytes: log.bytes };
    }
    let title = format!("logs of bad shapes, weir report with {cores} jobs");
    let mut table = Table::new("parse", title, rows);
    let by_line = |row: &Measured, log: &Log| row.median() / log.lines.max(1) as f64;
    let usual_line = by_line(&table.rows[0], &logs[0].1);
    for (index, (shape, log)) in logs.iter().enumerate().skip(1) {
        let line = by_line(&table.rows[index], log);
        let by_bytes = table.rate_ratio("combined", shape);
        table.add_goal(
            &format!("{shape}, times the usual time of a byte or of a line"),
            by_bytes.map(|by_bytes| by_bytes.min(line / usual_line)),
            Threshold::AtMost(CLIFF),
        );
        if *shape == "empty-lines" {
            let millions = number(1e-6 / line);
            table.notes.push(format!("{shape}: {millions} million lines a second"));
        }
    }
    Ok(table)
}
