//! What can be looked into.

use weir_view::RouteStage;

use crate::look::{GlassKind, Look, LookError};
use crate::metrics::Scrape;

/// Stages of one kind that are shown at most: the sources that the server tells of.
pub(crate) const STAGES_OF_KIND_MAX: usize = weir_server::SOURCES_MAX;

/// A part of a program that tells its numbers when it is asked.
pub trait Part: Send + Sync {
    /// Adds its metrics.
    fn collect(&self, scrape: &mut Scrape);

    /// Returns its stages of the route, without rates.
    fn stages(&self) -> Vec<RouteStage>;

    /// Begins to wait for something of its own that can be looked at; `None` if it has nothing of the kind.
    ///
    /// # Errors
    /// If the condition is not valid, or too many wait.
    fn look(&self, _kind: GlassKind, _condition: Option<&str>) -> Option<Result<Look, LookError>> {
        None
    }
}
