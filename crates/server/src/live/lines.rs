//! Answers questions about the lines of a selection.
//!
//! A data set stores only the positions of lines. The server reads lines of local files back from
//! disk. The page reads lines of the files it uploaded.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::{DataSet, LineFile, PlainFile, ReadBackError, SourceProgress};
use weir_query::{LineFinder, ParsedQuery, WrittenQuery};
use weir_sync::Lock;
use weir_view::{LineAccess, LineSource, LinesAnswer, LiveReply, SelectedLine};

use super::question::{Question, QuestionWork, ReplyTo};
use crate::answer;
use crate::read_back::{may_belong_to, unreadable_reason};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::Effort;

/// The maximum number of lines in one answer: several screens.
const LINES_MAX: usize = 500;

/// The maximum length of a line in bytes. Nobody reads more of it.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The size of the text, in bytes, after which an answer gets no more lines.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A question about some of the lines of a selection.
pub(super) struct LinesQuestion {
    query: ParsedQuery,
    from: u64,
    count: usize,
    finder: Arc<Lock<LineFinder>>,
}

impl LinesQuestion {
    pub(super) fn check(
        query: WrittenQuery,
        from: u64,
        count: u32,
        finder: Arc<Lock<LineFinder>>,
        data: &DataSet,
    ) -> Result<Self, Refusal> {
        let query = answer::check(&query, data)?;
        Ok(Self { query, from, count: (count as usize).min(LINES_MAX), finder })
    }
}

impl Question for LinesQuestion {
    fn effort(&self) -> Effort {
        Effort::of(self.query.expressions())
    }

    fn repeats(&self) -> bool {
        false
    }

    fn answer(
        &self,
        ReplyTo { panel, query, .. }: ReplyTo,
        QuestionWork { session, data, .. }: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let mut finder = self.finder.lock();
        let range = (self.from, self.count);
        let found = finder.find(data, &self.query, range, session.jobs(), should_stop)?;
        let Some(mut answer) = found else { return Ok(None) };
        add_texts(&mut answer, session, data);
        let answer = Some(Box::new(answer));
        Ok(Some(LiveReply::Lines { panel, query, answer, error: None }))
    }
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
        let Some(place) = progress.file_place(line.offset) else {
            self.source.message = Some(unreadable_reason(progress));
            return 0;
        };
        if self.file.as_ref().is_none_or(|(file, _)| *file != place.file) {
            self.open_file(place.file.clone());
        }
        let Some((_, Some(file))) = &mut self.file else { return 0 };
        match file.line(&place, LINE_BYTES_MAX) {
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
