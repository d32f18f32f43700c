//! Counts the records that a condition selects while the user types it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{UpgradedStream, Writer};
use weir_query::{count_selection, settled};
use weir_view::{LiveReply, LiveRequest, Now, Query, SelectionCount};

use super::{process_newest, send_reply};
use crate::answer;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{CancelOnDrop, Cancellation, Effort};

/// The minimum time between two counts of one connection: people do not type faster.
const COUNT_INTERVAL: Duration = Duration::from_millis(50);

/// Counts take at most 1/n of a connection's time, because parsers wait while a count reads the
/// values.
const WORK_SHARE: u32 = 4;

/// Answers `count` messages until the connection ends. A newer message cancels the count for the
/// previous one.
pub(super) async fn answer_counts(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    mut newest: watch::Receiver<String>,
    writer: &Writer<UpgradedStream>,
) {
    let answer = |text| async move {
        let started = Instant::now();
        let cancel = CancelOnDrop::default();
        (started, reply(session, data, text, &cancel.cancellation()).await)
    };
    while let Some((started, reply)) = process_newest(&mut newest, answer).await {
        let Some(reply) = reply else { continue };
        let work_time = started.elapsed();
        send_reply(writer, &reply).await;
        tokio::time::sleep_until(started + COUNT_INTERVAL.max(work_time * WORK_SHARE)).await;
    }
}

/// Answers a message. Returns `None` if the message has no query.
async fn reply(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    text: String,
    cancellation: &Arc<Cancellation>,
) -> Option<LiveReply> {
    let refused = |query, refusal: &Refusal| {
        let error = Some(refusal.failure(None));
        Some(LiveReply::Count { query, count: None, error })
    };
    let parsed = session.turns().check(Effort::Short, move || weir_view::from_json(&text)).await;
    let query = match parsed {
        Ok(Ok(request)) => LiveRequest::into_query(request)?,
        Ok(Err(error)) => return refused(None, &Refusal::unreadable(error)),
        Err(refusal) => return refused(None, &refusal),
    };
    let id = Some(query.id);
    match count(session, data, query, cancellation).await {
        Ok(count) => Some(LiveReply::Count { query: id, count: Some(count?), error: None }),
        Err(refusal) => refused(id, &refusal),
    }
}

/// Counts in a long turn, so that other answers do not wait for it. Returns `None` if cancelled.
async fn count(
    session: &Arc<Session>,
    data: &Arc<DataSet>,
    mut query: Query,
    cancellation: &Arc<Cancellation>,
) -> Result<Option<SelectionCount>, Refusal> {
    query.zone = query.zone.or_else(|| session.zone().cloned());
    let (data, jobs) = (data.clone(), session.jobs());
    let count = move |should_stop: &AtomicBool| {
        let now = Now::read();
        let query = settled(&answer::check(query.clone(), &data, &now)?, &*data, &now)?;
        if should_stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(count_selection(&data, &query, jobs, should_stop)?)
    };
    let work = move |should_stop: &AtomicBool| count(should_stop).transpose();
    session.turns().answer(Effort::Long, cancellation, work).await?.transpose()
}
