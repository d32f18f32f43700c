//! Answers questions about the lines of a selection.
//!
//! A data set stores only the positions of lines. The server reads lines of local files back from
//! disk. The page reads lines of the files it uploaded.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use weir_ingest::{DataSet, LineFile, PlainFile, ReadBackError, SourceProgress};
use weir_net::websocket::{UpgradedStream, Writer};
use weir_query::{LineFinder, settled};
use weir_view::{
    LineAccess, LineSource, LinesAnswer, LiveReply, LiveRequest, Now, Query, SelectedLine,
};

use super::panels::serve_panels;
use super::{process_newest, send_reply};
use crate::answer;
use crate::read_back::{may_belong_to, unreadable_reason};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{CancelOnDrop, Cancellation, Effort};

/// The number of line panels of a connection. Each keeps one bit per record.
const LINE_PANELS_MAX: usize = 5;

/// The maximum number of lines in one answer: several screens.
const LINES_MAX: usize = 500;

/// The maximum length of a line in bytes. Nobody reads more of it.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The size of the text, in bytes, after which an answer gets no more lines.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The newest message of each line panel.
pub(super) type LineMessages = [watch::Sender<String>; LINE_PANELS_MAX];

/// Answers the newest message of each panel until the connection ends.
pub(super) fn answer_lines<'a>(
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    newest: &LineMessages,
    writer: &'a Writer<UpgradedStream>,
) -> impl Future<Output = ()> + use<'a> {
    let serve = |(number, newest): (u32, &watch::Sender<String>)| {
        let finder = Arc::default();
        let panel = LinePanel { number, session, data, writer, finder };
        let newest = newest.subscribe();
        Box::pin(async move { panel.serve(newest).await })
    };
    serve_panels((0..).zip(newest).map(serve).collect())
}

/// Refuses a question for a panel number that does not exist.
pub(super) async fn refuse_line_panel(panel: u32, writer: &Writer<UpgradedStream>) {
    let last = LINE_PANELS_MAX - 1;
    let why = format!("panel {panel} is too high: a connection has panels of lines 0 to {last}");
    let error = Some(Refusal::BadRequest(why).failure(None));
    send_reply(writer, &LiveReply::Lines { panel, query: None, answer: None, error }).await;
}

/// A line panel of a connection.
struct LinePanel<'a> {
    number: u32,
    session: &'a Arc<Session>,
    data: &'a Arc<DataSet>,
    writer: &'a Writer<UpgradedStream>,
    finder: Arc<Mutex<LineFinder>>,
}

/// The question of a panel.
#[derive(Debug, Clone)]
struct Question {
    query: Query,
    from: u64,
    count: usize,
}

impl LinePanel<'_> {
    async fn serve(&self, mut newest: watch::Receiver<String>) {
        let answer = |text| async move {
            let cancel = CancelOnDrop::default();
            self.reply(text, &cancel.cancellation()).await
        };
        while let Some(reply) = process_newest(&mut newest, answer).await {
            if let Some(reply) = reply {
                send_reply(self.writer, &reply).await;
            }
        }
    }

    /// Answers a message. Returns `None` if the message only cancels the previous question.
    async fn reply(&self, text: String, cancellation: &Arc<Cancellation>) -> Option<LiveReply> {
        let panel = self.number;
        let refused = |query, refusal: &Refusal| {
            let error = Some(refusal.failure(None));
            Some(LiveReply::Lines { panel, query, answer: None, error })
        };
        let parse = move || weir_view::from_json::<LiveRequest>(&text);
        let request = match self.session.turns().check(Effort::Short, parse).await {
            Ok(Ok(request)) => request,
            Ok(Err(error)) => return refused(None, &Refusal::unreadable(error)),
            Err(refusal) => return refused(None, &refusal),
        };
        let LiveRequest::Lines { query: Some(mut query), from, count, .. } = request else {
            *self.finder.lock().unwrap_or_else(PoisonError::into_inner) = LineFinder::default();
            return None;
        };
        query.zone = query.zone.or_else(|| self.session.zone().cloned());
        let id = Some(query.id);
        let question = Question { query, from, count: (count as usize).min(LINES_MAX) };
        match self.answer(question, cancellation).await {
            Ok(answer) => {
                let answer = Some(Box::new(answer?));
                Some(LiveReply::Lines { panel, query: id, answer, error: None })
            }
            Err(refusal) => refused(id, &refusal),
        }
    }

    /// Finds and reads the lines. Returns `None` if cancelled.
    async fn answer(
        &self,
        question: Question,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Option<LinesAnswer>, Refusal> {
        let (session, data) = (self.session.clone(), self.data.clone());
        let finder = self.finder.clone();
        let effort = Effort::of(question.query.expressions());
        let work = move |should_stop: &AtomicBool| {
            let mut finder = finder.lock().unwrap_or_else(PoisonError::into_inner);
            find(&mut finder, &session, &data, &question, should_stop).transpose()
        };
        self.session.turns().answer(effort, cancellation, work).await?.transpose()
    }
}

/// Finds the lines of a question, and reads those in local files. Returns `None` if `should_stop`
/// became true.
fn find(
    finder: &mut LineFinder,
    session: &Session,
    data: &Arc<DataSet>,
    Question { query, from, count }: &Question,
    should_stop: &AtomicBool,
) -> Result<Option<LinesAnswer>, Refusal> {
    let now = Now::read();
    let query = settled(&answer::check(query.clone(), data, &now)?, &**data, &now)?;
    let found = finder.find(data, &query, (*from, *count), session.jobs(), should_stop)?;
    let Some(mut answer) = found else { return Ok(None) };
    add_texts(&mut answer, session, data);
    Ok(Some(answer))
}

/// Adds the texts of lines in local files, and the sources of all lines.
fn add_texts(answer: &mut LinesAnswer, session: &Session, data: &DataSet) {
    let mut sources: Vec<ReadSource> = Vec::new();
    let mut bytes = 0;
    let mut lines_read = 0;
    for line in &mut answer.lines {
        if bytes > TEXT_BYTES_MAX {
            break;
        }
        if sources.last().is_none_or(|last| last.source.number != line.source) {
            sources.push(ReadSource::open(line.source, session, data));
        }
        if let Some(source) = sources.last_mut() {
            bytes += source.read(line);
        }
        lines_read += 1;
    }
    answer.lines.truncate(lines_read);
    answer.sources = sources.into_iter().map(|read| read.source).collect();
}

/// A source whose lines are being read.
struct ReadSource {
    source: LineSource,
    progress: Option<Arc<SourceProgress>>,
    /// The local file of the last line; open if it is unchanged since it was parsed.
    file: Option<(PlainFile, Option<LineFile>)>,
}

impl ReadSource {
    fn open(number: u32, session: &Session, data: &DataSet) -> Self {
        let progress = data.source(number);
        let name = progress.as_ref().map_or_else(String::new, |source| source.name().to_owned());
        let line_source = LineSource {
            number,
            name,
            file: String::new(),
            access: LineAccess::None,
            message: None,
        };
        let mut read = Self { source: line_source, progress, file: None };
        let Some(progress) = &read.progress else { return read };
        read.source.file = file_of(session, number);
        if !read.source.file.is_empty() && !progress.is_packed() {
            read.source.access = LineAccess::Page;
        }
        read
    }

    /// Adds its text to a line of this source if it is in a local file. Returns the length in
    /// bytes.
    fn read(&mut self, line: &mut SelectedLine) -> usize {
        let Some(progress) = &self.progress else { return 0 };
        if self.source.access == LineAccess::Page {
            return 0;
        }
        let Some((plain, offset)) = progress.file_offset(line.offset) else {
            self.source.message = Some(unreadable_reason(progress));
            return 0;
        };
        if self.file.as_ref().is_none_or(|(file, _)| *file != plain) {
            self.open_file(plain);
        }
        let Some((_, Some(file))) = &mut self.file else { return 0 };
        match file.line(offset, LINE_BYTES_MAX) {
            Ok(found) if may_belong_to(line.client.as_deref(), found.bytes) || found.is_cut => {
                line.set_text(found.bytes, found.is_cut);
                return found.bytes.len();
            }
            Ok(_) => self.fail(&ReadBackError::Changed),
            Err(error) => self.fail(&error),
        }
        0
    }

    fn open_file(&mut self, plain: PlainFile) {
        match plain.open() {
            Ok(file) => {
                self.source.access = LineAccess::Server;
                self.file = Some((plain, Some(file)));
            }
            Err(error) => {
                self.file = Some((plain, None));
                self.fail(&error);
            }
        }
    }

    /// Stops reading, because lines other than the parsed ones must not be shown.
    fn fail(&mut self, error: &ReadBackError) {
        if let Some((_, open)) = &mut self.file {
            *open = None;
        }
        self.source.access = LineAccess::None;
        self.source.message = Some(format!("{} cannot be read again: {error}", self.source.name));
    }
}

/// Returns the page's id of the file that is the source with this number; empty if there is none.
fn file_of(session: &Session, number: u32) -> String {
    let files = session.files();
    let file = files.iter().find(|file| file.progress().number() == number);
    file.map(|file| file.id().to_owned()).unwrap_or_default()
}
