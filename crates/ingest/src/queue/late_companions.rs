//! The companions of a source that appear after its first lines.

use std::sync::{Arc, MutexGuard};

use weir_core::{CompanionSearch, YearReference};
use weir_sync::Lock;

use crate::clock::Clock;

/// The search for further companions of one source. Blocks that are parsed at the same time may
/// read it; it changes in the order of the blocks.
#[derive(Debug)]
pub(crate) struct LateCompanions {
    search: Lock<CompanionSearch>,
    clock: Arc<dyn Clock>,
}

impl LateCompanions {
    /// A search at the start of a source; see [`CompanionSearch::new`].
    pub(crate) fn new(year: Option<YearReference>, clock: Arc<dyn Clock>) -> Self {
        Self { search: Lock::new(CompanionSearch::new(year)), clock }
    }

    /// Locks the search.
    pub(crate) fn lock(&self) -> MutexGuard<'_, CompanionSearch> {
        self.search.lock()
    }

    /// The current time in seconds since 1970.
    pub(crate) fn now_s(&self) -> i64 {
        self.clock.unix_s()
    }
}
