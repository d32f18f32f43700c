//! The admin server of a running Weir: its route with live rates, metrics, tasks, profiles and log.
//!
//! The parts of the program, such as the gateway and the page's server, implement [`Part`] and
//! return their numbers as plain data. [`Inside`] is the list of the running parts. An
//! [`AdminServer`] serves them at its own address: `GET /metrics`, `GET /route.json`, and `GET /`
//! with a page that draws the route. [`METRICS`] lists all metrics, and `docs/metrics.md` explains
//! them. [`AdminAddress::route`] requests the route of another process.
//!
//! ```
//! use weir_inside::{AdminServer, Inside};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = AdminServer::bind(&"127.0.0.1:0".parse()?, None, Default::default()).await?;
//! println!("admin server at {}", server.address());
//! let shutdown = async { /* for instance: wait for ctrl-c */ };
//! server.serve(Inside::default(), shutdown).await;
//! # Ok(())
//! # }
//! ```

mod address;
mod admin;
mod answers;
mod capture;
mod capture_kind;
mod client;
mod collect;
mod inside;
mod log;
mod metrics;
mod own_tasks;
mod pages;
mod parameters;
mod part;
mod proc_stat;
mod profile_stages;
mod profile_store;
mod profiles;
mod route;
mod tasks;
mod threads;

pub use address::{AdminAddress, AdminAddressError};
pub use admin::AdminServer;
pub use capture_kind::CaptureKind;
pub use client::AskError;
pub use collect::{FeedPart, GroupedRequests, ListenerCounts, RequestsPart};
pub use inside::Inside;
pub use metrics::{Exemplar, HistogramPoint, METRICS, Metric, MetricKind, Scrape, TextFormat};
pub use part::Part;
pub use tasks::TaskSortKey;
