//! The WebSocket on which a page sees a session change.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{CloseCode, Event, Reader, Stream, WebSocket, Writer};
use weir_query::{Evaluator, settled};
use weir_view::{LiveReply, LiveRequest, Now, Query};

use crate::answer::Abandon;
use crate::query_string::TOP_MAX;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::view::view;

/// At most 20 views a second: what eyes and browsers can follow.
const VIEW_INTERVAL: Duration = Duration::from_millis(50);

/// The pause between views of data that keeps growing becomes longer up to this. Each view of
/// large data differs little from the one before, and making and drawing it takes the time of
/// those who read and send.
const VIEW_INTERVAL_MAX: Duration = Duration::from_millis(400);

/// The pause between views is at most one part in this many of the time that the data has
/// been growing.
const GROWTH_SHARE: u32 = 3;

/// Data that did not change for so long begins to grow anew.
const QUIET: Duration = Duration::from_secs(1);

/// Data to which no more comes than this from one view to the next is no file being read but one
/// that is followed, or a feed: whoever watches it wants to see each line at once.
const TRICKLE_BYTES: u64 = 256 << 10;

/// Parsers wait while an answer looks at the values, so answers take at most one part in
/// this many of the time, however large the data is.
const WORK_SHARE: u32 = 4;

/// A page that takes no view for so long is gone.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// What a connection wants to see.
#[derive(Debug)]
struct Asked {
    query: Query,
    /// When: `2h ago` stays what it was then.
    now: Now,
    /// Gives up the work on the answer when a newer question takes this one's place.
    abandon: Abandon,
}

impl Asked {
    fn new(query: Query, now: Now) -> Self {
        Self { query, now, abandon: Abandon::default() }
    }
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(session: Arc<Session>, socket: WebSocket<Stream>) {
    let (mut reader, writer) = socket.split();
    let Ok(data) = session.data() else { return };
    let query = Query { zone: session.zone().cloned(), ..Query::default() };
    let asked = watch::Sender::new(Arc::new(Asked::new(query, Now::read())));
    let is_alive = tokio::select! {
        () = listen(&session, &data, &mut reader, &writer, &asked) => false,
        () = publish(&session, &data, &writer, asked.subscribe()) => false,
        () = session.ended() => true,
    };
    drop((asked, data));
    if is_alive {
        let refusal = Refusal::SessionEnded;
        let told = async {
            send_failure(&writer, &refusal).await;
            // A page that is gone need not hear of it.
            let _ = writer.close(CloseCode::GOING_AWAY, refusal.name()).await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), told).await;
        reader.drain().await;
    }
}

/// Takes questions, until the page is gone.
async fn listen(
    session: &Session,
    data: &Arc<DataSet>,
    reader: &mut Reader<Stream>,
    writer: &Writer<Stream>,
    asked: &watch::Sender<Arc<Asked>>,
) {
    while let Ok(Some(event)) = reader.next().await {
        let Event::Text(text) = event else { continue };
        match question(session, data, text) {
            Ok(question) => {
                asked.send_replace(Arc::new(question));
            }
            Err(refusal) => send_failure(writer, &refusal).await,
        }
    }
}

/// Reads a question and sees whether it makes sense.
fn question(session: &Session, data: &DataSet, text: &str) -> Result<Asked, Refusal> {
    let request = serde_json::from_str::<LiveRequest>(text);
    let unreadable = |error| Refusal::BadQuery(format!("the message cannot be read: {error}"));
    let LiveRequest::Query { mut query } = request.map_err(unreadable)?;
    query.zone = query.zone.or_else(|| session.zone().cloned());
    query.top = query.top.min(TOP_MAX);
    let now = Now::read();
    settled(&query, data, &now)?.question(&data.values())?;
    Ok(Asked::new(query, now))
}

async fn send_failure(writer: &Writer<Stream>, refusal: &Refusal) {
    let reply = LiveReply::Error { error: refusal.failure(None) };
    let text = serde_json::to_string(&reply).unwrap_or_default();
    // Reading says that the page is gone.
    let _ = tokio::time::timeout(SEND_PATIENCE, writer.send_text(&text)).await;
}

/// Sends views as long as the page takes them: one at once, and then the newest whenever the
/// data or the question has changed. While a view is being sent or worked out, others that
/// might have been are never made.
async fn publish(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    writer: &Writer<Stream>,
    mut asked: watch::Receiver<Arc<Asked>>,
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
        let goes_on = goes_on(data);
        let (query, flag) = {
            // Only what `asked` holds keeps the work going.
            let question = asked.borrow_and_update();
            // It made sense when it was asked. Its dates are other instants as soon as the log's
            // zone is known, which makes it another question.
            let settled = settled(&question.query, &**data, &question.now);
            let query = settled.unwrap_or_else(|_| question.query.clone());
            (query, question.abandon.flag())
        };
        let previous = evaluator.take();
        let work = {
            let (session, data) = (session.clone(), data.clone());
            move || answer(&session, &data, query, previous, &flag)
        };
        let Ok(answered) = tokio::task::spawn_blocking(work).await else { return };
        let (text, next) = answered;
        evaluator = next;
        if let Some(text) = text {
            let worked = started.elapsed();
            let sent = tokio::time::timeout(SEND_PATIENCE, writer.send_text(&text)).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
            // Views of nothing cost nothing, and what comes first is waited for.
            let interval = match bytes {
                0 => Duration::ZERO,
                _ => interval(started - growing_since).max(worked * WORK_SHARE),
            };
            tokio::select! {
                () = tokio::time::sleep_until(started + interval) => {}
                rested = cut_rest(started, data, goes_on, &mut asked) => if rested.is_err() { return },
            }
        }
        let quiet_since = Instant::now();
        tokio::select! {
            changed = asked.changed() => if changed.is_err() { return },
            // The sender lives as long as the data.
            _ = version.changed() => {}
        }
        if quiet_since.elapsed() > QUIET {
            growing_since = Instant::now();
        }
    }
}

/// Bytes of all sources that are parsed.
fn bytes_parsed(data: &DataSet) -> u64 {
    data.sources().iter().map(|source| *source.parsed().borrow()).sum()
}

/// From the start of one view to that of the next, of data that has been growing for so long.
fn interval(growing: Duration) -> Duration {
    (growing / GROWTH_SHARE).clamp(VIEW_INTERVAL, VIEW_INTERVAL_MAX)
}

/// Waits for what is answered sooner than a change of the data: a new question, and the end
/// of all sources, where they had not all ended for the view before.
async fn cut_rest(
    started: Instant,
    data: &DataSet,
    goes_on: bool,
    asked: &mut watch::Receiver<Arc<Asked>>,
) -> Result<(), watch::error::RecvError> {
    tokio::select! {
        changed = asked.changed() => {
            changed?;
            asked.mark_changed();
        }
        () = all_ended(data), if goes_on => {}
    }
    tokio::time::sleep_until(started + VIEW_INTERVAL).await;
    Ok(())
}

/// Waits until all sources have ended.
async fn all_ended(data: &DataSet) {
    let mut version = data.version();
    while goes_on(data) {
        // The sender lives as long as the data.
        let _ = version.changed().await;
    }
}

/// True where some source has not ended.
fn goes_on(data: &DataSet) -> bool {
    data.sources().iter().any(|source| source.end().is_none())
}

/// A view as text, and what to go on from. No text where the work was abandoned.
fn answer(
    session: &Session,
    data: &Arc<DataSet>,
    query: Query,
    previous: Option<Evaluator<DataSet>>,
    abandoned: &AtomicBool,
) -> (Option<String>, Option<Evaluator<DataSet>>) {
    let id = query.id;
    // It made sense when it was asked, and columns are only ever added.
    let evaluator = match previous {
        Some(evaluator) if *evaluator.query() == query => Ok(evaluator),
        Some(evaluator) => evaluator.change(query),
        None => Evaluator::new(data.clone(), query, session.jobs()),
    };
    let Ok(mut evaluator) = evaluator else { return (None, None) };
    let Some(answer) = evaluator.answer(abandoned) else { return (None, Some(evaluator)) };
    let view = view(id, answer, data, &session.slots());
    let text = serde_json::to_string(&LiveReply::View { view: Box::new(view) }).ok();
    (text, Some(evaluator))
}
