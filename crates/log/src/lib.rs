//! The log of a running Weir.
//!
//! All crates log through `tracing` events. A [`Log`] receives the events that pass its [`LogFilter`],
//! writes each as a line of text or JSON, and keeps the last ones for the admin page. The filter
//! can change at run time. A repeated message is written a few times, and then counted.
//!
//! Events more detailed than `info` are not compiled into release builds ([`LEVEL_MAX`]). Spans are
//! not used.
//!
//! ```
//! use weir_log::{MessageFormat, Log};
//!
//! let log = Log::new("info,weir_gateway=warn".parse()?, MessageFormat::Text, std::io::stderr());
//! tracing::subscriber::with_default(log.clone(), || {
//!     tracing::info!(bytes = 12, "an upload has ended");
//!     tracing::info!(target: "weir_gateway", "filtered out");
//! });
//! let (_, events) = log.last(0);
//! assert_eq!(events.len(), 1);
//! # Ok::<(), weir_log::LogFilterError>(())
//! ```

mod filter;
mod format;
mod log;
mod message;
mod repeats;
mod ring;

pub use filter::{LogFilter, LogFilterError};
pub use format::MessageFormat;
pub use log::{InstallError, LEVEL_MAX, Log};
