//! The interface of the program's parts.

use weir_observe::capture::{CaptureError, PendingCapture};
use weir_view::{RouteStage, ServiceLimit};

use crate::capture_kind::CaptureKind;
use crate::metrics::Scrape;

/// The most stages of one kind. The server reports at most this many sources.
pub(crate) const STAGES_OF_KIND_MAX: usize = weir_server::SOURCES_MAX;

/// A part of the program that reports its numbers on request.
pub trait Part: Send + Sync {
    /// Adds its metrics.
    fn collect(&self, scrape: &mut Scrape);

    /// Returns its stages of the route, without rates.
    fn stages(&self) -> Vec<RouteStage>;

    /// Returns what it uses of its limits.
    fn limits(&self) -> Vec<ServiceLimit> {
        Vec::new()
    }

    /// Starts a capture of the next subject of a kind; `None` if the part does not support the
    /// kind.
    ///
    /// # Errors
    /// If the condition is invalid, or if too many captures wait.
    fn start_capture(
        &self,
        _kind: CaptureKind,
        _condition: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        None
    }
}
