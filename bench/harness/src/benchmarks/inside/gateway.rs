//! The gateway, with one token that it has verified before.

use super::add_goals;
use super::watcher::Watch;
use crate::benchmarks::gateway::{Proxy, Requests, Setup};
use crate::load::{self, rate_and_cost};
use crate::measure::Contender;
use crate::process::free_port;
use crate::settings::Settings;
use crate::table::Table;
use weir_tools::shell::Outcome;

/// How long the gateway is measured at a time.
const SECONDS: u32 = 3;

/// A gateway, and its admin address.
struct WatchedGateway {
    watch: Watch,
    proxy: Proxy,
    admin: String,
}

pub(super) fn tables(settings: &Settings) -> Outcome<[Table; 2]> {
    let setup = Setup::start(settings)?;
    let gateways: Outcome<Vec<WatchedGateway>> =
        Watch::ALL.into_iter().map(|watch| start(&setup, watch)).collect();
    let gateways = gateways?;
    let seconds = if settings.is_smoke { 1 } else { SECONDS };
    let contenders = gateways.iter().map(|gateway| {
        Contender::of_several(gateway.watch.name(), settings.runs, || {
            rate_and_cost(&gateway.proxy.program, || {
                let watcher = gateway.watch.begin(&gateway.admin, seconds);
                let load = setup.load(&gateway.proxy, "/HS256/1", Requests::OneToken, seconds);
                watcher.end()?;
                load
            })
        })
    });
    let [mut rates, times] =
        load::tables("inside", "the gateway, 1 kB, one token", contenders.collect())?;
    add_goals(&mut rates);
    Ok([rates, times])
}

/// Starts a gateway with an admin address, if it is watched.
fn start(setup: &Setup<'_>, watch: Watch) -> Outcome<WatchedGateway> {
    let admin = format!("127.0.0.1:{}", free_port()?);
    let proxy = setup.weir(watch.options(&["--admin", &admin]))?;
    setup.check_answers(&proxy, "HS256")?;
    Ok(WatchedGateway { watch, proxy, admin })
}
