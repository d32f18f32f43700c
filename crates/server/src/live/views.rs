//! Live views: a report is sent whenever the data or the query has changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_query::WrittenQuery;
use weir_view::{NormalFilter, view_message_start};

use super::message::{Message, read_message};
use super::{SEND_TIMEOUT, has_open_source, process_newest, send_failure, wait_until_outdated};
use crate::answer;
use crate::refusal::Refusal;
use crate::session::{MadeView, Session, SharedAnswer};
use crate::turns::{CancelOnDrop, Effort};

/// The minimum time between two views. Neither people nor browsers can follow more than 20 a
/// second. A new query and the end of the last open source are shown after this time.
const VIEW_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum time between two views of growing data. Views of large data differ little, and each
/// takes time from reading and sending the data.
const VIEW_INTERVAL_MAX: Duration = Duration::from_millis(400);

/// The time between two views is the time for which the data has been growing, divided by this, and
/// kept within the two limits above.
const GROWTH_SHARE: u32 = 3;

/// If the data does not change for this long, the next change starts a new period of growth.
const QUIET: Duration = Duration::from_secs(1);

/// If the data grows by at most this much between two views, the source is a live feed or a
/// followed file. Each of its lines should appear at once.
const TRICKLE_BYTES: u64 = 256 << 10;

/// Answers take at most 1/n of the time, however large the data is, because parsers wait while an
/// answer reads the values.
const WORK_SHARE: u32 = 4;

/// Like [`SEND_TIMEOUT`], while unsent views take too much memory.
const CROWDED_SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// The query of a connection.
#[derive(Debug)]
pub(super) struct LiveQuery {
    id: u64,
    query: WrittenQuery,
    /// The normal form of the filter, which the answers contain if the query had typed conditions.
    filter: Option<NormalFilter>,
    /// Cancels the answer when a newer query replaces this one.
    cancel: CancelOnDrop,
}

impl LiveQuery {
    pub(super) fn new(id: u64, query: WrittenQuery, is_typed: bool) -> Self {
        let filter = is_typed.then(|| query.normal_filter());
        Self { id, query, filter, cancel: CancelOnDrop::default() }
    }
}

/// Checks queries. A newer message cancels the check of the previous one.
pub(super) async fn check_queries(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    mut newest: watch::Receiver<String>,
    writer: &SocketWriter<UpgradedStream>,
    current: &watch::Sender<Arc<LiveQuery>>,
) {
    let read = |text| read_query(session, data, text);
    while let Some(checked) = process_newest(&mut newest, read).await {
        match checked {
            Ok(query) => {
                current.send_replace(Arc::new(query));
            }
            Err((id, refusal)) => send_failure(writer, id, &refusal).await,
        }
    }
}

/// Reads and checks the query of a message. An error includes the id of the query, if the message
/// has one.
async fn read_query(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    text: String,
) -> Result<LiveQuery, (Option<u64>, Refusal)> {
    let read = read_message(session, text).await;
    let Message { mut request, id, query } = read.map_err(|refusal| (None, refusal))?;
    let query = query.map_err(|refusal| (id, refusal))?;
    // Only a `count` can lack a query, and those are answered elsewhere.
    let (Some(query), Some(query_id)) = (query, id) else {
        return Err((None, Refusal::BadRequest("the message has no query".to_owned())));
    };
    let is_typed = request.query_mut().is_some_and(|query| !query.conditions.is_empty());
    let data = data.clone();
    let effort = Effort::of(query.expressions());
    let check = move || {
        answer::check(&query, &data)?;
        Ok(LiveQuery::new(query_id, query, is_typed))
    };
    let checked = session.turns().check(effort, check).await.and_then(|checked| checked);
    checked.map_err(|refusal| (id, refusal))
}

/// Sends a view at once, and then the newest one whenever the data or the query has changed, until
/// the page no longer receives them. Changes during the work on a view are merged into the next.
pub(super) async fn publish(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    writer: &SocketWriter<UpgradedStream>,
    mut current: watch::Receiver<Arc<LiveQuery>>,
) {
    let mut version = data.version();
    let mut subscription = AnswerSubscription::default();
    let mut pace = Pace::new();
    loop {
        let started = Instant::now();
        pace.start_view(started, bytes_parsed(data));
        let is_growing = has_open_source(data);
        let mut next = started;
        match subscription.next_view(session, data, &mut current).await {
            Ok(Some((start, view))) => {
                next += pace.interval(started.elapsed());
                if !send_view(session, writer, &start, &view).await {
                    return;
                }
                drop(view);
                if session.view_memory().is_crowded() {
                    session.answers().trim(session.view_memory());
                }
            }
            // A newer query has arrived.
            Ok(None) => {}
            Err(Refusal::SessionEnded) => return,
            Err(refusal) => {
                send_failure(writer, subscription.query, &refusal).await;
                subscription.give_up();
            }
        }
        let is_outdated = |version: &u64| subscription.is_outdated(*version);
        tokio::select! {
            changed = current.changed() => {
                if changed.is_err() {
                    return;
                }
                current.mark_changed();
            }
            () = wait_until_outdated(data, &mut version, next, is_growing, is_outdated) => {}
        }
        pace.end_quiet(next.elapsed());
        tokio::time::sleep_until(next.min(started + VIEW_INTERVAL)).await;
    }
}

/// The pace of the views of a connection.
#[derive(Debug)]
struct Pace {
    /// The start of the current view.
    started: Instant,
    /// When the data began to grow, in the current period of growth.
    growing_since: Instant,
    /// The number of parsed bytes at the start of the current view.
    bytes: u64,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { started: now, growing_since: now, bytes: 0 }
    }

    /// Records that a view starts, with this number of parsed bytes.
    fn start_view(&mut self, started: Instant, bytes: u64) {
        if bytes.saturating_sub(self.bytes) <= TRICKLE_BYTES {
            self.growing_since = started;
        }
        (self.started, self.bytes) = (started, bytes);
    }

    /// Returns the time between the start of the current view, which took this time to compute, and
    /// the start of the next one.
    fn interval(&self, work_time: Duration) -> Duration {
        // While nothing is parsed, views are cheap, and the first data should appear at once.
        if self.bytes == 0 {
            return Duration::ZERO;
        }
        let growing = self.started - self.growing_since;
        let interval = (growing / GROWTH_SHARE).clamp(VIEW_INTERVAL, VIEW_INTERVAL_MAX);
        interval.max(work_time * WORK_SHARE)
    }

    /// Records that nothing changed for this long, until now.
    fn end_quiet(&mut self, quiet: Duration) {
        if quiet > QUIET {
            self.growing_since = Instant::now();
        }
    }
}

/// The answer that a connection follows, and the last view that it has sent.
#[derive(Debug, Default)]
struct AnswerSubscription {
    answer: Option<Arc<SharedAnswer>>,
    /// The id of its query; `None` before the first.
    query: Option<u64>,
    /// The answer to the previous query, from which the first view is computed.
    previous: Option<Arc<SharedAnswer>>,
    /// The data version of the last view; `None` before the first.
    seen: Option<u64>,
    /// Whether a view was refused or abandoned, so that only a new query can continue.
    has_given_up: bool,
}

impl AnswerSubscription {
    /// Computes the next view. Returns it with the beginning of its JSON, or `None` if the query
    /// was replaced.
    ///
    /// # Errors
    /// Fails if the answer takes too long.
    async fn next_view(
        &mut self,
        session: &Arc<Session>,
        data: &Arc<DataSet>,
        current: &mut watch::Receiver<Arc<LiveQuery>>,
    ) -> Result<Option<(String, MadeView)>, Refusal> {
        // An error means that the connection ends.
        let is_new = self.answer.is_none() || current.has_changed().unwrap_or(true);
        let (id, filter, query, cancellation) = {
            // The reference must end with this block. Only `current` may keep the query alive, so
            // that replacing the query cancels the answer.
            let live = current.borrow_and_update();
            let query = is_new.then(|| live.query.clone());
            (live.id, live.filter.clone(), query, live.cancel.cancellation())
        };
        self.query = Some(id);
        if let Some(query) = query {
            let before = self.answer.replace(session.answers().find(query, data));
            self.previous = before.filter(|before| before.has_evaluator()).or(self.previous.take());
            (self.seen, self.has_given_up) = (None, false);
        }
        let Some(answer) = &self.answer else { return Ok(None) };
        let previous = self.previous.clone();
        let made = answer.view(session, data, self.seen, previous, &cancellation).await?;
        self.has_given_up = made.is_none();
        let Some(made) = made else { return Ok(None) };
        (self.previous, self.seen) = (None, Some(made.version));
        let start = view_message_start(id, filter.as_ref()).map_err(Refusal::internal)?;
        Ok(Some((start, made)))
    }

    fn give_up(&mut self) {
        self.has_given_up = true;
    }

    /// Returns whether this version of the data has not been shown yet.
    fn is_outdated(&self, version: u64) -> bool {
        !self.has_given_up && self.seen != Some(version)
    }
}

/// Sends a view. Returns false if the page does not receive it in time, which is shorter while
/// unsent views take too much memory.
async fn send_view(
    session: &Session,
    writer: &SocketWriter<UpgradedStream>,
    start: &str,
    view: &MadeView,
) -> bool {
    let (view_work, tail) = (session.turns().view_work(), view.tail());
    let (_timed, bytes) = (view_work.send(), start.len() + tail.len());
    let sending = writer.send_shared_text(start, tail);
    let crowded_out = async {
        tokio::time::sleep(CROWDED_SEND_TIMEOUT).await;
        session.view_memory().crowded().await;
    };
    let is_sent = tokio::select! {
        sent = tokio::time::timeout(SEND_TIMEOUT, sending) => matches!(sent, Ok(Ok(()))),
        () = crowded_out => false,
    };
    if is_sent {
        view_work.add_view(bytes);
    }
    is_sent
}

/// Returns the number of parsed bytes of all sources.
fn bytes_parsed(data: &DataSet) -> u64 {
    data.sources().iter().map(|source| *source.parsed().borrow()).sum()
}
