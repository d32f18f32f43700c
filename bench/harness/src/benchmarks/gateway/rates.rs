//! Measurements of rates, of latencies, and of the cost of records and limits.

use super::proxies::{self, LIMITS, Proxy};
use super::{KILOBYTES, Requests, Setup};
use crate::load::{rate_and_cost, tables};
use crate::measure::{Contender, Measured, Unit, take_turns};
use crate::table::{Table, Threshold};
use weir_tools::shell::Outcome;

const NGINX: &str = "nginx";
const WEIR: &str = "weir";

/// How long a proxy is measured at a time.
const SECONDS: u32 = 2;

/// The goals for weir's rate divided by nginx's: with a token that was verified before, and with
/// new ones.
const CACHED_MIN: f64 = 0.9;
const NEW_MIN: f64 = 0.6;

/// The open loop: its rate divided by nginx's rate under full load, its length, and the goal for
/// the 99th percentile of weir's latency divided by nginx's.
const OPEN_SHARE: f64 = 0.7;
const OPEN_SECONDS: f64 = 5.0;
const P99_MAX: f64 = 1.5;

/// The goals for the rate with records divided by that without, and for the share of it that a
/// limit costs.
const RECORDED_MIN: f64 = 0.97;
const LIMIT_SHARE_MAX: f64 = 0.02;

/// All tables of rates and latencies of nginx and weir.
pub(super) fn all(setup: &Setup<'_>, [nginx, weir]: [&Proxy; 2]) -> Outcome<Vec<Table>> {
    let (mut all, mut full) = (Vec::new(), None);
    for (requests, route, what) in [
        (Requests::WithoutToken, "open", "an open route"),
        (Requests::OneToken, "HS256", "one token with each request"),
    ] {
        for kilobytes in KILOBYTES {
            let path = format!("/{route}/{kilobytes}");
            let proxies = [(NGINX, nginx), (WEIR, weir)];
            let contenders =
                proxies.map(|(name, proxy)| contender(setup, name, proxy, &path, requests));
            let title = format!("{kilobytes} kB, {what}");
            let [mut rates, times] = tables("gateway", &title, contenders.into())?;
            if matches!(requests, Requests::OneToken) {
                let ratio = rates.ratio(WEIR, NGINX);
                rates.add_goal("weir by nginx", ratio, Threshold::AtLeast(CACHED_MIN));
                full = full.or_else(|| rates.row(NGINX).map(Measured::median));
            }
            all.extend([rates, times]);
        }
    }
    all.extend(with_new_tokens(setup, nginx)?);
    let full = full.ok_or("nginx was not measured")?;
    all.push(open_loop(setup, [nginx, weir], full * OPEN_SHARE)?);
    all.extend(cost_of_records(setup)?);
    all.extend(cost_of_limits(setup, weir)?);
    Ok(all)
}

fn contender<'a>(
    setup: &'a Setup<'_>,
    name: &str,
    proxy: &'a Proxy,
    path: &'a str,
    requests: Requests,
) -> Contender<'a, 2> {
    Contender::of_several(name, setup.settings.runs, move || {
        rate_and_cost(&proxy.program, || setup.load(proxy, path, requests, SECONDS))
    })
}

/// nginx gets the same new tokens, which it passes on unread. Each turn of weir is a new process.
fn with_new_tokens(setup: &Setup<'_>, nginx: &Proxy) -> Outcome<[Table; 2]> {
    const PATH: &str = "/HS256/1";
    let weir = Contender::of_several(WEIR, setup.settings.runs, || {
        let weir = setup.weir(&[])?;
        rate_and_cost(&weir.program, || setup.load(&weir, PATH, Requests::NewTokens, SECONDS))
    });
    let contenders = vec![contender(setup, NGINX, nginx, PATH, Requests::NewTokens), weir];
    let title = "1 kB, a new token with each request";
    let [mut rates, times] = tables("gateway", title, contenders)?;
    let ratio = rates.ratio(WEIR, NGINX);
    rates.add_goal("weir by nginx", ratio, Threshold::AtLeast(NEW_MIN));
    Ok([rates, times])
}

/// The 99th percentile of the latency at a fixed rate.
pub(super) fn open_loop(
    setup: &Setup<'_>,
    [nginx, weir]: [&Proxy; 2],
    rate: f64,
) -> Outcome<Table> {
    let seconds = if setup.settings.is_smoke { 0.2 } else { OPEN_SECONDS };
    let contenders = [(NGINX, nginx), (WEIR, weir)].map(|(name, proxy)| {
        Contender::new(name, setup.settings.runs, move || {
            setup.p99_us(proxy, "/HS256/1", rate, seconds)
        })
    });
    let [rows] = take_turns(contenders.into(), [Unit::Microseconds])?;
    let title =
        format!("99th percentile of the latency, 1 kB, one token, {rate:.0} requests/s wanted");
    let mut table = Table::new("gateway", title, rows);
    let ratio = table.ratio(WEIR, NGINX);
    table.add_goal("weir by nginx", ratio, Threshold::AtMost(P99_MAX));
    Ok(table)
}

/// A gateway that drops its records, beside one that counts them.
fn cost_of_records(setup: &Setup<'_>) -> Outcome<[Table; 2]> {
    let [dropped, counted] =
        ["dropped", "counted"].map(|kind| proxies::gate(setup.settings, kind, setup.backend.port));
    let (dropped, counted) = (dropped?, counted?);
    let contenders = [("dropped", &dropped), ("counted", &counted)]
        .map(|(name, proxy)| contender(setup, name, proxy, "/HS256/1", Requests::OneToken));
    let [mut rates, times] =
        tables("gateway", "1 kB, one token, records that are", contenders.into())?;
    let ratio = rates.ratio("counted", "dropped");
    rates.add_goal("counted by dropped", ratio, Threshold::AtLeast(RECORDED_MIN));
    Ok([rates, times])
}

/// A gateway with limits that nothing trips, beside one without limits.
fn cost_of_limits(setup: &Setup<'_>, weir: &Proxy) -> Outcome<[Table; 2]> {
    let limited = proxies::weir(setup.settings, setup.backend.port, LIMITS, &[])?;
    let name = format!("{LIMITS} limits in enforce");
    let contenders = [("no limit", weir), (&name, &limited)]
        .map(|(name, proxy)| contender(setup, name, proxy, "/HS256/1", Requests::OneToken));
    let [mut rates, times] = tables("gateway", "1 kB, one token", contenders.into())?;
    let share = rates.ratio(&name, "no limit").map(|ratio| (1.0 - ratio) / LIMITS as f64);
    rates.add_goal("share of the rate for a limit", share, Threshold::AtMost(LIMIT_SHARE_MAX));
    Ok([rates, times])
}
