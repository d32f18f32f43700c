//! The progress bar on standard error.

use std::sync::Arc;

use weir_ingest::DataSet;

/// Shows how far the reading is, where standard error is a terminal.
#[derive(Debug)]
pub(crate) struct Progress;

impl Progress {
    /// Starts to show it.
    pub(crate) fn start(_data: Arc<DataSet>, _bytes_total: Option<u64>) -> Self {
        Self
    }

    /// Takes it off the screen.
    pub(crate) fn end(self) {}
}
