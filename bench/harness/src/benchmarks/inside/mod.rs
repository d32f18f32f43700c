//! The cost of watching a running program: the gateway and the parsers without `--admin`, with it
//! while all pages are open, and while a profile is taken. Also whether profiles are right, and the
//! cost of messages, of traces, and of a client of `/glass` that waits for a request.

mod agreement;
mod collector;
mod gateway;
mod load;
mod logging;
mod options;
mod parser;
mod watcher;

use std::net::TcpListener;

use crate::build;
use crate::measure::Measured;
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use gateway::Setup;
use watcher::Watch;
use weir_tools::shell::{Outcome, is_installed};

/// The goals for the rate with `--admin` divided by that without it, and the same while a profile
/// is taken.
const WATCHED_MIN: f64 = 0.99;
const PROFILED_MIN: f64 = 0.97;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if !is_installed("curl") {
        let mut table = Table::new("inside", "a look inside", Vec::new());
        table.notes.push("missing: curl (Debian's package curl)".to_owned());
        return Ok(vec![table]);
    }
    build::weir(settings)?;
    logging::check_levels(settings)?;
    let mut tables = Vec::new();
    let mut request_us = None;
    if gateway::is_possible() {
        let setup = Setup::start(settings)?;
        let [rates, times] = gateway::tables(settings, &setup)?;
        request_us = times.row(Watch::None.name()).map(Measured::median);
        tables.extend([rates, times]);
        tables.extend(options::tables(settings, &setup)?);
    } else {
        let mut table = Table::new("inside", "the gateway", Vec::new());
        table.notes.push("missing: nginx and wrk".to_owned());
        tables.push(table);
    }
    tables.push(logging::table(settings, request_us)?);
    tables.extend(parser::tables(settings)?);
    tables.push(agreement::table(settings)?);
    Ok(tables)
}

/// An address of this machine at which nothing listens.
fn free_address() -> Outcome<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Adds the goals to a table of rates, in which a higher number is better.
fn add_goals(rates: &mut Table) {
    let [without, watched, profiled] = Watch::ALL.map(Watch::name);
    let of_watched = rates.ratio(watched, without);
    rates.add_goal("watched by unwatched", of_watched, Threshold::AtLeast(WATCHED_MIN));
    let of_profiled = rates.ratio(profiled, without);
    rates.add_goal("with a profile by unwatched", of_profiled, Threshold::AtLeast(PROFILED_MIN));
}
