//! Measurements of rates, of latencies, and of the cost of records and limits.

use super::KILOBYTES;
use super::client::{self, Requests};
use super::proxies::{self, Program};
use super::setup::{LIMITS, NGINX, NJS, Setup, WEIR};
use super::tokens::Algorithm;
use super::turns::{self, Contender, Process};
use crate::measure::{self, Measured, Unit, take_turns};
use crate::table::{Table, Threshold};
use weir_tools::shell::Outcome;

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

/// All tables of rates and latencies.
pub(super) fn all(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let mut tables = without_tokens(setup)?;
    tables.extend(with_one_token(setup)?);
    let full = rate_of_nginx(&tables).ok_or("nginx was not measured")?;
    tables.extend(with_new_tokens(setup)?);
    tables.push(open_loop(setup, full * OPEN_SHARE)?);
    tables.extend(cost_of_records(setup)?);
    tables.extend(cost_of_limits(setup)?);
    Ok(tables)
}

fn without_tokens(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let mut tables = Vec::new();
    for kilobytes in KILOBYTES {
        let path = format!("/open/{kilobytes}");
        let names = setup.proxies().map(|(name, _)| name).filter(|name| *name != NJS);
        let contenders: Vec<_> =
            names.map(|name| setup.contender(name, &path, Requests::WithoutToken)).collect();
        let title = format!("{kilobytes} kB, an open route");
        tables.extend(turns::tables(&title, &contenders, setup.settings.runs)?);
    }
    Ok(tables)
}

fn with_one_token(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let mut tables = Vec::new();
    for kilobytes in KILOBYTES {
        let path = format!("/HS256/{kilobytes}");
        let requests = || Requests::OneToken(&setup.token);
        let names = setup.proxies().map(|(name, _)| name);
        let contenders: Vec<_> =
            names.map(|name| setup.contender(name, &path, requests())).collect();
        let title = format!("{kilobytes} kB, one token with each request");
        let [mut rates, times] = turns::tables(&title, &contenders, setup.settings.runs)?;
        let ratio = rates.ratio(WEIR, NGINX);
        rates.add_goal("weir by nginx", ratio, Threshold::AtLeast(CACHED_MIN));
        tables.extend([rates, times]);
    }
    Ok(tables)
}

/// nginx gets the same new tokens, which it passes on unread.
fn with_new_tokens(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let names =
        Algorithm::ALL.map(|it| (format!("weir, {}", it.name()), format!("/{}/1", it.name())));
    let new = |index: usize| Requests::NewTokens(&setup.tokens[index]);
    let mut contenders = vec![setup.contender(NGINX, "/HS256/1", new(0))];
    if setup.njs.is_some() {
        contenders.push(setup.contender(NJS, "/HS256/1", new(0)));
    }
    for (index, (name, path)) in names.iter().enumerate() {
        let start = || proxies::weir(setup.settings, setup.backend, 0);
        let process = Process::Fresh(Box::new(start));
        contenders.push(Contender { name, process, path, requests: new(index) });
    }
    let title = "1 kB, a new token with each request";
    let [mut rates, times] = turns::tables(title, &contenders, setup.settings.runs)?;
    let ratio = rates.ratio(&names[0].0, NGINX);
    rates.add_goal("weir by nginx, HS256", ratio, Threshold::AtLeast(NEW_MIN));
    Ok(vec![rates, times])
}

/// The 99th percentile of the latency at a fixed rate.
pub(super) fn open_loop(setup: &Setup<'_>, rate: f64) -> Outcome<Table> {
    let seconds = if setup.settings.is_smoke { 0.2 } else { OPEN_SECONDS };
    let contender = |name: &'static str, proxy| {
        measure::Contender::new(name, setup.settings.runs, move || {
            let load =
                client::open(setup.settings, proxy, "/HS256/1", &setup.token, (rate, seconds))?;
            Ok(load.p99_us())
        })
    };
    let contenders = vec![contender(NGINX, &setup.nginx), contender(WEIR, &setup.weir)];
    let rows = take_turns(contenders, Unit::Microseconds)?;
    let title =
        format!("99th percentile of the latency, 1 kB, one token, {rate:.0} requests/s wanted");
    let mut table = Table::new("gateway", title, rows);
    let ratio = table.ratio(WEIR, NGINX);
    table.add_goal("weir by nginx", ratio, Threshold::AtMost(P99_MAX));
    Ok(table)
}

/// A gateway that drops its records, beside one that counts them.
fn cost_of_records(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let programs = ["dropped", "counted"]
        .map(|kind| Ok((kind, proxies::gate(setup.settings, kind, setup.backend)?)));
    let programs: Outcome<Vec<(&str, Program)>> = programs.into_iter().collect();
    let programs = programs?;
    let contenders: Vec<_> = programs
        .iter()
        .map(|(name, program)| Contender {
            name,
            process: Process::Running(program),
            path: "/HS256/1",
            requests: Requests::OneToken(&setup.token),
        })
        .collect();
    let title = "1 kB, one token, records that are";
    let [mut rates, times] = turns::tables(title, &contenders, setup.settings.runs)?;
    let ratio = rates.ratio("counted", "dropped");
    rates.add_goal("counted by dropped", ratio, Threshold::AtLeast(RECORDED_MIN));
    Ok(vec![rates, times])
}

/// A gateway with limits that nothing trips, beside one without limits.
fn cost_of_limits(setup: &Setup<'_>) -> Outcome<Vec<Table>> {
    let limited = proxies::weir(setup.settings, setup.backend, LIMITS)?;
    let name = format!("{LIMITS} limits in enforce");
    let contenders =
        [("no limit", &setup.weir), (name.as_str(), &limited)].map(|(name, program)| Contender {
            name,
            process: Process::Running(program),
            path: "/HS256/1",
            requests: Requests::OneToken(&setup.token),
        });
    let title = "1 kB, one token";
    let [mut rates, times] = turns::tables(title, &contenders, setup.settings.runs)?;
    let share = rates.ratio(&name, "no limit").map(|ratio| (1.0 - ratio) / LIMITS as f64);
    rates.add_goal("share of the rate for a limit", share, Threshold::AtMost(LIMIT_SHARE_MAX));
    Ok(vec![rates, times])
}

/// The rate of nginx that is asked for small files with one token.
fn rate_of_nginx(tables: &[Table]) -> Option<f64> {
    let table =
        tables.iter().find(|table| table.title == one_token_title(1, "requests a second"))?;
    table.row(NGINX).map(Measured::median)
}

fn one_token_title(kilobytes: usize, what: &str) -> String {
    format!("{kilobytes} kB, one token with each request: {what}")
}
