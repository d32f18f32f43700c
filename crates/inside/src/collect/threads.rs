//! The metrics of the threads.

use crate::metrics::Scrape;
use crate::metrics::catalog::{THREAD_CPU_SECONDS, THREAD_WAITING_SECONDS};
use crate::threads::ThreadTotals;

/// Adds the times of the threads of each kind.
pub(crate) fn threads(scrape: &mut Scrape, totals: &mut ThreadTotals) {
    for (kind, times) in totals.update() {
        if let Some(running) = times.running {
            scrape.add_float(&THREAD_CPU_SECONDS, &[kind], running);
        }
        if let Some(waiting) = times.waiting {
            scrape.add_float(&THREAD_WAITING_SECONDS, &[kind], waiting);
        }
    }
}
