//! A jail with a stock filter beside fail2ban itself, which reads the same file in Python.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::{Settings, folder, text};
use crate::table::{Table, Threshold};
use weir_tools::packages;
use weir_tools::shell::{Outcome, command};

/// How many times as fast as fail2ban the replay should be.
const SPEED_MIN: f64 = 300.0;

/// fail2ban reads some ten megabytes in a second.
const MEBIBYTES_MAX: u64 = 128;

/// Debian's Python, which has the modules of the package.
const PYTHON: &str = "/usr/bin/python3";
const FILTERS: &str = "/etc/fail2ban/filter.d";

const JAIL: &str = "[nginx-botsearch]\nfilter = nginx-botsearch\nmaxretry = 2\nfindtime = 600\n\
                    bantime = 600\nmaxmatches = 2\nignoreself = false\n";

/// A ban: its client, its line, and whether the client was banned already.
type Ban = (String, u64, bool);

/// Measures both, if fail2ban is installed or can be.
pub(super) fn run(settings: &Settings) -> Outcome<Table> {
    const FAIL2BAN: &str = "fail2ban";
    const WEIR: &str = "weir rules";
    if !Path::new(FILTERS).exists() && !settings.is_smoke {
        // A failure shows in the note below.
        packages::install(&["fail2ban"]).ok();
    }
    if !Path::new(FILTERS).exists() {
        let note = "missing: fail2ban (Debian's package fail2ban)".to_owned();
        return Ok(Table::missing("rules", "a jail of fail2ban", vec![note]));
    }
    let mebibytes = settings.mebibytes.min(MEBIBYTES_MAX);
    let log = input::as_text(&input::generated(settings, "combined", mebibytes)?)?;
    let (expected, _) = bans_of_fail2ban(&log)?;
    if expected.is_empty() && !settings.is_smoke {
        return Err("fail2ban bans no client of the log".into());
    }
    let checked = |(bans, seconds): (Vec<Ban>, f64)| {
        let is_right = bans == expected;
        is_right.then_some(seconds).ok_or("Weir and fail2ban ban differently".into())
    };
    let contenders = vec![
        Contender::new(FAIL2BAN, settings.runs_if_slow(), || {
            bans_of_fail2ban(&log).and_then(checked)
        }),
        Contender::new(WEIR, settings.runs, || bans_of_weir(settings, &log).and_then(checked)),
    ];
    let [rows] = take_turns(contenders, [Unit::Seconds { bytes: log.bytes }])?;
    let title = format!(
        "the jail nginx-botsearch over {} lines of {}: {} bans",
        log.lines,
        log.size_text(),
        expected.len()
    );
    let mut table = Table::new("rules", title, rows);
    table.add_goal("speed by fail2ban", table.ratio(FAIL2BAN, WEIR), Threshold::AtLeast(SPEED_MIN));
    Ok(table)
}

/// The bans of fail2ban, and the seconds that it took without its start.
fn bans_of_fail2ban(log: &Log) -> Outcome<(Vec<Ban>, f64)> {
    let job = json!({
        "filter": "nginx-botsearch", "maxretry": 2, "findtime": 600, "bantime": 600,
        "maxmatches": 2, "files": [log.path], "is_timed": true,
    });
    let mut python = command(PYTHON, &["crates/testkit/oracle/fail2ban_replay.py"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // The job fits into the buffer of the pipe, so this does not block.
    python.stdin.take().ok_or("there is no pipe")?.write_all(job.to_string().as_bytes())?;
    let output = python.wait_with_output()?;
    let result: Value = serde_json::from_slice(&output.stdout)?;
    if let Some(error) = result["error"].as_str() {
        return Err(format!("fail2ban: {error}").into());
    }
    let ban =
        |ban: &Value| Some((ban[0].as_str()?.to_owned(), ban[3].as_u64()?, ban[4].as_bool()?));
    let bans: Option<Vec<Ban>> =
        result["bans"].as_array().and_then(|all| all.iter().map(ban).collect());
    Ok((bans.ok_or("there are no bans")?, result["seconds"].as_f64().ok_or("there is no time")?))
}

/// The bans of Weir, and the seconds that the whole command took.
fn bans_of_weir(settings: &Settings, log: &Log) -> Outcome<(Vec<Ban>, f64)> {
    let jail = folder()?.join("jail.local");
    std::fs::write(&jail, JAIL)?;
    let options = ["rules", "--rule", &text(&jail), "--filter-dir", FILTERS, "--json", &log.path];
    let start = Instant::now();
    // The exit code is 3, because there are bans.
    let output = command(&settings.weir(), &options).stderr(Stdio::inherit()).output()?;
    let seconds = start.elapsed().as_secs_f64();
    let result: Value = serde_json::from_slice(&output.stdout)?;
    let ban = |ban: &Value| {
        Some((
            ban["key"].as_str()?.to_owned(),
            ban["line"].as_u64()?,
            ban["already_banned"].as_bool()?,
        ))
    };
    let bans = result["rules"][0]["bans"].as_array();
    let bans: Option<Vec<Ban>> = bans.and_then(|all| all.iter().map(ban).collect());
    Ok((bans.ok_or("there are no bans")?, seconds))
}
