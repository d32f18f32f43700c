//! The metrics of a feed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use weir_feed::{FeedCaptures, FeedCounts};
use weir_observe::capture::{CaptureError, PendingCapture};
use weir_view::{Passed, RouteStage, RouteStageKind};

use crate::capture_kind::CaptureKind;
use crate::metrics::Scrape;
use crate::metrics::catalog::{
    FEED_ACCEPTED, FEED_BYTES, FEED_CONNECTIONS, FEED_DATAGRAMS, FEED_ENDED, FEED_LOST_DATAGRAMS,
    FEED_READS, FEED_RECEIVING, FEED_TORN, FEED_WORKING,
};
use crate::part::Part;

/// The names of the listeners of a feed, with their counts.
pub type ListenerCounts = Vec<(String, FeedCounts)>;

/// A running feed as a part of the program.
pub struct FeedPart {
    counts: Box<dyn Fn() -> ListenerCounts + Send + Sync>,
    captures: Arc<FeedCaptures>,
}

impl FeedPart {
    /// Makes a part from a function that returns the counts, and from the captures of the
    /// connections.
    pub fn new(
        counts: impl Fn() -> ListenerCounts + Send + Sync + 'static,
        captures: Arc<FeedCaptures>,
    ) -> Self {
        Self { counts: Box::new(counts), captures }
    }
}

impl fmt::Debug for FeedPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FeedPart")
    }
}

impl Part for FeedPart {
    fn collect(&self, scrape: &mut Scrape) {
        for (listener, counts) in (self.counts)() {
            add_listener(&listener, &counts, scrape);
        }
    }

    fn stages(&self) -> Vec<RouteStage> {
        let counts = (self.counts)();
        counts.iter().map(|(listener, counts)| stage(listener, counts)).collect()
    }

    fn start_capture(
        &self,
        kind: CaptureKind,
        condition: Option<&str>,
    ) -> Option<Result<PendingCapture, CaptureError>> {
        (kind == CaptureKind::Feed).then(|| self.captures.arm_any(condition))
    }
}

fn add_listener(listener: &str, counts: &FeedCounts, scrape: &mut Scrape) {
    for (metric, number) in [
        (&FEED_CONNECTIONS, counts.connections_open),
        (&FEED_ACCEPTED, counts.connections),
        (&FEED_TORN, counts.lines_torn),
        (&FEED_DATAGRAMS, counts.datagrams),
        (&FEED_BYTES, counts.bytes),
        (&FEED_READS, counts.reads),
    ] {
        scrape.add(metric, &[listener], number);
    }
    for (metric, reason, number) in [
        (&FEED_ENDED, "refused", counts.connections_refused),
        (&FEED_ENDED, "timed_out", counts.connections_timed_out),
        (&FEED_ENDED, "dropped", counts.connections_dropped),
        (&FEED_LOST_DATAGRAMS, "cut", counts.datagrams_cut),
        (&FEED_LOST_DATAGRAMS, "dropped", counts.datagrams_dropped),
        (&FEED_LOST_DATAGRAMS, "dropped_by_kernel", counts.datagrams_dropped_by_kernel),
    ] {
        scrape.add(metric, &[listener, reason], number);
    }
    for (metric, ns) in [(&FEED_RECEIVING, counts.receiving_ns), (&FEED_WORKING, counts.working_ns)]
    {
        scrape.add_float(metric, &[listener], Duration::from_nanos(ns).as_secs_f64());
    }
}

fn stage(listener: &str, counts: &FeedCounts) -> RouteStage {
    let busy = Duration::from_nanos(counts.receiving_ns + counts.working_ns);
    RouteStage {
        passed: Passed {
            bytes: Some(counts.bytes),
            busy: Some(busy.as_secs_f64()),
            ..Passed::default()
        },
        ..RouteStage::new(RouteStageKind::Listener, listener)
    }
}
