//! What the connections of a listener share.

use std::sync::Arc;

use super::memory::SharedMemory;
use super::options::ConnectionOptions;
use crate::counts::Counters;

/// Everything that reading a connection needs beside its socket.
#[derive(Debug)]
pub(crate) struct ConnectionContext<S> {
    pub(crate) options: ConnectionOptions,
    pub(crate) sink: S,
    pub(crate) memory: SharedMemory,
    pub(crate) counters: Arc<Counters>,
}
