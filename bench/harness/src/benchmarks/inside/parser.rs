//! The server of the page, which parses a log that it is sent.

use std::time::Instant;

use super::add_goals;
use super::watcher::Watch;
use crate::curl;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::process::{RunningProgram, free_port};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::Outcome;

pub(super) fn table(settings: &Settings) -> Outcome<Table> {
    let log = input::as_text(&input::combined(settings)?)?;
    let contenders = Watch::ALL.map(|watch| {
        let log = &log;
        Contender::new(watch.name(), settings.runs, move || upload(settings, log, watch))
    });
    let [rows] = take_turns(contenders.into(), [Unit::GigabytesPerSecond])?;
    let title = format!("the page's server, a combined log of {} by `curl -T`", log.size_text());
    let mut rates = Table::new("inside", title, rows);
    add_goals(&mut rates);
    Ok(rates)
}

/// Sends the log to a server of its own. Returns the gigabytes a second.
fn upload(settings: &Settings, log: &Log, watch: Watch) -> Outcome<f64> {
    let admin = format!("127.0.0.1:{}", free_port()?);
    let (_server, address) = RunningProgram::weir(settings, watch.options(&["--admin", &admin]))?;
    let watcher = watch.begin(&admin, 2);
    let start = Instant::now();
    let report = curl::upload(log, &address);
    let seconds = start.elapsed().as_secs_f64();
    watcher.end()?;
    curl::check_lines(&report?, log)?;
    Ok(log.bytes as f64 / seconds / 1e9)
}
