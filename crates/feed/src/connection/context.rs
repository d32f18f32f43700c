//! The state that the connections of a listener share.

use std::convert::Infallible;
use std::sync::Arc;

use weir_observe::capture::Captures;

use super::memory::SharedMemory;
use super::options::ConnectionOptions;
use crate::counts::Counters;

/// The captures that wait to observe a connection. They have no conditions.
pub type FeedCaptures = Captures<Infallible>;

/// The shared state that reading a connection needs, in addition to its socket.
#[derive(Debug)]
pub(crate) struct ConnectionContext<S> {
    pub(crate) options: ConnectionOptions,
    pub(crate) sink: S,
    pub(crate) memory: SharedMemory,
    pub(crate) counters: Arc<Counters>,
    pub(crate) captures: Arc<FeedCaptures>,
}
