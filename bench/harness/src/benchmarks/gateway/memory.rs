//! The memory of the gateway: with idle connections, and over many requests.

use super::Setup;
use crate::load;
use crate::measure::{Measured, Unit};
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
pub(super) fn table(setup: &Setup<'_>) -> Outcome<Table> {
    let is_smoke = setup.settings.is_smoke;
    let connections = if is_smoke { SMOKE_CONNECTIONS } else { CONNECTIONS };
    let idle = idle(setup, connections)?;
    let mut sizes = vec![(format!("{connections} idle connections"), idle)];
    let mut growth = None;
    if is_installed("h2load") {
        let steps = if is_smoke { SMOKE_REQUESTS } else { REQUESTS };
        let after = after_requests(setup, &steps)?;
        growth = Some(after[2] as f64 / after[0] as f64);
        sizes.extend(steps.iter().map(|count| format!("{count} requests")).zip(after));
    }
    let rows = sizes.into_iter().map(|(name, bytes)| Measured {
        name,
        unit: Unit::Mebibytes,
        runs: vec![bytes as f64 / f64::from(1 << 20)],
    });
    let title = "resident memory of weir gateway --keep 16MiB";
    let mut table = Table::list("gateway", title, rows.collect());
    table.add_goal(
        "megabytes with idle connections",
        Some(idle as f64 / 1e6),
        Threshold::AtMost(IDLE_MEGABYTES_MAX),
    );
    table.add_goal("after all requests by the first", growth, Threshold::AtMost(GROWTH_MAX));
    Ok(table)
}

/// The memory with idle connections.
fn idle(setup: &Setup<'_>, count: usize) -> Outcome<u64> {
    let weir = setup.weir(&[])?;
    let host = format!("127.0.0.1:{}", weir.port);
    let _held = HeldConnections::open(&setup.settings.example("hold"), "plain", &host, count)?;
    weir.program.resident_bytes()
}

/// The memory after each number of requests.
fn after_requests(setup: &Setup<'_>, steps: &[usize; 3]) -> Outcome<Vec<u64>> {
    let weir = setup.weir(&[])?;
    let (mut sent, mut measured) = (0, Vec::new());
    for count in steps {
        load::h2load(count - sent, &[&weir.url("/open/1")])?;
        sent = *count;
        measured.push(weir.program.resident_bytes()?);
    }
    Ok(measured)
}
