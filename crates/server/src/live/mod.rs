//! Live pages: a WebSocket that sends views of the session whenever it changes, and the answers to
//! the page's other questions.

mod count;
mod lines;
mod panels;
mod views;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use weir_ingest::DataSet;
use weir_net::websocket::{CloseCode, Event, Reader, UpgradedStream, WebSocket, Writer};
use weir_view::{LiveReply, LiveRequest, LiveTopic, Now, Query};

use self::count::answer_counts;
use self::lines::{LineMessages, answer_lines, refuse_line_panel};
pub(crate) use self::panels::MESSAGE_BYTES_MAX;
use self::panels::{PanelMessages, answer_panels, refuse_panel};
use self::views::{LiveQuery, check_queries, publish};
use crate::message;
use crate::refusal::Refusal;
use crate::session::Session;

/// The time after which a page that does not receive a view counts as disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the server waits for a page to receive the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum length of a query, in bytes of JSON.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// The newest message of each type. Older ones no longer matter.
#[derive(Debug, Default)]
struct Messages {
    query: watch::Sender<String>,
    count: watch::Sender<String>,
    panels: PanelMessages,
    lines: LineMessages,
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(session: Arc<Session>, socket: WebSocket<UpgradedStream>) {
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
        let refusal = session.end_refusal();
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
async fn read_messages(
    reader: &mut Reader<UpgradedStream>,
    newest: &Messages,
    writer: &Writer<UpgradedStream>,
) {
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

/// Processes the newest message of a type. A newer message cancels the work on the previous one.
/// Returns `None` after the connection has ended.
async fn process_newest<T, F: Future<Output = T>>(
    newest: &mut watch::Receiver<String>,
    process: impl Fn(String) -> F,
) -> Option<T> {
    loop {
        newest.changed().await.ok()?;
        let text = newest.borrow_and_update().clone();
        tokio::select! {
            processed = process(text) => return Some(processed),
            _ = newest.changed() => newest.mark_changed(),
        }
    }
}

/// Sends the reason why the query with this id is refused, or why the connection ends.
async fn send_failure(writer: &Writer<UpgradedStream>, query: Option<u64>, refusal: &Refusal) {
    send_reply(writer, &LiveReply::Error { query, error: refusal.failure(None) }).await;
}

/// Sends a short reply, and gives up if the page does not receive it in time.
async fn send_reply(writer: &Writer<UpgradedStream>, reply: &LiveReply) {
    let sending = message::send(writer, weir_view::to_json(reply));
    // If this fails, reading from the connection fails too and ends it.
    let _ = tokio::time::timeout(SEND_TIMEOUT, sending).await;
}

/// Waits until all sources have ended.
async fn wait_for_ends(data: &DataSet) {
    let mut version = data.version();
    while has_open_source(data) {
        // This cannot fail, because the sender lives as long as the data.
        let _ = version.changed().await;
    }
}

/// Returns whether any source has not ended.
fn has_open_source(data: &DataSet) -> bool {
    data.sources().iter().any(|source| source.end().is_none())
}
