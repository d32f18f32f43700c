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

/// A search, with the arguments that every program takes.
struct Search {
    name: &'static str,
    arguments: Vec<String>,
}

/// The searches beside ripgrep, a table for each.
pub(super) fn searches(settings: &Settings, log: &Log) -> Outcome<Vec<Table>> {
    let missing = packages::missing(&[(RIPGREP, "ripgrep")], !settings.is_smoke);
    if !missing.is_empty() {
        return Ok(vec![Table::missing("grep", "plain file", missing)]);
    }
    let rare = rare_literal(log, log.bytes / 2)?;
    let search = |name, arguments: &[&str]| Search {
        name,
        arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
    };
    let searches = [
        search("rare literal", &["-F", &rare]),
        search("frequent literal", &["-F", " 404 "]),
        search("regular expression", &[r#""(GET|POST) /[a-z]+/[0-9]+"#]),
        search("-i", &["-i", "googlebot"]),
        search("-c", &["-c", "Firefox"]),
        search("-v", &["-v", "Mozilla"]),
    ];
    searches.iter().map(|search| beside_ripgrep(settings, log, search)).collect()
}

fn beside_ripgrep(settings: &Settings, log: &Log, search: &Search) -> Outcome<Table> {
    let cores = cores()?;
    let all_jobs = format!("weir grep, {cores} jobs");
    let weir = settings.weir();
    let expected = digest(search_command(RIPGREP, &RIPGREP_OPTIONS, search, log))?;
    if digest(search_command(&weir, &["grep"], search, log))? != expected {
        return Err(format!("{}: weir grep and rg print different lines", search.name).into());
    }
    let contender = |name: &str, program: &str, options: &'static [&'static str]| {
        let (program, expected) = (program.to_owned(), expected.0);
        Contender::new(name, settings.runs, move || {
            let run = measured(search_command(&program, options, search, log))?;
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
    let title = format!("{}, plain log of {} in the page cache", search.name, log.size_text());
    let mut table = Table::new("grep", title, rows);
    let best = if cores > 1 { &all_jobs } else { ONE_JOB };
    table.add_goal("speed by rg", table.ratio(RIPGREP, best), Threshold::AtLeast(0.95));
    if let Some(ratio) = table.ratio(RIPGREP, ONE_JOB) {
        table.notes.push(format!("one job has {ratio:.2} of rg's speed"));
    }
    Ok(table)
}

fn search_command(
    program: &str,
    options: &[&str],
    search: &Search,
    log: &Log,
) -> std::process::Command {
    let mut command = command(program, options);
    command.args(&search.arguments).arg(&log.path);
    command
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
