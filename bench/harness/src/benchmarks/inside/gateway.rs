//! The gateway, with one token that it has verified before.

use std::cell::RefCell;

use super::watcher::{Watch, Watcher};
use super::{add_goals, free_address};
use crate::benchmarks::gateway::client::{self, Requests};
use crate::benchmarks::gateway::proxies::{self, Program};
use crate::benchmarks::gateway::tokens::{self, Algorithm};
use crate::benchmarks::gateway::{check, write_files};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::{Outcome, is_installed};

/// How long the gateway is measured at a time.
const SECONDS: u32 = 3;

pub(super) const PATH: &str = "/HS256/1";

/// A gateway, and its admin address.
struct Gateway {
    watch: Watch,
    program: Program,
    admin: String,
}

/// The backend of a gateway, and the token and the answer of its client.
pub(super) struct Setup {
    pub(super) backend: Program,
    pub(super) token: String,
    expected: Vec<u8>,
}

impl Setup {
    pub(super) fn start(settings: &Settings) -> Outcome<Self> {
        let files = write_files()?;
        let backend = proxies::backend(&files, None)?;
        let least = settings.is_smoke.then_some(100);
        let token = tokens::first(&tokens::file(Algorithm::Hs256, least)?)?;
        Ok(Self { backend, token, expected: std::fs::read(files.join("1"))? })
    }
}

/// A gateway with these options.
pub(super) fn program(settings: &Settings, backend: u16, options: &[&str]) -> Outcome<Program> {
    proxies::weir_with_options(settings, backend, options)
}

/// A gateway that is measured in turn with others.
pub(super) struct Turn<'a> {
    pub(super) name: &'static str,
    pub(super) program: &'a Program,
    /// Starts the watcher of this gateway for a number of seconds; it may be one that does nothing.
    pub(super) begin: Box<dyn Fn(u32) -> Watcher + 'a>,
}

/// Whether the programs that are needed beside the gateway are installed.
pub(super) fn is_possible() -> bool {
    is_installed(proxies::NGINX) && is_installed("wrk")
}

pub(super) fn tables(settings: &Settings, setup: &Setup) -> Outcome<[Table; 2]> {
    let gateways = Watch::ALL.map(|watch| start(settings, setup.backend.port, watch));
    let gateways: Outcome<Vec<Gateway>> = gateways.into_iter().collect();
    let gateways = gateways?;
    let turns = gateways.iter().map(|gateway| Turn {
        name: gateway.watch.name(),
        program: &gateway.program,
        begin: Box::new(|seconds| gateway.watch.begin(&gateway.admin, seconds)),
    });
    let [mut rates, times] = measure(settings, setup, "the gateway", turns.collect())?;
    add_goals(&mut rates);
    Ok([rates, times])
}

/// Measures gateways in turn: the requests a second, and the processor time for a request.
pub(super) fn measure(
    settings: &Settings,
    setup: &Setup,
    title: &str,
    turns: Vec<Turn<'_>>,
) -> Outcome<[Table; 2]> {
    for turn in &turns {
        check::answers(turn.program, PATH, &setup.token, &setup.expected)?;
    }
    let seconds = if settings.is_smoke { 1 } else { SECONDS };
    let processor_us = RefCell::new(Vec::new());
    let contender = |turn: &Turn<'_>| -> Outcome<f64> {
        let before = turn.program.processor_seconds()?;
        let watcher = (turn.begin)(seconds);
        let load = client::closed(turn.program, PATH, &Requests::OneToken(&setup.token), seconds);
        watcher.end()?;
        let load = load?;
        let used = turn.program.processor_seconds()? - before;
        processor_us.borrow_mut().push((turn.name, used / load.requests * 1e6));
        Ok(load.requests / load.seconds)
    };
    let contenders =
        turns.iter().map(|turn| Contender::new(turn.name, settings.runs, || contender(turn)));
    let rows = take_turns(contenders.collect(), Unit::RequestsPerSecond)?;
    let of_what = "1 kB, one token";
    let rates = Table::new("inside", format!("{title}, {of_what}: requests a second"), rows);
    let rows = times(settings, &rates, &processor_us.into_inner());
    let title = format!("{title}, {of_what}: its processor time for a request");
    Ok([rates, Table::new("inside", title, rows)])
}

/// Starts a gateway with an admin address, if it is watched.
fn start(settings: &Settings, backend: u16, watch: Watch) -> Outcome<Gateway> {
    let admin = free_address()?;
    let options = ["--admin", &admin];
    let options = if watch == Watch::None { &[][..] } else { &options[..] };
    let program = program(settings, backend, options)?;
    Ok(Gateway { watch, program, admin })
}

/// The processor times of the rows of a table. The first turn of each does not count.
fn times(settings: &Settings, rates: &Table, measured: &[(&str, f64)]) -> Vec<Measured> {
    let row = |name: &String| {
        let of_it = measured.iter().filter(|(it, _)| it == name).map(|(_, time)| *time);
        let runs: Vec<f64> = of_it.collect();
        let counted = runs.len().saturating_sub(settings.runs);
        Measured { name: name.clone(), unit: Unit::Microseconds, runs: runs[counted..].to_vec() }
    };
    rates.rows.iter().map(|rate| row(&rate.name)).collect()
}
