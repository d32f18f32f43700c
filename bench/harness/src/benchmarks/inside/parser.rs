//! The server of the page, which parses a log that it is sent.

use std::time::Instant;

use super::watcher::Watch;
use super::{add_goals, free_address};
use crate::benchmarks::memory::serve;
use crate::input::{self, Log};
use crate::measure::{Contender, Unit, take_turns};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::{Outcome, command, output_of};

pub(super) fn tables(settings: &Settings) -> Outcome<Vec<Table>> {
    let log = input::as_text(&input::combined(settings)?)?;
    let contenders = Watch::ALL.map(|watch| {
        let log = &log;
        Contender::new(watch.name(), settings.runs, move || upload(settings, log, watch))
    });
    let rows = take_turns(contenders.into(), Unit::GigabytesPerSecond)?;
    let title = format!("the page's server, a combined log of {} by `curl -T`", log.size_text());
    let mut rates = Table::new("inside", title, rows);
    add_goals(&mut rates);
    Ok(vec![rates])
}

/// Sends the log to a server of its own. Returns the gigabytes a second.
fn upload(settings: &Settings, log: &Log, watch: Watch) -> Outcome<f64> {
    let admin = free_address()?;
    let options = ["--admin", &admin];
    let options = if watch == Watch::None { &[][..] } else { &options[..] };
    let (mut server, address) = serve(settings, options)?;
    let uploaded = upload_to(&address, log, &admin, watch);
    server.kill()?;
    server.wait()?;
    uploaded
}

fn upload_to(address: &str, log: &Log, admin: &str, watch: Watch) -> Outcome<f64> {
    let watcher = watch.begin(admin, 2);
    let start = Instant::now();
    let answer = output_of(&mut command("curl", &["-sS", "--fail", "-T", &log.path, address]));
    let seconds = start.elapsed().as_secs_f64();
    watcher.end()?;
    let session = answer?;
    let session = session.rsplit("/s/").next().map(str::trim).unwrap_or_default();
    let session: String = session.chars().take_while(char::is_ascii_hexdigit).collect();
    let report = format!("{address}api/sessions/{session}/report");
    let report = output_of(&mut command("curl", &["-sS", "--fail", &report]))?;
    let lines = crate::answer::line_count(&report)?;
    if lines != log.lines {
        return Err(format!("the server counts {lines} lines, not {}", log.lines).into());
    }
    Ok(log.bytes as f64 / seconds / 1e9)
}
