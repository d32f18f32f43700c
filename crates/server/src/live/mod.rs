//! Live pages: a WebSocket that sends views of the session whenever it changes, and the answers to
//! the page's other questions.

mod blocks;
mod count;
mod follow;
mod lines;
mod list;
mod message;
mod question;
mod rule_files;
mod rules;
mod slot;
mod views;

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use weir_net::websocket::{
    CloseCode, SocketEvent, SocketReader, SocketWriter, UpgradedStream, WebSocket,
};
use weir_view::{LiveReply, LiveRequest, LiveTopic};

pub(crate) use self::message::MESSAGE_BYTES_MAX;
use self::question::{ReplyTo, Subject};
use self::slot::Slot;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::Viewer;

/// The time after which a page that does not receive a view counts as disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the server waits for a page to receive the end of the session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum length of a query, in bytes of JSON.
const QUERY_BYTES_MAX: usize = 64 << 10;

/// The number of panels of a connection. Each holds one message and its parsed rules.
const PANELS_MAX: usize = 8;

/// The number of line panels of a connection. Each keeps one bit per record.
const LINE_PANELS_MAX: usize = 6;

/// The number of lists of a connection.
const LISTS_MAX: usize = 8;

/// The maximum number of keys, bans and alerts of a rule in an answer: a page cannot show more.
const KEYS_MAX: usize = 500;

/// The newest message of each type. Older ones no longer matter.
#[derive(Debug, Default)]
struct Messages {
    query: watch::Sender<String>,
    count: watch::Sender<String>,
    series: watch::Sender<String>,
    panels: [watch::Sender<String>; PANELS_MAX],
    lines: [watch::Sender<String>; LINE_PANELS_MAX],
    lists: [watch::Sender<String>; LISTS_MAX],
}

impl Messages {
    /// Returns the place of a topic's messages.
    ///
    /// # Errors
    /// With the reply if there is no panel with this number.
    fn of(&self, topic: LiveTopic) -> Result<&watch::Sender<String>, Box<LiveReply>> {
        let (senders, panel, subject, what) = match topic {
            LiveTopic::Query => return Ok(&self.query),
            LiveTopic::Count => return Ok(&self.count),
            LiveTopic::Series => return Ok(&self.series),
            LiveTopic::Panel(panel) => (&self.panels[..], panel, Subject::Rules, "panels"),
            LiveTopic::Lines(panel) => (&self.lines[..], panel, Subject::Lines, "panels of lines"),
            LiveTopic::List(panel) => (&self.lists[..], panel, Subject::List, "lists"),
        };
        senders.get(panel as usize).ok_or_else(|| {
            let last = senders.len() - 1;
            let why = format!("panel {panel} is too high: a connection has {what} 0 to {last}");
            Box::new(ReplyTo { subject, panel, query: None }.refuse(Refusal::BadRequest(why)))
        })
    }

    /// Returns the places of all topics but the query, with their subjects and numbers.
    fn slots(&self) -> impl Iterator<Item = (Subject, u32, &watch::Sender<String>)> {
        let count = std::iter::once((Subject::Count, 0, &self.count));
        let series = std::iter::once((Subject::Series, 0, &self.series));
        let panels = (0..).zip(&self.panels).map(|(panel, it)| (Subject::Rules, panel, it));
        let lines = (0..).zip(&self.lines).map(|(panel, it)| (Subject::Lines, panel, it));
        let lists = (0..).zip(&self.lists).map(|(panel, it)| (Subject::List, panel, it));
        count.chain(series).chain(panels).chain(lines).chain(lists)
    }
}

/// Serves one connection until it or the session ends.
pub(crate) async fn run(session: Arc<Session>, socket: WebSocket<UpgradedStream>) {
    let (mut reader, writer) = socket.split();
    let Ok(data) = session.data() else { return };
    let _connection = session.turns().view_work().connect();
    let (newest, viewer) = (Messages::default(), Viewer::default());
    let slot = |(subject, panel, newest): (Subject, u32, &watch::Sender<String>)| {
        let (session, data, writer, viewer) = (&session, &data, &writer, &viewer);
        let slot = Slot { session, data, writer, subject, panel, viewer };
        let mut newest = newest.subscribe();
        // Few connections use all slots, and a slot that is served takes 5 KB.
        Box::pin(async move {
            if newest.changed().await.is_ok() {
                newest.mark_changed();
                Box::pin(slot.serve(newest)).await;
            }
        })
    };
    // They subscribe here, so that no message is missed.
    let views = views::serve(&session, &data, &writer, newest.query.subscribe());
    let slots = newest.slots().map(slot).collect();
    let has_session_ended = tokio::select! {
        () = read_messages(&mut reader, &newest, &writer) => false,
        () = views => false,
        () = first_to_end(slots) => false,
        () = session.ended() => true,
    };
    drop(data);
    session.memory_return().soon();
    if has_session_ended {
        let refusal = session.end_refusal();
        let closing = async {
            send_reply(&writer, &failure(None, &refusal)).await;
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
    reader: &mut SocketReader<UpgradedStream>,
    newest: &Messages,
    writer: &SocketWriter<UpgradedStream>,
) {
    while let Ok(Some(event)) = reader.next().await {
        let SocketEvent::Text(text) = event else { continue };
        let topic = LiveRequest::topic(text);
        if text.len() > QUERY_BYTES_MAX && !matches!(topic, LiveTopic::Panel(_)) {
            let reason = "a query can have 64 KiB";
            // If this fails, the page is gone.
            let _ = writer.close(CloseCode::TOO_BIG, reason).await;
            return;
        }
        match newest.of(topic) {
            Ok(of_topic) => {
                of_topic.send_replace(text.to_owned());
            }
            Err(refusal) => send_reply(writer, &refusal).await,
        }
    }
}

/// Serves the slots of a connection until one of them ends, because the connection does.
async fn first_to_end(mut slots: Vec<Pin<Box<impl Future<Output = ()>>>>) {
    std::future::poll_fn(|context| {
        let is_over = slots.iter_mut().any(|slot| slot.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// The reason why the query with this id is refused, or why the connection ends.
fn failure(query: Option<u64>, refusal: &Refusal) -> LiveReply {
    LiveReply::Error { query, error: refusal.failure(None) }
}

/// Sends a short reply, and gives up if the page does not receive it in time.
async fn send_reply(writer: &SocketWriter<UpgradedStream>, reply: &LiveReply) {
    let sending = crate::message::send(writer, weir_view::to_json(reply));
    // If this fails, reading from the connection fails too and ends it.
    let _ = tokio::time::timeout(SEND_TIMEOUT, sending).await;
}
