//! Answers the questions of panels: in each slot the newest one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::sync::watch;
use weir_ingest::{DataSet, SourceProgress};
use weir_net::websocket::{SocketWriter, UpgradedStream};
use weir_query::{LineFinder, ListPart, WantedLines, WrittenQuery};
use weir_sync::Lock;
use weir_view::{LinesNeeded, LiveReply, LiveRequest, NeededFile};

use super::count::CountQuestion;
use super::follow::{Answering, Asking, Pace, Sent, has_open_source, serve};
use super::lines::LinesQuestion;
use super::list::{ListQuestion, SeriesQuestion, spans};
use super::message::{Message, read_message};
use super::question::{Question, QuestionWork, ReplyTo, Subject};
use super::{blocks, rules, send_reply};
use crate::file::{FileToReplay, ReplayFeed};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::source_lines::{CancellableFeed, SourceFiles};
use crate::turns::{CancelOnDrop, Checked, Effort, Viewer};

/// Longer messages have rules whose check may take long, and others do not wait for it.
const SHORT_MESSAGE_BYTES: usize = 4 << 10;

/// The pauses between checks of a question whose patterns had no room.
const RETRY_PAUSE_MIN: Duration = Duration::from_secs(1);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(16);

/// A place for one question of a connection, which a newer one replaces.
pub(super) struct Slot<'a> {
    pub(super) session: &'a Arc<Session>,
    pub(super) data: &'a Arc<DataSet>,
    pub(super) writer: &'a SocketWriter<UpgradedStream>,
    /// What a message asks for if it cannot be read.
    pub(super) subject: Subject,
    /// The number of the slot among those of its kind.
    pub(super) panel: u32,
    pub(super) viewer: &'a Viewer,
}

/// A valid question, and the message that it answers.
pub(super) struct Asked {
    to: ReplyTo,
    checked: Checked<Box<dyn Question>>,
}

impl Slot<'_> {
    /// Answers the newest message until the connection ends.
    pub(super) async fn serve(self, newest: watch::Receiver<String>) {
        // What is known about the lines of the last question, if it was about lines.
        let finder = Arc::default();
        let read = |text| self.read(text, &finder);
        let asking = Asking { newest, read, first: None, keeps_previous: false };
        let answers = SlotAnswers { slot: &self, seen: 0, sent_lines: None };
        serve(self.data, self.writer, asking, answers).await;
    }

    /// Reads and checks a message. Returns `None` if it only cancels the previous question, and the
    /// reply if the question is refused.
    async fn read(
        &self,
        text: String,
        finder: &Arc<Lock<LineFinder>>,
    ) -> Result<Option<Asked>, Box<LiveReply>> {
        let unread = ReplyTo { subject: self.subject, panel: self.panel, query: None };
        let message_bytes = text.len();
        let read = read_message(self.session, text).await;
        let Message { request, id, query } = read.map_err(|why| Box::new(unread.refuse(why)))?;
        let subject = match &request {
            LiveRequest::Blocks { .. } => Subject::Blocks,
            _ => self.subject,
        };
        let to = ReplyTo { subject, query: id, ..unread };
        let refuse = |refused| Box::new(to.refuse(refused));
        let Some(query) = query.map_err(|refusal| refuse(refusal.into()))? else {
            *finder.lock() = LineFinder::default();
            return Ok(None);
        };
        let effort = match subject {
            Subject::Rules | Subject::Blocks if message_bytes > SHORT_MESSAGE_BYTES => Effort::Long,
            Subject::Rules | Subject::Blocks => Effort::Short,
            Subject::Count | Subject::Lines | Subject::List | Subject::Series => {
                Effort::of(query.expressions())
            }
        };
        let asked = Arc::new((request, query));
        let mut pause = RETRY_PAUSE_MIN;
        loop {
            let (session, data) = (self.session.clone(), self.data.clone());
            let (finder, asked) = (finder.clone(), asked.clone());
            let check = move |stop: &Arc<AtomicBool>| {
                let (request, query) = &*asked;
                check(request, query.clone(), &session, &data, &finder, stop)
            };
            let checked = self.session.turns().check_of(self.viewer, effort, check).await;
            let checked = checked.map_err(|refusal| refuse(refusal.into()))?;
            let refused = match checked.transpose() {
                Ok(checked) => return Ok(checked.map(|checked| Asked { to, checked })),
                Err(refused) => refused,
            };
            let Some(bytes) = refused.pattern_bytes else { return Err(refuse(refused)) };
            send_reply(self.writer, &refuse(refused)).await;
            // It needs more than that if the rest of its patterns was not compiled.
            tokio::time::sleep(pause).await;
            self.session.pattern_room(bytes).await;
            pause = (2 * pause).min(RETRY_PAUSE_MAX);
        }
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

/// The answers of a slot.
struct SlotAnswers<'a> {
    slot: &'a Slot<'a>,
    /// The version of the data when the last answer began.
    seen: u64,
    /// What the page's lines were sent for, if they were for the last answer.
    sent_lines: Option<Extent>,
}

impl Answering for SlotAnswers<'_> {
    type Question = Asked;
    type Answer = LiveReply;

    /// Answers in a turn, after the page was asked for the lines that the question needs.
    async fn answer(&mut self, asked: &Arc<Asked>) -> Result<Option<LiveReply>, Refusal> {
        let Slot { session, data, writer, .. } = *self.slot;
        (self.seen, self.sent_lines) = (*data.version().borrow(), None);
        let cancel = CancelOnDrop::of(&asked.checked, self.slot.viewer);
        let cancellation = cancel.cancellation();
        let files = match asked.checked.question.reads_lines() {
            true => match asked.checked.question.lines_gone() {
                Some(why) => SourceFiles::gone(why),
                None => self.slot.find_files(asked.to).await,
            },
            false => SourceFiles::default(),
        };
        let needed: Vec<_> = files.uploaded().map(FileToReplay::to_view).collect();
        let (files, complete) = (Arc::new(files), !has_open_source(data));
        let (session, data) = (session.clone(), data.clone());
        let mut work = QuestionWork { session, data, complete, files, feed: None };
        let turns = self.slot.session.turns();
        if needed.is_empty() {
            let (effort, answer) = (asked.checked.question.effort(), answer_from(asked, work));
            return turns.answer(effort, &cancellation, answer).await?.transpose();
        }
        self.sent_lines = Some(extent_of(self.slot.data));
        let feed = ReplayFeed::open(self.slot.session.replays())?;
        let lines = self.slot.lines_needed(feed.id(), needed);
        send_reply(writer, &asked.to.ask_for_lines(lines)).await;
        feed.begun().await;
        let cancellable = CancellableFeed { feed, cancellation: cancellation.clone() };
        work.feed = Some(Arc::new(cancellable));
        turns.replay(&cancellation, answer_from(asked, work)).await?.transpose()
    }

    fn pace(&mut self, asked: &Asked, work_time: Duration) -> Pace {
        asked.checked.question.pace(work_time)
    }

    async fn send(&mut self, asked: &Asked, answered: Result<LiveReply, Refusal>) -> Sent {
        let is_final = match &answered {
            Ok(_) => !asked.checked.question.repeats(),
            Err(refusal) => matches!(refusal, Refusal::TooSlow(_) | Refusal::SessionEnded),
        };
        let reply = answered.unwrap_or_else(|refusal| asked.to.refuse(refusal));
        send_reply(self.slot.writer, &reply).await;
        if is_final { Sent::Done } else { Sent::Again }
    }

    fn is_outdated(&self, version: u64) -> bool {
        version != self.seen
    }

    /// Waits until the data differs from what was replayed, and is complete: a page does not send
    /// its files again and again while another source grows.
    async fn wait_until_ready(&mut self) {
        let Some(extent) = &self.sent_lines else { return };
        let data = self.slot.data;
        let mut version = data.version();
        while has_open_source(data) || extent_of(data) == *extent {
            // This cannot fail, because the sender lives as long as the data.
            let _ = version.changed().await;
        }
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
    asked: &Arc<Asked>,
    work: QuestionWork,
) -> impl Fn(&AtomicBool) -> Option<Result<LiveReply, Refusal>> + Send + Sync + use<> {
    let asked = asked.clone();
    move |should_stop| asked.checked.question.answer(asked.to, &work, should_stop).transpose()
}

/// Checks a message, which compiles its expressions. Returns `None` if it only cancels the previous
/// question.
fn check(
    request: &LiveRequest,
    query: WrittenQuery,
    session: &Session,
    data: &DataSet,
    finder: &Arc<Lock<LineFinder>>,
    stop: &Arc<AtomicBool>,
) -> Result<Option<Box<dyn Question>>, super::question::Refused> {
    Ok(match request {
        LiveRequest::Count { .. } => Some(Box::new(CountQuestion::check(query, data)?)),
        LiveRequest::Lines { from, count, order, around, fields, .. } => {
            let (from, count, has_fields) = (*from, *count as usize, *fields);
            let wanted = WantedLines { from, count, order: *order, around: *around, has_fields };
            Some(Box::new(LinesQuestion::check(query, wanted, finder.clone(), data)?))
        }
        LiveRequest::Series { bounds, map, .. } => {
            Some(Box::new(SeriesQuestion::check(query, bounds, map.as_deref(), data)?))
        }
        LiveRequest::List { from, search, bounds, .. } => {
            let spans = (!bounds.is_empty()).then(|| spans(bounds));
            let part = ListPart { from: *from as usize, search: search.clone(), spans };
            Some(Box::new(ListQuestion::check(query, part, data)?))
        }
        LiveRequest::Rules { rule: Some(rule), details, .. } => {
            Some(Box::new(rules::check(query, rule, details, session, data, stop)?))
        }
        LiveRequest::Blocks { question: Some(question), .. } => {
            Some(Box::new(blocks::check(query, question.clone(), data)?))
        }
        _ => None,
    })
}
