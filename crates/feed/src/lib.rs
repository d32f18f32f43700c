//! Receives log lines over TCP, TLS, UDP and Unix sockets, from many senders at once, in bounded
//! memory.
//!
//! [`Feed::bind`] listens at every [`FeedAddress`]. [`Feed::start`] creates a [`Sink`] for each
//! listener, which receives its complete lines. [`PipelineSink`] makes a listener a source of a
//! pipeline.
//!
//! What an operator should know is an event of `tracing`: refused connections, faults of senders.
//!
//! An [`ActiveMode`] limits how far reading may run ahead of the sink. The modes are named after
//! those of Erlang's sockets. In every mode except the unlimited one, a full sink slows the sender
//! down by the flow control of its transport. `docs/flow-control.md` compares the modes.
//!
//! ```
//! use weir_feed::{Feed, FeedOptions, PipelineSink};
//! use weir_ingest::{DataSet, FormatChoice, Retention, Pipeline, PipelineOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = PipelineOptions::new(1, Retention::Segments);
//! let data = DataSet::new(options.retention, options.memory_bytes_max, &[]);
//! let pipeline = Pipeline::start(&options, data);
//! let feed = Feed::bind(FeedOptions::default(), &["tcp://127.0.0.1:0".parse()?]).await?;
//! println!("listening at {}", feed.names()[0]);
//! let sink = |name: &str| PipelineSink::new(&pipeline, name, FormatChoice::Detect);
//! let running = feed.start(sink);
//! assert_eq!(running.counts()[0].connections_open, 0);
//! # Ok(())
//! # }
//! ```

mod address;
mod connection;
mod counts;
mod feed;
mod framing;
mod listener;
mod memory;
mod option_error;
mod options;
mod sink;

pub use address::{FeedAddress, FeedAddressError};
pub use connection::FeedCaptures;
pub use counts::FeedCounts;
pub use feed::{Feed, RunningFeed};
pub use framing::{FrameError, Framer, Framing, Lines};
pub use option_error::OptionError;
pub use options::{ActiveMode, FeedOptions, Remedies};
pub use sink::{PipelineSink, Sink};
#[cfg(unix)]
pub use weir_net::socket::SocketOwner;
pub use weir_net::socket::{
    Address, AddressError, BindError, BindOptions, Peer, SocketMode, TlsFiles, TlsHandshakeError,
};
