//! Answers the newest question of a slot, and answers it again when the data has changed.
//!
//! The query of the views, the panels, the count and the lines all take this way:
//!
//! ```text
//! newest message -> check -> answer -> send -> wait for newer data or a newer question
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::DataSet;
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_view::LiveReply;

use super::send_reply;
use crate::refusal::Refusal;

/// How the questions of a slot are answered.
pub(super) trait Answering {
    /// A question that was checked.
    type Question;
    type Answer;

    /// Answers a question for the current data. Returns `None` if the answer was abandoned. If the
    /// future is dropped, the work ends.
    async fn answer(
        &mut self,
        question: &Arc<Self::Question>,
    ) -> Result<Option<Self::Answer>, Refusal>;

    /// Returns when the next answer may begin, after one for which the work took this time.
    fn pace(&mut self, question: &Self::Question, work_time: Duration) -> Pace;

    /// Sends an answer, or the reason why there is none.
    async fn send(
        &mut self,
        question: &Self::Question,
        answered: Result<Self::Answer, Refusal>,
    ) -> Sent;

    /// Returns whether the last answer is outdated by this version of the data.
    fn is_outdated(&self, version: u64) -> bool;

    /// Waits for what an answer needs in addition to newer data.
    async fn wait_until_ready(&mut self) {}

    /// Records that nothing changed for this long after the next answer could have begun.
    fn end_wait(&mut self, _quiet: Duration) {}
}

/// The minimum times from the start of an answer to the start of the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// If the question is the same.
    pub(super) again: Duration,
    /// If it is a newer one.
    pub(super) newer: Duration,
}

/// What follows an answer that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// The question is answered again when the data has changed.
    Again,
    /// The question needs no other answer.
    Done,
    /// The page is gone.
    Gone,
}

/// The messages of a slot, and how its questions are checked.
pub(super) struct Asking<R, Q> {
    pub(super) newest: watch::Receiver<String>,
    /// Reads and checks a message. Returns `None` if it only ends the previous question, and the
    /// reply if it is refused.
    pub(super) read: R,
    /// The question before the first message.
    pub(super) first: Option<Arc<Q>>,
    /// Whether the previous question is answered until a newer one has been checked, and further on
    /// if that is refused.
    pub(super) keeps_previous: bool,
}

/// Serves a slot until the connection ends.
pub(super) async fn serve<A, R, F>(
    data: &DataSet,
    writer: &SocketWriter<UpgradedStream>,
    asking: Asking<R, A::Question>,
    answering: A,
) where
    A: Answering,
    R: Fn(String) -> F,
    F: Future<Output = Result<Option<A::Question>, Box<LiveReply>>>,
{
    let current = watch::Sender::new(asking.first.clone());
    let publishing = publish(data, answering, current.subscribe());
    tokio::select! {
        () = check(asking, writer, &current) => {}
        () = publishing => {}
    }
}

/// Checks the newest message, which replaces the current question. A newer message cancels the
/// check of the previous one.
async fn check<Q, R, F>(
    mut asking: Asking<R, Q>,
    writer: &SocketWriter<UpgradedStream>,
    current: &watch::Sender<Option<Arc<Q>>>,
) where
    R: Fn(String) -> F,
    F: Future<Output = Result<Option<Q>, Box<LiveReply>>>,
{
    while asking.newest.changed().await.is_ok() {
        if !asking.keeps_previous {
            current.send_replace(None);
        }
        let text = asking.newest.borrow_and_update().clone();
        let read = tokio::select! {
            read = (asking.read)(text) => read,
            _ = asking.newest.changed() => {
                asking.newest.mark_changed();
                continue;
            }
        };
        match read {
            Ok(question) => {
                current.send_replace(question.map(Arc::new));
            }
            Err(refusal) => send_reply(writer, &refusal).await,
        }
    }
}

/// Answers the current question at once, and again when the data or the question has changed.
/// Changes during the work on an answer are merged into the next.
async fn publish<A: Answering>(
    data: &DataSet,
    mut answering: A,
    mut current: watch::Receiver<Option<Arc<A::Question>>>,
) {
    let mut version = data.version();
    loop {
        let Some(question) = newest_question(&mut current).await else { return };
        let started = Instant::now();
        let is_growing = has_open_source(data);
        let answered = tokio::select! {
            answered = answering.answer(&question) => answered,
            _ = current.changed() => continue,
        };
        // A question without an answer does not make the next one wait.
        let has_answer = matches!(answered, Ok(Some(_)));
        let work_time = if has_answer { started.elapsed() } else { Duration::ZERO };
        let pace = answering.pace(&question, work_time);
        let sent = match answered.transpose() {
            Some(answered) => answering.send(&question, answered).await,
            None => Sent::Done,
        };
        if sent == Sent::Gone {
            return;
        }
        let next = started + pace.again;
        let outdated = async {
            wait_until_outdated(data, &mut version, next, is_growing, |version| {
                answering.is_outdated(*version)
            })
            .await;
            answering.wait_until_ready().await;
        };
        tokio::select! {
            () = outdated, if sent == Sent::Again => {}
            _ = current.changed() => {}
        }
        answering.end_wait(next.elapsed());
        tokio::time::sleep_until(started + pace.newer).await;
    }
}

/// Returns the current question, once there is one; `None` after the connection has ended.
async fn newest_question<Q>(current: &mut watch::Receiver<Option<Arc<Q>>>) -> Option<Arc<Q>> {
    current.wait_for(Option::is_some).await.ok()?;
    current.borrow_and_update().clone()
}

/// Waits until `next`, and then until an answer is outdated by a newer version of the data. If the
/// data is growing, it waits for `next` only while a source is open.
async fn wait_until_outdated(
    data: &DataSet,
    version: &mut watch::Receiver<u64>,
    next: Instant,
    is_growing: bool,
    is_outdated: impl FnMut(&u64) -> bool,
) {
    tokio::select! {
        () = tokio::time::sleep_until(next) => {}
        () = wait_for_ends(data), if is_growing => {}
    }
    // This cannot fail, because the sender lives as long as the data.
    let _ = version.wait_for(is_outdated).await;
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
pub(super) fn has_open_source(data: &DataSet) -> bool {
    data.sources().iter().any(|source| source.end().is_none())
}

#[cfg(test)]
mod tests {
    use weir_ingest::Retention;

    use super::*;

    /// Records what was asked and sent. Question 0 is never answered, and is abandoned.
    struct Recorded<'a> {
        asked: &'a weir_sync::Lock<Vec<u32>>,
        sent: &'a watch::Sender<Vec<u32>>,
    }

    const AGAIN: Duration = Duration::from_secs(10);
    const NEWER: Duration = Duration::from_secs(2);

    impl Answering for Recorded<'_> {
        type Question = u32;
        type Answer = u32;

        async fn answer(&mut self, question: &Arc<u32>) -> Result<Option<u32>, Refusal> {
            self.asked.lock().push(**question);
            if **question == 0 { std::future::pending().await } else { Ok(Some(**question)) }
        }

        fn pace(&mut self, _: &u32, _: Duration) -> Pace {
            Pace { again: AGAIN, newer: NEWER }
        }

        async fn send(&mut self, question: &u32, answered: Result<u32, Refusal>) -> Sent {
            assert_eq!(answered.ok(), Some(*question));
            self.sent.send_modify(|sent| sent.push(*question));
            match question {
                1 => Sent::Again,
                9 => Sent::Gone,
                _ => Sent::Done,
            }
        }

        fn is_outdated(&self, _: u64) -> bool {
            true
        }
    }

    async fn wait_for_answers(sent: &watch::Sender<Vec<u32>>, count: usize) -> Instant {
        let waited = sent.subscribe().wait_for(|sent| sent.len() >= count).await.map(drop);
        assert!(waited.is_ok());
        Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_question_is_answered_and_answered_again() {
        let data = DataSet::new(Retention::Segments, 1 << 20, &[]);
        let (asked, sent) = (weir_sync::Lock::new(Vec::new()), watch::Sender::new(Vec::new()));
        let current = watch::Sender::new(Some(Arc::new(0)));
        let answering = Recorded { asked: &asked, sent: &sent };
        let started = Instant::now();
        let asking = async {
            tokio::task::yield_now().await;
            assert_eq!(*asked.lock(), [0]);
            // An answer that is not ready is abandoned at once.
            current.send_replace(Some(Arc::new(1)));
            assert_eq!(wait_for_answers(&sent, 1).await, started);
            assert_eq!(wait_for_answers(&sent, 2).await, started + AGAIN);
            // A newer question waits less than the same one.
            current.send_replace(Some(Arc::new(2)));
            assert_eq!(wait_for_answers(&sent, 3).await, started + AGAIN + NEWER);
            // It was final, and without a question there is nothing to answer.
            current.send_replace(None);
            tokio::time::sleep(10 * AGAIN).await;
            assert_eq!(*sent.borrow(), [1, 1, 2]);
            current.send_replace(Some(Arc::new(9)));
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = asking => {}
            () = publish(&data, answering, current.subscribe()) => {}
        }
        assert_eq!(*asked.lock(), [0, 1, 1, 2, 9]);
    }
}
