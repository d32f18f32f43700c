//! A look inside a running Weir: its route with live numbers and its metrics, at an address of their own.
//!
//! The parts of the program, such as the gateway and the server of the page, hand out their numbers as plain
//! data when they are asked. [`Inside`] is the list of the parts that run. An [`AdminServer`] asks them and
//! answers `GET /metrics`, `GET /route.json`, and `GET /` with a page that draws the route. [`METRICS`] lists all
//! metrics, and `docs/metrics.md` explains them. [`AdminAddress::route`] asks another process.
//!
//! ```
//! use weir_inside::{AdminServer, Inside};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = AdminServer::bind(&"127.0.0.1:0".parse()?, None, Default::default()).await?;
//! println!("a look inside at {}", server.address());
//! let shutdown = async { /* for instance: wait for ctrl-c */ };
//! server.serve(Inside::default(), shutdown).await;
//! # Ok(())
//! # }
//! ```

mod address;
mod admin;
mod answers;
mod client;
mod collect;
mod glass;
mod inside;
mod kept_profiles;
mod log;
mod look;
mod metrics;
mod own_tasks;
mod pages;
mod part;
mod profiles;
mod route;
mod tasks;
mod threads;

pub use address::{AdminAddress, AdminAddressError};
pub use admin::AdminServer;
pub use client::AskError;
pub use collect::{FeedPart, ListenerCounts};

pub use inside::Inside;
pub use look::{GlassKind, Look, LookError};
pub use metrics::{Exemplar, HistogramPoint, METRICS, Metric, MetricKind, Scrape, TextFormat};
pub use part::Part;
