//! What can be looked into.

use weir_view::RouteStage;

use crate::metrics::Scrape;

/// A part of a program that tells its numbers when it is asked.
pub trait Part: Send + Sync {
    /// Adds its metrics.
    fn collect(&self, scrape: &mut Scrape);

    /// Returns its stages of the route, without rates.
    fn stages(&self) -> Vec<RouteStage>;
}
