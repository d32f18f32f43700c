//! Live views: a report is sent whenever the data or the query has changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_query::{Now, WrittenQuery};
use weir_view::{LiveReply, NormalFilter, Query, view_message_start};

use super::follow::{Answering, Asking, Pace, Sent};
use super::message::{Message, read_message};
use super::{SEND_TIMEOUT, failure, follow, send_reply};
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

/// The query of a connection.
#[derive(Debug)]
struct LiveQuery {
    id: u64,
    query: WrittenQuery,
    /// The normal form of the filter, which the answers contain if the query had typed conditions.
    filter: Option<NormalFilter>,
}

impl LiveQuery {
    fn new(id: u64, query: WrittenQuery, is_typed: bool) -> Self {
        let filter = is_typed.then(|| query.normal_filter());
        Self { id, query, filter }
    }
}

/// Sends views until the connection ends: at first of all records.
pub(super) async fn serve(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    writer: &SocketWriter<UpgradedStream>,
    newest: watch::Receiver<String>,
) {
    let query = Query { zone: session.zone().cloned(), ..Query::default() };
    // The zone was checked when the server started.
    let Ok(query) = WrittenQuery::parse(&query, Now::read()) else { return };
    let first = Some(Arc::new(LiveQuery::new(0, query, false)));
    let read = |text| read_query(session, data, text);
    // People go on looking at the views of a valid query while they type the next one.
    let asking = Asking { newest, read, first, keeps_previous: true };
    let answers = ViewAnswers {
        session,
        data,
        writer,
        query: None,
        answer: None,
        previous: None,
        seen: None,
        pace: ViewPace::new(),
    };
    follow::serve(data, writer, asking, answers).await;
}

/// Reads and checks the query of a message.
async fn read_query(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    text: String,
) -> Result<Option<LiveQuery>, Box<LiveReply>> {
    let refuse = |id, refusal: Refusal| Box::new(failure(id, &refusal));
    let read = read_message(session, text).await;
    let Message { mut request, id, query } = read.map_err(|refusal| refuse(None, refusal))?;
    let query = query.map_err(|refusal| refuse(id, refusal))?;
    // Only a `count` can lack a query, and those are answered elsewhere.
    let (Some(query), Some(query_id)) = (query, id) else {
        return Err(refuse(None, Refusal::BadRequest("the message has no query".to_owned())));
    };
    let is_typed = request.query_mut().is_some_and(|query| !query.conditions.is_empty());
    let data = data.clone();
    let effort = Effort::of(query.expressions());
    let check = move || {
        answer::check(&query, &data)?;
        Ok(LiveQuery::new(query_id, query, is_typed))
    };
    let checked = session.turns().check(effort, check).await.and_then(|checked| checked);
    checked.map(Some).map_err(|refusal| refuse(id, refusal))
}

/// The pace of the views of a connection.
#[derive(Debug)]
struct ViewPace {
    /// The start of the current view.
    started: Instant,
    /// When the data began to grow, in the current period of growth.
    growing_since: Instant,
    /// The number of parsed bytes at the start of the current view.
    bytes: u64,
}

impl ViewPace {
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
struct ViewAnswers<'a> {
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    writer: &'a SocketWriter<UpgradedStream>,
    /// The query whose answer is followed; `None` before the first.
    query: Option<Arc<LiveQuery>>,
    answer: Option<Arc<SharedAnswer>>,
    /// The answer to the previous query, from which the first view is computed.
    previous: Option<Arc<SharedAnswer>>,
    /// The data version of the last view; `None` before the first.
    seen: Option<u64>,
    pace: ViewPace,
}

impl ViewAnswers<'_> {
    /// Returns the answer to a query, and replaces the one that was followed if the query is new.
    fn answer_to(&mut self, query: &Arc<LiveQuery>) -> Arc<SharedAnswer> {
        let is_same = self.query.as_ref().is_some_and(|followed| Arc::ptr_eq(followed, query));
        if let Some(answer) = self.answer.as_ref().filter(|_| is_same) {
            return answer.clone();
        }
        let answer = self.session.answers().find(query.query.clone(), self.data);
        let before = self.answer.replace(answer.clone());
        self.previous = before.filter(|before| before.has_evaluator()).or(self.previous.take());
        (self.query, self.seen) = (Some(query.clone()), None);
        answer
    }
}

impl Answering for ViewAnswers<'_> {
    type Question = LiveQuery;
    type Answer = MadeView;

    async fn answer(&mut self, query: &Arc<LiveQuery>) -> Result<Option<MadeView>, Refusal> {
        self.pace.start_view(Instant::now(), bytes_parsed(self.data));
        let answer = self.answer_to(query);
        let cancel = CancelOnDrop::default();
        let (previous, cancellation) = (self.previous.clone(), cancel.cancellation());
        let made = answer.view(self.session, self.data, self.seen, previous, &cancellation).await?;
        if let Some(made) = &made {
            (self.previous, self.seen) = (None, Some(made.version));
        }
        Ok(made)
    }

    fn pace(&mut self, _: &LiveQuery, work_time: Duration) -> Pace {
        let again = self.pace.interval(work_time);
        Pace { again, newer: again.min(VIEW_INTERVAL) }
    }

    async fn send(&mut self, query: &LiveQuery, answered: Result<MadeView, Refusal>) -> Sent {
        let start = view_message_start(query.id, query.filter.as_ref());
        let answered = answered.and_then(|view| Ok((start.map_err(Refusal::internal)?, view)));
        match answered {
            Ok((start, view)) => {
                if !send_view(self.session, self.writer, &start, &view).await {
                    return Sent::Gone;
                }
                drop(view);
                if self.session.view_memory().is_crowded() {
                    self.session.answers().trim(self.session.view_memory());
                }
                Sent::Again
            }
            Err(Refusal::SessionEnded) => Sent::Gone,
            Err(refusal) => {
                send_reply(self.writer, &failure(Some(query.id), &refusal)).await;
                Sent::Done
            }
        }
    }

    fn is_outdated(&self, version: u64) -> bool {
        self.seen != Some(version)
    }

    fn end_wait(&mut self, quiet: Duration) {
        self.pace.end_quiet(quiet);
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
    let is_sent = tokio::select! {
        sent = tokio::time::timeout(SEND_TIMEOUT, sending) => matches!(sent, Ok(Ok(()))),
        () = session.view_memory().crowded_out() => false,
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
