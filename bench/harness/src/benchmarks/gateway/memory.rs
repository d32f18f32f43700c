//! The memory of the gateway: with idle connections, and over many requests.

use super::client;
use super::proxies;
use crate::measure::{Measured, Unit};
use crate::process::resident_bytes;
use crate::settings::Settings;
use crate::table::{Table, Threshold};
use weir_tools::held_connections::HeldConnections;
use weir_tools::shell::{Outcome, is_installed};

/// Idle connections, and those of a smoke run.
const CONNECTIONS: usize = 10_000;
const SMOKE_CONNECTIONS: usize = 100;

/// The numbers of requests after which memory is measured. The first one fills the window of
/// records.
const REQUESTS: [usize; 3] = [1_000_000, 1_500_000, 2_000_000];
const SMOKE_REQUESTS: [usize; 3] = [100, 200, 300];

/// The most memory with all idle connections, in megabytes.
const IDLE_MEGABYTES_MAX: f64 = 150.0;

/// The largest allowed ratio of the memory after all requests to that after the first part of them.
const GROWTH_MAX: f64 = 1.05;

/// Measures both, each with a gateway of its own.
pub(super) fn table(settings: &Settings, backend: u16) -> Outcome<Table> {
    let (connections, idle) = idle(settings, backend)?;
    let row = |name: String, bytes: u64| {
        let runs = vec![bytes as f64 / f64::from(1 << 20)];
        Measured { name, unit: Unit::Mebibytes, runs }
    };
    let mut rows = vec![row(format!("{connections} idle connections"), idle)];
    let mut growth = None;
    if is_installed("h2load") {
        let after = after_requests(settings, backend)?;
        let first = after.first().map_or(1, |(_, bytes)| *bytes);
        growth = after.last().map(|(_, bytes)| *bytes as f64 / first as f64);
        rows.extend(
            after.into_iter().map(|(count, bytes)| row(format!("{count} requests"), bytes)),
        );
    }
    let title = "resident memory of weir gateway --keep 16MiB";
    let mut table = Table::list("gateway", title, rows);
    table.add_goal(
        "megabytes with idle connections",
        Some(idle as f64 / 1e6),
        Threshold::AtMost(IDLE_MEGABYTES_MAX),
    );
    table.add_goal("after all requests by the first", growth, Threshold::AtMost(GROWTH_MAX));
    Ok(table)
}

/// The number of idle connections, and the memory with them.
fn idle(settings: &Settings, backend: u16) -> Outcome<(usize, u64)> {
    let count = if settings.is_smoke { SMOKE_CONNECTIONS } else { CONNECTIONS };
    let weir = proxies::weir(settings, backend, 0)?;
    let host = format!("127.0.0.1:{}", weir.port);
    let held = HeldConnections::open(&settings.example("hold"), ("plain", &host), count)?;
    let bytes = resident_bytes(weir.id())?;
    drop(held);
    Ok((count, bytes))
}

/// The memory after each number of requests.
fn after_requests(settings: &Settings, backend: u16) -> Outcome<Vec<(usize, u64)>> {
    let steps = if settings.is_smoke { SMOKE_REQUESTS } else { REQUESTS };
    let weir = proxies::weir(settings, backend, 0)?;
    let (mut sent, mut measured) = (0, Vec::new());
    for count in steps {
        client::counted(&weir, "/open/1", count - sent)?;
        sent = count;
        measured.push((count, resident_bytes(weir.id())?));
    }
    Ok(measured)
}
