//! Live views: a WebSocket that sends the page a report whenever the session changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{CloseCode, Event, Reader, Stream, WebSocket, Writer};
use weir_view::{JsonError, LiveReply, LiveRequest, LiveTopic, NormalFilter, Now, Query};

use crate::answer;
use crate::lines::{LineMessages, answer_lines, refuse_line_panel};
use crate::message;
use crate::query_string::TOP_MAX;
use crate::refusal::Refusal;
use crate::rules::{PanelMessages, answer_panels, refuse_panel};
use crate::selection::answer_counts;
use crate::session::{MadeView, Session, SharedAnswer};
use crate::turns::{CancelOnDrop, Effort};

/// The minimum time between two views. Neither people nor browsers can follow more than 20 a
/// second.
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

/// The time after which a page that does not receive a view counts as disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// The same while unsent views take too much memory.
const CROWDED_SEND_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the server waits for a page to receive the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum length of a query, in bytes of JSON.
pub(crate) const QUERY_BYTES_MAX: usize = 64 << 10;

/// The query of a connection.
#[derive(Debug)]
struct LiveQuery {
    query: Query,
    /// Whether the query had typed conditions. Its answers contain their normal form.
    is_typed: bool,
    /// The arrival time of the query. Relative times such as `2h ago` are resolved against it.
    now: Now,
    /// Cancels the answer when a newer query replaces this one.
    cancel: CancelOnDrop,
}

impl LiveQuery {
    fn new(query: Query, is_typed: bool, now: Now) -> Self {
        Self { query, is_typed, now, cancel: CancelOnDrop::default() }
    }
}

/// The newest message of each type. Older ones no longer matter.
#[derive(Debug, Default)]
struct Messages {
    query: watch::Sender<String>,
    count: watch::Sender<String>,
    panels: PanelMessages,
    lines: LineMessages,
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(session: Arc<Session>, socket: WebSocket<Stream>) {
    let (mut reader, writer) = socket.split();
    let Ok(data) = session.data() else { return };
    let _connection = session.turns().view_work().connect();
    let query = Query { zone: session.zone().cloned(), ..Query::default() };
    let current = watch::Sender::new(Arc::new(LiveQuery::new(query, false, Now::read())));
    let newest = Messages::default();
    let checking = check_queries(&session, &data, newest.query.subscribe(), &writer, &current);
    let counting = answer_counts(&session, &data, newest.count.subscribe(), &writer);
    let replaying = answer_panels(&session, &data, &newest.panels, &writer);
    let listing = answer_lines(&session, &data, &newest.lines, &writer);
    let has_session_ended = tokio::select! {
        () = read_messages(&mut reader, &newest, &writer) => false,
        () = checking => false,
        () = counting => false,
        () = replaying => false,
        () = listing => false,
        () = publish(&session, &data, &writer, current.subscribe()) => false,
        () = session.ended() => true,
    };
    drop((current, data));
    if has_session_ended {
        let refusal = Refusal::SessionEnded;
        let closing = async {
            send_failure(&writer, None, &refusal).await;
            // If this fails, the page is gone.
            let _ = writer.close(CloseCode::GOING_AWAY, refusal.name()).await;
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
        reader.drain().await;
    }
}

/// Reads messages until the page disconnects. It also runs while a query is checked, so that a page
/// that disconnects leaves the queue.
async fn read_messages(reader: &mut Reader<Stream>, newest: &Messages, writer: &Writer<Stream>) {
    while let Ok(Some(event)) = reader.next().await {
        let Event::Text(text) = event else { continue };
        let of_topic = match LiveRequest::topic(text) {
            LiveTopic::Panel(panel) => match newest.panels.get(panel as usize) {
                Some(of_panel) => of_panel,
                None => {
                    refuse_panel(panel, writer).await;
                    continue;
                }
            },
            _ if text.len() > QUERY_BYTES_MAX => {
                let reason = "a query can have 64 KiB";
                // If this fails, the page is gone.
                let _ = writer.close(CloseCode::TOO_BIG, reason).await;
                return;
            }
            LiveTopic::Lines(panel) => match newest.lines.get(panel as usize) {
                Some(of_panel) => of_panel,
                None => {
                    refuse_line_panel(panel, writer).await;
                    continue;
                }
            },
            LiveTopic::Count => &newest.count,
            LiveTopic::Query => &newest.query,
        };
        of_topic.send_replace(text.to_owned());
    }
}

/// Checks queries. A newer message cancels the check of the previous one.
async fn check_queries(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    mut newest: watch::Receiver<String>,
    writer: &Writer<Stream>,
    current: &watch::Sender<Arc<LiveQuery>>,
) {
    while newest.changed().await.is_ok() {
        let text = newest.borrow_and_update().clone();
        let checked = tokio::select! {
            checked = read_query(session, data, text) => checked,
            _ = newest.changed() => {
                newest.mark_changed();
                continue;
            }
        };
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
    let parse = move || {
        let request: LiveRequest = weir_view::from_json(&text)?;
        // Only a `count` can lack a query, and those are answered elsewhere.
        let query = request.into_query().unwrap_or_default();
        let effort = Effort::of(query.expressions());
        Ok::<_, JsonError>((query, effort))
    };
    let parsed = session.turns().check(Effort::Short, parse).await;
    let parsed = parsed.and_then(|parsed| parsed.map_err(Refusal::unreadable));
    let (query, effort) = parsed.map_err(|refusal| (None, refusal))?;
    let id = query.id;
    let check = {
        let (session, data) = (session.clone(), data.clone());
        move || check_query(&session, &data, query)
    };
    let checked = session.turns().check(effort, check).await.and_then(|checked| checked);
    checked.map_err(|refusal| (Some(id), refusal))
}

/// Checks that a query is valid for the data. This compiles its expressions, which may take long.
fn check_query(session: &Session, data: &DataSet, mut query: Query) -> Result<LiveQuery, Refusal> {
    query.zone = query.zone.or_else(|| session.zone().cloned());
    query.top = query.top.min(TOP_MAX);
    let now = Now::read();
    let is_typed = !query.conditions.is_empty();
    let query = answer::check(query, data, &now)?;
    Ok(LiveQuery::new(query, is_typed, now))
}

/// Sends the reason why the query with this id is refused, or why the connection ends.
async fn send_failure(writer: &Writer<Stream>, query: Option<u64>, refusal: &Refusal) {
    send_reply(writer, &LiveReply::Error { query, error: refusal.failure(None) }).await;
}

/// Sends a short reply, and gives up if the page does not receive it in time.
pub(crate) async fn send_reply(writer: &Writer<Stream>, reply: &LiveReply) {
    let sending = message::send(writer, weir_view::to_json(reply));
    // If this fails, reading from the connection fails too and ends it.
    let _ = tokio::time::timeout(SEND_TIMEOUT, sending).await;
}

/// Sends a view at once, and then the newest one whenever the data or the query has changed, until
/// the page no longer receives them. Changes during the work on a view are merged into the next.
async fn publish(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    writer: &Writer<Stream>,
    mut current: watch::Receiver<Arc<LiveQuery>>,
) {
    let mut version = data.version();
    let mut subscription = AnswerSubscription::default();
    let mut growing_since = Instant::now();
    let mut bytes_before = 0;
    loop {
        let started = Instant::now();
        let bytes = bytes_parsed(data);
        if bytes.saturating_sub(bytes_before) <= TRICKLE_BYTES {
            growing_since = started;
        }
        bytes_before = bytes;
        let has_open_source = has_open_source(data);
        let made = subscription.next_view(session, data, &mut current).await;
        match made {
            Ok(Some((head, view))) => {
                let work_time = started.elapsed();
                if !send_view(session, writer, &head, &view).await {
                    return;
                }
                drop(view);
                if session.view_memory().is_crowded() {
                    session.answers().trim(session.view_memory());
                }
                // While nothing is parsed, views are cheap, and the first data should appear at
                // once.
                let interval = match bytes {
                    0 => Duration::ZERO,
                    _ => interval(started - growing_since).max(work_time * WORK_SHARE),
                };
                tokio::select! {
                    () = tokio::time::sleep_until(started + interval) => {}
                    urgent = wait_for_urgent(started, data, has_open_source, &mut current) => {
                        if urgent.is_err() {
                            return;
                        }
                    }
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
        let quiet_since = Instant::now();
        tokio::select! {
            changed = current.changed() => {
                if changed.is_err() {
                    return;
                }
                current.mark_changed();
            }
            // This cannot fail, because the sender lives as long as the data.
            _ = version.wait_for(|version| subscription.is_outdated(*version)) => {}
        }
        if quiet_since.elapsed() > QUIET {
            growing_since = Instant::now();
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
        let (query, is_typed, now, cancellation) = {
            // The reference must end with this block. Only `current` may keep the query alive, so
            // that replacing the query cancels the answer.
            let live = current.borrow_and_update();
            (live.query.clone(), live.is_typed, live.now.clone(), live.cancel.cancellation())
        };
        self.query = Some(query.id);
        if is_new {
            let before = self.answer.replace(session.answers().find(&query, &now, data));
            self.previous = before.filter(|before| before.has_evaluator()).or(self.previous.take());
            (self.seen, self.has_given_up) = (None, false);
        }
        let Some(answer) = &self.answer else { return Ok(None) };
        let previous = self.previous.clone();
        let made = answer.view(session, data, self.seen, previous, &cancellation).await?;
        self.has_given_up = made.is_none();
        let Some(made) = made else { return Ok(None) };
        (self.previous, self.seen) = (None, Some(made.version));
        let filter = is_typed.then(|| NormalFilter {
            clauses: query.clauses.clone(),
            conditions: query.conditions.clone(),
        });
        let head = MadeView::head(query.id, filter.as_ref()).map_err(Refusal::internal)?;
        Ok(Some((head, made)))
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
    writer: &Writer<Stream>,
    head: &str,
    view: &MadeView,
) -> bool {
    let (view_work, tail) = (session.turns().view_work(), view.tail());
    let (_timed, bytes) = (view_work.send(), head.len() + tail.len());
    let sending = writer.send_shared_text(head, tail);
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

/// Returns the time between the starts of two views, given how long the data has been growing.
fn interval(growing: Duration) -> Duration {
    (growing / GROWTH_SHARE).clamp(VIEW_INTERVAL, VIEW_INTERVAL_MAX)
}

/// Waits for a change that is shown after [`VIEW_INTERVAL`], not after the longer interval: a new
/// query, or the end of the last open source.
async fn wait_for_urgent(
    started: Instant,
    data: &DataSet,
    has_open_source: bool,
    current: &mut watch::Receiver<Arc<LiveQuery>>,
) -> Result<(), watch::error::RecvError> {
    tokio::select! {
        changed = current.changed() => {
            changed?;
            current.mark_changed();
        }
        () = wait_for_ends(data), if has_open_source => {}
    }
    tokio::time::sleep_until(started + VIEW_INTERVAL).await;
    Ok(())
}

/// Waits until all sources have ended.
pub(crate) async fn wait_for_ends(data: &DataSet) {
    let mut version = data.version();
    while has_open_source(data) {
        // This cannot fail, because the sender lives as long as the data.
        let _ = version.changed().await;
    }
}

/// Returns whether any source has not ended.
pub(crate) fn has_open_source(data: &DataSet) -> bool {
    data.sources().iter().any(|source| source.end().is_none())
}
