//! Live views: the WebSocket that sends a page the report whenever its session changes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{CloseCode, Event, Reader, Stream, WebSocket, Writer};
use weir_query::{Evaluator, settled};
use weir_view::{JsonError, LiveReply, LiveRequest, Now, Query};

use crate::answer::CancelOnDrop;
use crate::message;
use crate::query_string::TOP_MAX;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::view::view;

/// The minimum time between two views. Neither eyes nor browsers can follow more than 20 a
/// second.
const VIEW_INTERVAL: Duration = Duration::from_millis(50);

/// The maximum time between two views of data that keeps growing. Each view of large data
/// differs little from the previous one, and takes time from reading and sending the data.
const VIEW_INTERVAL_MAX: Duration = Duration::from_millis(400);

/// The time between two views is the time for which the data has been growing, divided by this,
/// within the two limits above.
const GROWTH_SHARE: u32 = 3;

/// If the data has not changed for this long, the next change starts a new period of growth.
const QUIET: Duration = Duration::from_secs(1);

/// A smaller growth than this between two views means that the source is a feed or a file that
/// is followed, not a file that is read. Each of its lines should appear at once.
const TRICKLE_BYTES: u64 = 256 << 10;

/// Parsers wait while an answer reads the values, so answers take at most one part in this many
/// of the time, however large the data is.
const WORK_SHARE: u32 = 4;

/// A page that has not taken a view after this time counts as gone.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the server waits until a page has taken the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The query of a connection.
#[derive(Debug)]
struct LiveQuery {
    query: Query,
    /// When the query arrived: relative times such as `2h ago` are resolved against it.
    now: Now,
    /// Cancels the answer when a newer query replaces this one.
    cancel: CancelOnDrop,
}

impl LiveQuery {
    fn new(query: Query, now: Now) -> Self {
        Self { query, now, cancel: CancelOnDrop::default() }
    }
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(session: Arc<Session>, socket: WebSocket<Stream>) {
    let (mut reader, writer) = socket.split();
    let Ok(data) = session.data() else { return };
    let query = Query { zone: session.zone().cloned(), ..Query::default() };
    let current = watch::Sender::new(Arc::new(LiveQuery::new(query, Now::read())));
    let has_session_ended = tokio::select! {
        () = read_queries(&session, &data, &mut reader, &writer, &current) => false,
        () = publish(&session, &data, &writer, current.subscribe()) => false,
        () = session.ended() => true,
    };
    drop((current, data));
    if has_session_ended {
        let refusal = Refusal::SessionEnded;
        let closing = async {
            send_failure(&writer, &refusal).await;
            // If this fails, the page is gone.
            let _ = writer.close(CloseCode::GOING_AWAY, refusal.name()).await;
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
        reader.drain().await;
    }
}

/// Reads queries until the page disconnects.
async fn read_queries(
    session: &Session,
    data: &Arc<DataSet>,
    reader: &mut Reader<Stream>,
    writer: &Writer<Stream>,
    current: &watch::Sender<Arc<LiveQuery>>,
) {
    while let Ok(Some(event)) = reader.next().await {
        let Event::Text(text) = event else { continue };
        match parse_query(session, data, text) {
            Ok(query) => {
                current.send_replace(Arc::new(query));
            }
            Err(refusal) => send_failure(writer, &refusal).await,
        }
    }
}

/// Reads a query from a message, and checks that it is valid for the data.
fn parse_query(session: &Session, data: &DataSet, text: &str) -> Result<LiveQuery, Refusal> {
    let request = weir_view::from_json::<LiveRequest>(text);
    let unreadable = |error| Refusal::BadQuery(format!("the message cannot be read: {error}"));
    let LiveRequest::Query { mut query } = request.map_err(unreadable)?;
    query.zone = query.zone.or_else(|| session.zone().cloned());
    query.top = query.top.min(TOP_MAX);
    let now = Now::read();
    settled(&query, data, &now)?.question(&data.values())?;
    Ok(LiveQuery::new(query, now))
}

async fn send_failure(writer: &Writer<Stream>, refusal: &Refusal) {
    let reply = LiveReply::Error { error: refusal.failure(None) };
    let sending = message::send(writer, weir_view::to_json(&reply));
    // If this fails, reading from the connection fails too and ends it.
    let _ = tokio::time::timeout(SEND_TIMEOUT, sending).await;
}

/// Sends views for as long as the page takes them: one at once, and the newest one whenever the
/// data or the query has changed. Changes during the work on a view are merged into the next.
async fn publish(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    writer: &Writer<Stream>,
    mut current: watch::Receiver<Arc<LiveQuery>>,
) {
    let mut version = data.version();
    let mut evaluator = None;
    let mut growing_since = Instant::now();
    let mut bytes_before = 0;
    loop {
        let started = Instant::now();
        let bytes = bytes_parsed(data);
        if bytes.saturating_sub(bytes_before) <= TRICKLE_BYTES {
            growing_since = started;
        }
        bytes_before = bytes;
        version.mark_unchanged();
        let has_open_source = has_open_source(data);
        let (query, now, is_cancelled) = {
            // The reference must end with this block: only `current` may keep the query alive,
            // so that replacing the query cancels the answer.
            let live = current.borrow_and_update();
            (live.query.clone(), live.now.clone(), live.cancel.flag())
        };
        let previous = evaluator.take();
        let work = {
            let (session, data) = (session.clone(), data.clone());
            move || answer((&session, &data), (&query, &now), previous, &is_cancelled)
        };
        let Ok((view, next)) = tokio::task::spawn_blocking(work).await else { return };
        evaluator = next;
        if let Some(view) = view {
            let work_time = started.elapsed();
            let sending = message::send(writer, view);
            let sent = tokio::time::timeout(SEND_TIMEOUT, sending).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
            // While nothing is parsed, views are cheap, and the first data should appear at once.
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
        let quiet_since = Instant::now();
        tokio::select! {
            changed = current.changed() => if changed.is_err() { return },
            // This cannot fail, because the sender lives as long as the data.
            _ = version.changed() => {}
        }
        if quiet_since.elapsed() > QUIET {
            growing_since = Instant::now();
        }
    }
}

/// The number of bytes of all sources that are parsed.
fn bytes_parsed(data: &DataSet) -> u64 {
    data.sources().iter().map(|source| *source.parsed().borrow()).sum()
}

/// The time from the start of one view to that of the next, by the time for which the data has
/// been growing.
fn interval(growing: Duration) -> Duration {
    (growing / GROWTH_SHARE).clamp(VIEW_INTERVAL, VIEW_INTERVAL_MAX)
}

/// Waits for a change that is shown after [`VIEW_INTERVAL`] instead of the longer interval: a new
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
async fn wait_for_ends(data: &DataSet) {
    let mut version = data.version();
    while has_open_source(data) {
        // This cannot fail, because the sender lives as long as the data.
        let _ = version.changed().await;
    }
}

/// Whether some source has not ended.
fn has_open_source(data: &DataSet) -> bool {
    data.sources().iter().any(|source| source.end().is_none())
}

/// Makes an encoded view, and returns it with the evaluator for the next one. Returns no view if
/// the work was cancelled.
fn answer(
    (session, data): (&Session, &Arc<DataSet>),
    (live_query, now): (&Query, &Now),
    mut previous: Option<Evaluator<DataSet>>,
    is_cancelled: &AtomicBool,
) -> (Option<Result<String, JsonError>>, Option<Evaluator<DataSet>>) {
    // The query was valid when it arrived.
    let settle = || settled(live_query, &**data, now).unwrap_or_else(|_| live_query.clone());
    let mut query = settle();
    let (answer, evaluator) = loop {
        let evaluator = match previous {
            Some(evaluator) if *evaluator.query() == query => Ok(evaluator),
            Some(evaluator) => evaluator.change(query.clone()),
            None => Evaluator::new(data.clone(), query.clone(), session.jobs()),
        };
        // This cannot fail: columns are never removed.
        let Ok(mut evaluator) = evaluator else { return (None, None) };
        let Some(answer) = evaluator.answer(is_cancelled) else { return (None, Some(evaluator)) };
        // Dates are in the zone of the log, which may have become known with these records.
        let settled = settle();
        if settled == query {
            break (answer, evaluator);
        }
        (query, previous) = (settled, Some(evaluator));
    };
    let view = view(live_query.id, answer, data, &session.files(), session.remedies());
    let text = weir_view::to_json(&LiveReply::View { view: Box::new(view) });
    (Some(text), Some(evaluator))
}
