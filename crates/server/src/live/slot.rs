//! Answers questions: in each slot the newest one, and again while the data grows if it is to be
//! followed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Poll;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_ingest::{DataSet, SourceProgress};
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_query::{LineFinder, WrittenQuery};
use weir_sync::Lock;
use weir_view::{LinesNeeded, LiveReply, LiveRequest, NeededFile};

use super::count::CountQuestion;
use super::lines::LinesQuestion;
use super::message::{Message, read_message};
use super::question::{Question, QuestionWork, ReplyTo, Subject};
use super::{blocks, has_open_source, process_newest, rules, send_reply, wait_until_outdated};
use crate::file::{FileToReplay, ReplayFeed};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::source_lines::{CancellableFeed, SourceFiles};
use crate::turns::{CancelOnDrop, Cancellation, Effort};

/// A place for one question of a connection, which a newer one replaces.
pub(super) struct Slot<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) data: &'a Arc<DataSet>,
    pub(super) writer: &'a SocketWriter<UpgradedStream>,
    /// What a message asks for if it cannot be read.
    pub(super) subject: Subject,
    /// The number of the slot among those of its kind.
    pub(super) panel: u32,
    /// What is known about the lines of the last question, if it was about lines.
    pub(super) finder: Arc<Lock<LineFinder>>,
}

/// A valid question, and the message that it answers.
type Asked = (ReplyTo, Arc<dyn Question>);

/// Serves all slots of a connection until one of them ends, because the connection does.
pub(super) async fn serve_slots(mut slots: Vec<Pin<Box<impl Future<Output = ()>>>>) {
    std::future::poll_fn(|context| {
        let is_over = slots.iter_mut().any(|slot| slot.as_mut().poll(context).is_ready());
        if is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

impl Slot<'_> {
    /// Answers the newest message until the connection ends.
    pub(super) async fn serve(self, mut newest: watch::Receiver<String>) {
        while let Some(read) = process_newest(&mut newest, |text| self.read(text)).await {
            match read {
                Ok(Some(asked)) => self.follow(asked, &mut newest).await,
                Ok(None) => {}
                Err(refusal) => send_reply(self.writer, &refusal).await,
            }
        }
    }

    /// Reads and checks a message. Returns `None` if it only cancels the previous question, and the
    /// reply if the question is refused.
    async fn read(&self, text: String) -> Result<Option<Asked>, Box<LiveReply>> {
        let unread = ReplyTo { subject: self.subject, panel: self.panel, query: None };
        let read = read_message(self.session, text).await;
        let Message { request, id, query } = read.map_err(|why| Box::new(unread.refuse(why)))?;
        let subject = match &request {
            LiveRequest::Blocks { .. } => Subject::Blocks,
            _ => self.subject,
        };
        let to = ReplyTo { subject, query: id, ..unread };
        let refuse = |refused| Box::new(to.refuse(refused));
        let Some(query) = query.map_err(|refusal| refuse(refusal.into()))? else {
            *self.finder.lock() = LineFinder::default();
            return Ok(None);
        };
        let (data, finder, expressions) =
            (self.data.clone(), self.finder.clone(), query.expressions());
        let check = move || check(request, query, &data, finder);
        let effort = match subject {
            Subject::Rules | Subject::Blocks => Effort::Long,
            Subject::Count | Subject::Lines => Effort::of(expressions),
        };
        let checked = self.session.turns().check(effort, check).await;
        let checked = checked.map_err(|refusal| refuse(refusal.into()))?;
        Ok(checked.map_err(refuse)?.map(|question| (to, question)))
    }

    /// Answers a question, and repeats this while the data grows if it is followed, until a newer
    /// message arrives.
    async fn follow(&self, (to, question): Asked, newest: &mut watch::Receiver<String>) {
        let mut version = self.data.version();
        let pace = question.pace();
        loop {
            let started = Instant::now();
            let seen = *version.borrow_and_update();
            let is_growing = has_open_source(self.data);
            let cancel = CancelOnDrop::default();
            let cancellation = cancel.cancellation();
            let mut sent_lines = None;
            let answered = tokio::select! {
                answered = self.answer(to, &question, &cancellation, &mut sent_lines) => answered,
                _ = newest.changed() => break,
            };
            let next = started + pace.interval.max(started.elapsed() * pace.work_share);
            match answered {
                Ok(Some(reply)) => send_reply(self.writer, &reply).await,
                Ok(None) => return,
                Err(refusal) => {
                    let is_final = matches!(refusal, Refusal::TooSlow(_) | Refusal::SessionEnded);
                    send_reply(self.writer, &to.refuse(refusal)).await;
                    if is_final {
                        return;
                    }
                }
            }
            if !pace.repeats {
                tokio::time::sleep_until(next).await;
                return;
            }
            let outdated = async {
                let is_outdated = |version: &u64| *version != seen;
                wait_until_outdated(self.data, &mut version, next, is_growing, is_outdated).await;
                if let Some(extent) = sent_lines {
                    self.wait_for_other_lines(&extent).await;
                }
            };
            tokio::select! {
                () = outdated => {}
                _ = newest.changed() => break,
            }
        }
        newest.mark_changed();
    }

    /// Waits until the data differs from what was replayed, and is complete: a page does not send
    /// its files again and again while another source grows.
    async fn wait_for_other_lines(&self, extent: &[(u32, u64)]) {
        let mut version = self.data.version();
        while has_open_source(self.data) || extent_of(self.data) == extent {
            // This cannot fail, because the sender lives as long as the data.
            let _ = version.changed().await;
        }
    }

    /// Answers in a turn, after the page was asked for the lines that the question needs; sets
    /// `sent_lines` if it was. Returns `None` if cancelled.
    async fn answer(
        &self,
        to: ReplyTo,
        question: &Arc<dyn Question>,
        cancellation: &Arc<Cancellation>,
        sent_lines: &mut Option<Extent>,
    ) -> Result<Option<LiveReply>, Refusal> {
        let files = match question.reads_lines() {
            true => self.find_files(to).await,
            false => SourceFiles::default(),
        };
        let needed: Vec<_> = files.uploaded().map(FileToReplay::to_view).collect();
        let (session, data) = (self.session.clone(), self.data.clone());
        let (files, complete) = (Arc::new(files), !has_open_source(self.data));
        let mut work = QuestionWork { session, data, complete, files, feed: None };
        let turns = self.session.turns();
        if needed.is_empty() {
            let answer = answer_from(to, question, work);
            return turns.answer(question.effort(), cancellation, answer).await?.transpose();
        }
        *sent_lines = Some(extent_of(self.data));
        let feed = ReplayFeed::open(self.session.replays())?;
        send_reply(self.writer, &to.ask_for_lines(self.lines_needed(feed.id(), needed))).await;
        feed.begun().await;
        let cancellable = CancellableFeed { feed, cancellation: cancellation.clone() };
        work.feed = Some(Arc::new(cancellable));
        let answer = answer_from(to, question, work);
        turns.replay(cancellation, answer).await?.transpose()
    }

    /// Finds the lines of the sources, after the files that are being uploaded have arrived.
    async fn find_files(&self, to: ReplyTo) -> SourceFiles {
        let is_arriving = || self.session.files().iter().any(|file| file.is_arriving());
        let mut version = self.data.version();
        if is_arriving() {
            send_reply(self.writer, &to.ask_for_lines(self.lines_needed("", Vec::new()))).await;
        }
        while is_arriving() {
            // This cannot fail, because the sender lives as long as the data.
            let _ = version.changed().await;
        }
        SourceFiles::find(self.session, self.data)
    }

    fn lines_needed(&self, replay: &str, files: Vec<NeededFile>) -> LinesNeeded {
        let remedy = self.session.remedies().lines_gone.clone();
        LinesNeeded { replay: replay.to_owned(), files, remedy }
    }
}

/// The sources of some data by their numbers, and how many bytes of each are parsed.
type Extent = Vec<(u32, u64)>;

fn extent_of(data: &DataSet) -> Extent {
    let extent = |source: Arc<SourceProgress>| (source.number(), *source.parsed().borrow());
    data.sources().into_iter().map(extent).collect()
}

/// Returns the work on an answer.
fn answer_from(
    to: ReplyTo,
    question: &Arc<dyn Question>,
    work: QuestionWork,
) -> impl Fn(&AtomicBool) -> Option<Result<LiveReply, Refusal>> + Send + Sync + use<> {
    let question = question.clone();
    move |should_stop| question.answer(to, &work, should_stop).transpose()
}

/// Checks a message, which compiles its expressions. Returns `None` if it only cancels the previous
/// question.
fn check(
    request: LiveRequest,
    query: WrittenQuery,
    data: &DataSet,
    finder: Arc<Lock<LineFinder>>,
) -> Result<Option<Arc<dyn Question>>, super::question::Refused> {
    Ok(match request {
        LiveRequest::Count { .. } => Some(Arc::new(CountQuestion::check(query, data)?)),
        LiveRequest::Lines { from, count, .. } => {
            Some(Arc::new(LinesQuestion::check(query, from, count, finder, data)?))
        }
        LiveRequest::Rules { rule: Some(rule), details, .. } => {
            Some(Arc::new(rules::check(query, &rule, &details, data)?))
        }
        LiveRequest::Blocks { question: Some(question), .. } => {
            Some(Arc::new(blocks::check(query, question, data)?))
        }
        _ => None,
    })
}
