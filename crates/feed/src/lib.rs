//! Lines from sockets: TCP, TLS, UDP and Unix sockets, many senders at once, in bounded memory.
//!
//! [`Feed::bind`] listens at every [`Address`]; [`Feed::start`] gives each listener a [`Sink`]
//! that takes its whole lines. [`PipelineSink`] is the one that makes a listener a source of a
//! pipeline.
//!
//! How a connection is read is a choice, [`Active`], with the names that Erlang gave to it: a
//! passive one is read when there is room, once and N arm so many reads ahead of the work, and
//! an unlimited one is read as fast as it brings, up to a cap. In all but the last a full sink
//! stops the sender by the window of its own transport. `docs/flow-control.md` measures them.
//!
//! ```
//! # use std::sync::Arc;
//! use weir_feed::{Feed, FeedOptions, PipelineSink};
//! use weir_ingest::{DataSet, FormatChoice, Keep, Pipeline, PipelineOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PipelineOptions::new(1, Keep::Segments);
//! let data = DataSet::new(options.keep, options.memory_bytes_max, &[]);
//! let pipeline = Pipeline::start(&options, data, None);
//! let feed = Feed::bind(FeedOptions::default(), &["tcp://127.0.0.1:0".parse()?]).await?;
//! println!("{}", feed.names()[0]);
//! let sink = |name: &str| PipelineSink::new(&pipeline, name, FormatChoice::Detect);
//! let running = feed.start(sink, Arc::new(|sentence| eprintln!("{sentence}")));
//! assert_eq!(running.counts()[0].connections_open, 0);
//! # Ok(())
//! # }
//! ```

mod address;
mod bind;
mod connection;
mod counts;
mod datagram;
mod feed;
mod files;
mod framing;
mod herald;
mod kernel;
mod medium;
mod options;
mod partials;
mod pool;
mod sink;
mod tls;
#[cfg(unix)]
mod unix;

pub use address::{Address, AddressError, Transport};
pub use bind::BindError;
pub use counts::FeedCounts;
pub use feed::{Feed, Running};
pub use framing::{FrameError, Framer};
pub use herald::Say;
pub use options::{Active, FeedOptions, Framing, SocketMode};
pub use sink::{PipelineSink, Sink};
