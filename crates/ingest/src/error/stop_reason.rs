//! Why a source has to stop.

/// Why a source has to stop before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The source or the pipeline was cancelled.
    Cancelled,
    /// The data set has reached its memory limit.
    MemoryFull,
}
