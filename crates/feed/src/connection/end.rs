//! How a connection ends.

use std::io;

use weir_ingest::StopReason;

use crate::framing::FrameError;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// The sender closed it.
    Closed,
    /// No line was completed for the idle limit.
    IdleTimeout,
    /// Its frames are malformed.
    MalformedFrame(FrameError),
    /// The partial lines of all connections take too much memory, and this one asked for more.
    LineMemoryFull,
    /// Reading is unlimited, and the cap is reached.
    CapReached,
    /// Reading failed.
    ReadFailed(io::Error),
    /// The sink takes no more.
    SinkStopped(StopReason),
}
