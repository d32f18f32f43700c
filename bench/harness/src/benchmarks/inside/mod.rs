//! What it costs that somebody looks inside: the gateway and the parsers without `--admin`, with it and with
//! somebody who looks at all pages, and while a profile is taken; and whether profiles are right.

mod agreement;
mod gateway;
mod load;
mod parser;
mod watcher;

use std::net::TcpListener;

use crate::build;
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use watcher::Watch;
use weir_tools::shell::{Outcome, is_installed};

/// The rate with `--admin` by that without it, and the same while a profile is taken.
const WATCHED_MIN: f64 = 0.99;
const PROFILED_MIN: f64 = 0.97;

pub(crate) fn run(settings: &Settings) -> Outcome<Vec<Table>> {
    if !is_installed("curl") {
        let mut table = Table::new("inside", "a look inside", Vec::new());
        table.notes.push("missing: curl (Debian's package curl)".to_owned());
        return Ok(vec![table]);
    }
    build::weir(settings)?;
    let mut tables = gateway::tables(settings)?;
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
