//! The list of the program's parts.

use std::fmt;
use std::sync::Arc;

use weir_observe::capture::{CaptureError, PendingCapture};
use weir_sync::{Lock, ReadWriteLock};
use weir_view::{RouteStage, ServiceLimit};

use crate::capture_kind::CaptureKind;
use crate::collect;
use crate::metrics::Scrape;
use crate::part::Part;
use crate::threads::ThreadTotals;

/// The parts of a running program. Clones share them.
#[derive(Clone, Default)]
pub struct Inside(Arc<Parts>);

#[derive(Default)]
struct Parts {
    parts: ReadWriteLock<Vec<Box<dyn Part>>>,
    threads: Lock<ThreadTotals>,
}

impl Inside {
    /// Adds a part.
    pub fn add(&self, part: impl Part + 'static) {
        self.0.parts.write().push(Box::new(part));
    }

    /// Returns the metrics of the process and of all parts.
    pub fn scrape(&self) -> Scrape {
        let mut scrape = Scrape::default();
        collect::process(&mut scrape);
        collect::threads(&mut scrape, &mut self.0.threads.lock());
        for part in self.0.parts.read().iter() {
            part.collect(&mut scrape);
        }
        scrape
    }

    /// Returns the stages of all parts in the order of the route, without rates.
    pub fn stages(&self) -> Vec<RouteStage> {
        let parts = self.0.parts.read();
        let mut stages: Vec<RouteStage> = parts.iter().flat_map(|part| part.stages()).collect();
        // The sort is stable: stages of one kind keep their order.
        stages.sort_by_key(|stage| stage.stage);
        stages
    }

    /// Returns what the process and all parts use of their limits.
    pub fn limits(&self) -> Vec<ServiceLimit> {
        let parts = self.0.parts.read();
        let of_parts = parts.iter().flat_map(|part| part.limits());
        collect::process_limits().into_iter().chain(of_parts).collect()
    }
}

impl Inside {
    /// Starts a capture in the first part that supports this kind; `None` if no part does.
    pub(crate) fn start_capture(
        &self,
        kind: CaptureKind,
        condition: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        let parts = self.0.parts.read();
        parts.iter().find_map(|part| part.start_capture(kind, condition))
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.0.parts.read().len();
        formatter.debug_struct("Inside").field("parts", &parts).finish()
    }
}
