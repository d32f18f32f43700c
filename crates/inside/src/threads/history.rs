//! The rates of threads since the previous snapshot.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use weir_view::{Thread, ThreadWork};

use super::threads;

/// The longest span over which rates are computed.
const SPAN_MAX: Duration = Duration::from_secs(5);

/// The time and the threads' work of the previous snapshot.
#[derive(Debug, Default)]
pub(crate) struct ThreadHistory(Option<(Instant, HashMap<u64, ThreadWork>)>);

impl ThreadHistory {
    /// Returns the current threads with their rates since the previous call.
    pub(crate) fn update(&mut self, now: Instant) -> Vec<Thread> {
        let mut threads = threads();
        let works = threads.iter().map(|thread| (thread.id, thread.work)).collect();
        let before = self.0.replace((now, works));
        let Some((then, before)) = before else { return threads };
        let span = now.saturating_duration_since(then);
        if span > SPAN_MAX || span.is_zero() {
            return threads;
        }
        for thread in &mut threads {
            let before = before.get(&thread.id).copied().unwrap_or_default();
            thread.rates = Some(thread.work.rates_since(&before, span.as_secs_f64()));
        }
        threads
    }
}
