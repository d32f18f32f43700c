//! The cost of watching a running program: the gateway and the parsers without `--admin`, with it
//! while all pages are open, and while a profile is taken. Also the cost of messages.

mod gateway;
mod logging;
mod parser;
mod watcher;

use super::gateway::NGINX;
use crate::build;
use crate::measure::Measured;
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use watcher::Watch;
use weir_tools::packages;
use weir_tools::shell::Outcome;

/// The goals for the rate with `--admin` divided by that without it, and the same while a profile
/// is taken.
const WATCHED_MIN: f64 = 0.99;
const PROFILED_MIN: f64 = 0.97;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    let missing = packages::missing(&[("curl", "curl")], !settings.is_smoke);
    if !missing.is_empty() {
        return Ok(vec![Table::missing("inside", "a look inside", missing)]);
    }
    build::weir(settings)?;
    logging::check_levels(settings)?;
    let mut tables = Vec::new();
    let mut request_us = None;
    let missing = packages::missing(&[(NGINX, "nginx-light"), ("wrk", "wrk")], !settings.is_smoke);
    if missing.is_empty() {
        let [rates, times] = gateway::tables(settings)?;
        request_us = times.row(Watch::None.name()).map(Measured::median);
        tables.extend([rates, times]);
    } else {
        tables.push(Table::missing("inside", "the gateway", missing));
    }
    tables.push(logging::table(settings, request_us)?);
    tables.push(parser::table(settings)?);
    Ok(tables)
}

/// Adds the goals to a table of rates, in which a higher number is better.
fn add_goals(rates: &mut Table) {
    let [without, watched, profiled] = Watch::ALL.map(Watch::name);
    let of_watched = rates.ratio(watched, without);
    rates.add_goal("watched by unwatched", of_watched, Threshold::AtLeast(WATCHED_MIN));
    let of_profiled = rates.ratio(profiled, without);
    rates.add_goal("with a profile by unwatched", of_profiled, Threshold::AtLeast(PROFILED_MIN));
}
