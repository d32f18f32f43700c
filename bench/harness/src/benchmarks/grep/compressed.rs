//! `weir grep` beside `zgrep`, on one gzip file and on several.

use std::fs::File;
use std::path::Path;

use super::process::{SearchRun, digest, measured};
use super::rare_literal;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, cores};
use crate::table::{Table, Threshold};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command, execute};

/// Files that are searched together.
const FILES: u64 = 4;
/// How many times as fast as zgrep one core should be.
const SPEED_BY_ZGREP: f64 = 3.0;

pub(super) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let missing = packages::missing(&[("zgrep", "gzip")], !settings.is_smoke);
    if !missing.is_empty() {
        return Ok(vec![Table::missing("grep", "gzip files", missing)]);
    }
    let log = input::generated(settings, "combined", (settings.mebibytes / FILES).max(1))?;
    let files = compressed(&log)?;
    let one = table(settings, &log, &files[..1], SPEED_BY_ZGREP)?;
    // Several files can be searched on as many cores.
    let cores = (cores()? as f64).min(FILES as f64);
    let several = table(settings, &log, &files, SPEED_BY_ZGREP * cores)?;
    Ok(vec![one, several])
}

/// The log as gzip files, which are kept.
fn compressed(log: &Log) -> Outcome<Vec<String>> {
    let mut files = Vec::new();
    for number in 0..FILES {
        let path = format!("{}.{number}.gz", log.path);
        if !input::is_newer(Path::new(&path), Path::new(&log.path)) {
            let output = File::create(&path)?;
            execute(command("gzip", &["-c", &log.path]).stdout(output))?;
        }
        files.push(path);
    }
    Ok(files)
}

fn table(settings: &Settings, log: &Log, files: &[String], goal: f64) -> Outcome<Table> {
    const ZGREP: &str = "zgrep";
    const WEIR: &str = "weir grep";
    let rare = rare_literal(log, log.bytes / 2)?;
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let zgrep = || command("zgrep", &[&["-a", "-F", &rare], &names[..]].concat());
    let ours = || command(&settings.weir(), &[&["grep", "-F", &rare], &names[..]].concat());
    let expected = digest(zgrep())?;
    if digest(ours())? != expected {
        return Err("weir grep and zgrep print different lines".into());
    }
    let checked = |run: SearchRun| {
        let is_right = run.bytes == expected.0;
        is_right.then_some(run.seconds).ok_or("two runs print different lines".into())
    };
    let contenders = vec![
        Contender::new(ZGREP, settings.runs_if_slow(), || measured(zgrep()).and_then(checked)),
        Contender::new(WEIR, settings.runs, || measured(ours()).and_then(checked)),
    ];
    let bytes = log.bytes * files.len() as u64;
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes }])?;
    let title = match files {
        [_] => format!("rare literal, one gzip file of {} unpacked", log.size_text()),
        _ => format!("rare literal, {} gzip files of {} each", files.len(), log.size_text()),
    };
    let mut table = Table::new("grep", title, rows);
    table.add_goal("speed by zgrep", table.ratio(ZGREP, WEIR), Threshold::AtLeast(goal));
    Ok(table)
}
