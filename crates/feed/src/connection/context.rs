//! What the connections of a listener share.

use std::convert::Infallible;
use std::sync::Arc;

use weir_observe::glass::Captures;

use super::memory::SharedMemory;
use super::options::ConnectionOptions;
use crate::counts::Counters;

/// Those who wait to look at a connection. There are no conditions on connections.
pub type FeedCaptures = Captures<Infallible>;

/// Everything that reading a connection needs beside its socket.
#[derive(Debug)]
pub(crate) struct ConnectionContext<S> {
    pub(crate) options: ConnectionOptions,
    pub(crate) sink: S,
    pub(crate) memory: SharedMemory,
    pub(crate) counters: Arc<Counters>,
    /// Those who wait to look at a connection.
    pub(crate) captures: Arc<FeedCaptures>,
}
