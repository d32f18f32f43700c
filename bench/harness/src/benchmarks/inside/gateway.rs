//! The gateway, with one token that it has verified before.

use std::cell::RefCell;

use super::watcher::Watch;
use super::{add_goals, free_address};
use crate::benchmarks::gateway::client::{self, Requests};
use crate::benchmarks::gateway::proxies::{self, Program};
use crate::benchmarks::gateway::tokens::{self, Algorithm};
use crate::benchmarks::gateway::{check, write_files};
use crate::measure::{Contender, Unit, take_turns};
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

/// What is before and behind a gateway.
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

pub(super) fn tables(settings: &Settings) -> Outcome<Vec<Table>> {
    if !is_installed(proxies::NGINX) || !is_installed("wrk") {
        let mut table = Table::new("inside", "the gateway", Vec::new());
        table.notes.push("missing: nginx and wrk".to_owned());
        return Ok(vec![table]);
    }
    let Setup { backend, token, expected } = Setup::start(settings)?;
    let gateways = Watch::ALL.map(|watch| start(settings, backend.port, watch));
    let gateways: Outcome<Vec<Gateway>> = gateways.into_iter().collect();
    let gateways = gateways?;
    for gateway in &gateways {
        check::answers(&gateway.program, PATH, &token, &expected)?;
    }
    let seconds = if settings.is_smoke { 1 } else { SECONDS };
    let processor_us = RefCell::new(Vec::new());
    let contender = |gateway: &Gateway| -> Outcome<f64> {
        let before = gateway.program.processor_seconds()?;
        let watcher = gateway.watch.begin(&gateway.admin, seconds);
        let load = client::closed(&gateway.program, PATH, &Requests::OneToken(&token), seconds);
        watcher.end()?;
        let load = load?;
        let used = gateway.program.processor_seconds()? - before;
        processor_us.borrow_mut().push((gateway.watch, used / load.requests * 1e6));
        Ok(load.requests / load.seconds)
    };
    let contenders = gateways.iter().map(|gateway| {
        Contender::new(gateway.watch.name(), settings.runs, move || contender(gateway))
    });
    let rows = take_turns(contenders.collect(), Unit::RequestsPerSecond)?;
    let mut rates = Table::new("inside", "the gateway, 1 kB, one token: requests a second", rows);
    add_goals(&mut rates);
    Ok(vec![rates, times(settings, &processor_us.into_inner())])
}

/// Starts a gateway with an admin address, if it is watched.
fn start(settings: &Settings, backend: u16, watch: Watch) -> Outcome<Gateway> {
    let admin = free_address()?;
    let options = ["--admin", &admin];
    let options = if watch == Watch::None { &[][..] } else { &options[..] };
    let program = program(settings, backend, options)?;
    Ok(Gateway { watch, program, admin })
}

/// The processor time of the gateway for a request. The first turn does not count.
fn times(settings: &Settings, measured: &[(Watch, f64)]) -> Table {
    let rows = Watch::ALL.map(|watch| {
        let of_it = measured.iter().filter(|(it, _)| *it == watch).map(|(_, time)| *time);
        let runs: Vec<f64> = of_it.collect();
        let counted = runs.len().saturating_sub(settings.runs);
        crate::measure::Measured {
            name: watch.name().to_owned(),
            unit: Unit::Microseconds,
            runs: runs[counted..].to_vec(),
        }
    });
    let title = "the gateway, 1 kB, one token: its processor time for a request";
    Table::new("inside", title, rows.into())
}
