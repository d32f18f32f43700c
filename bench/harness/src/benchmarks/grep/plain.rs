//! Searches and counts in a plain file.

use super::process::{check_number, digest, measured};
use super::rare_literal;
use crate::input::Log;
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command};

const RIPGREP: &str = "rg";
const ONE_JOB: &str = "weir grep, 1 job";

/// Makes ripgrep search the whole file, and print only lines.
const RIPGREP_OPTIONS: [&str; 3] = ["--no-config", "-a", "-N"];

/// The searches beside ripgrep, a table for each.
pub(super) fn searches(settings: &Settings, log: &Log) -> Outcome<Vec<Table>> {
    let missing = packages::missing(&[(RIPGREP, "ripgrep")], !settings.is_smoke);
    if !missing.is_empty() {
        return Ok(vec![Table::missing("grep", "plain file", missing)]);
    }
    let rare = rare_literal(log, log.bytes / 2)?;
    let searches: [(&str, &[&str]); 6] = [
        ("rare literal", &["-F", &rare]),
        ("frequent literal", &["-F", " 404 "]),
        ("regular expression", &[r#""(GET|POST) /[a-z]+/[0-9]+"#]),
        ("-i", &["-i", "googlebot"]),
        ("-c", &["-c", "Firefox"]),
        ("-v", &["-v", "Mozilla"]),
    ];
    let table = |(name, arguments): (&str, &[&str])| beside_ripgrep(settings, log, name, arguments);
    searches.into_iter().map(table).collect()
}

/// A search with arguments that every program takes.
fn beside_ripgrep(
    settings: &Settings,
    log: &Log,
    name: &str,
    arguments: &[&str],
) -> Outcome<Table> {
    let cores = cores()?;
    let all_jobs = format!("weir grep, {cores} jobs");
    let weir = settings.weir();
    let search = |program: &str, options: &[&str]| {
        command(program, &[options, arguments, &[&log.path]].concat())
    };
    let expected = digest(search(RIPGREP, &RIPGREP_OPTIONS))?;
    if digest(search(&weir, &["grep"]))? != expected {
        return Err(format!("{name}: weir grep and rg print different lines").into());
    }
    let contender = |name: &str, program: &str, options: &'static [&'static str]| {
        let (program, expected) = (program.to_owned(), expected.0);
        Contender::new(name, settings.runs, move || {
            let run = measured(search(&program, options))?;
            if run.bytes != expected {
                return Err(format!("the output has {} bytes, not {expected}", run.bytes).into());
            }
            Ok(run.seconds)
        })
    };
    let mut contenders = vec![
        contender(RIPGREP, RIPGREP, &RIPGREP_OPTIONS),
        contender(ONE_JOB, &weir, &["grep", "-j", "1"]),
    ];
    if cores > 1 {
        contenders.push(contender(&all_jobs, &weir, &["grep"]));
    }
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes: log.bytes }])?;
    let title = format!("{name}, plain log of {} in the page cache", log.size_text());
    let mut table = Table::new("grep", title, rows);
    let best = if cores > 1 { &all_jobs } else { ONE_JOB };
    table.add_goal("speed by rg", table.ratio(RIPGREP, best), Threshold::AtLeast(0.95));
    if let Some(ratio) = table.ratio(RIPGREP, ONE_JOB) {
        table.notes.push(format!("one job has {ratio:.2} of rg's speed"));
    }
    Ok(table)
}

/// `weir count` beside `wc -l`.
pub(super) fn count(settings: &Settings, log: &Log) -> Outcome<Table> {
    const WC: &str = "wc -l";
    const WEIR: &str = "weir count";
    let weir = settings.weir();
    let contender = |name: &str, program: String, option: &'static str| {
        Contender::new(name, settings.runs, move || {
            let run = measured(command(&program, &[option, &log.path]))?;
            check_number(&run.printed, &[log.lines, log.lines + 1])?;
            Ok(run.seconds)
        })
    };
    let contenders = vec![contender(WC, "wc".to_owned(), "-l"), contender(WEIR, weir, "count")];
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes: log.bytes }])?;
    let title = format!("lines of a plain log of {} in the page cache", log.size_text());
    let mut table = Table::new("grep", title, rows);
    table.add_goal("weir count by wc -l", table.ratio(WEIR, WC), Threshold::AtMost(1.2));
    Ok(table)
}
