//! Seeded synthetic traffic in combined log format, for demonstrations, tests and benchmarks.
//!
//! [`Traffic`] writes the log of a fictional web shop into buffers of its caller: Zipf-distributed
//! clients, paths, user agents and referers, days and nights, an attack on a log-in page, a
//! scanner, an outage, and a few dirty lines. The same seed produces the same bytes on every
//! platform. [`TrafficOptions`] set the size and the [`Shape`]; a [`Ledger`] counts exactly for tests.
//!
//! The crate does no input or output and depends on nothing.
//!
//! ```
//! use weir_demo::{TrafficOptions, Traffic};
//!
//! let mut traffic = Traffic::new(TrafficOptions { bytes: Some(100_000), ..TrafficOptions::default() });
//! let mut log = Vec::new();
//! while traffic.fill(&mut log, 64 * 1024) > 0 {}
//! assert!(log.len() >= 100_000 && log.ends_with(b"\n"));
//! ```

mod agents;
mod alias;
mod clients;
mod clock;
mod digits;
mod ledger;
mod line;
mod options;
mod outcome;
mod pool;
mod rng;
mod schedule;
mod site;
mod traffic;
mod world;

pub use ledger::{LINE_BYTES_MAX, Ledger};
pub use options::{Shape, TrafficOptions};
pub use traffic::Traffic;
