//! The reasons for which a connection ends.

use std::io;

use weir_ingest::StopReason;

use crate::framing::FrameError;

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum ConnectionEnd {
    /// The sender closed it.
    Closed,
    /// The sender closed it without a close_notify alert (RFC 8446 section 6.1), as many do. The
    /// stream may be truncated.
    NoCloseNotify,
    /// No line was completed within the idle limit.
    IdleTimeout,
    /// Its frames are malformed.
    MalformedFrame(FrameError),
    /// The partial lines of all connections take too much memory, and this one needed more.
    LineMemoryFull,
    /// The cap of unlimited reading is reached.
    CapReached,
    /// Reading failed.
    ReadFailed(io::Error),
    /// The sink has stopped.
    SinkStopped(StopReason),
}
