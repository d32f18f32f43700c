//! Answers questions about the lines of a selection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_ingest::DataSet;
use weir_query::{LineFinder, ParsedQuery, WantedLines, WrittenQuery};
use weir_sync::Lock;
use weir_view::LiveReply;

use super::question::{Question, QuestionWork, ReplyTo};
use crate::answer;
use crate::line_texts::add_line_texts;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::Effort;

/// The maximum number of lines in one answer: several screens.
const LINES_MAX: usize = 500;

/// The maximum number of lines with all of their fields: a log may have hundreds.
const DETAILS_MAX: usize = 10;

/// A question about some of the lines of a selection.
pub(super) struct LinesQuestion {
    query: ParsedQuery,
    wanted: WantedLines,
    finder: Arc<Lock<LineFinder>>,
}

impl LinesQuestion {
    pub(super) fn check(
        query: WrittenQuery,
        wanted: WantedLines,
        finder: Arc<Lock<LineFinder>>,
        data: &DataSet,
    ) -> Result<Self, Refusal> {
        let query = answer::check(&query, data)?;
        let most = if wanted.has_fields { DETAILS_MAX } else { LINES_MAX };
        let wanted = WantedLines { count: wanted.count.min(most), ..wanted };
        Ok(Self { query, wanted, finder })
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
        let found = finder.find(data, &self.query, self.wanted, session.jobs(), should_stop)?;
        let Some(mut answer) = found else { return Ok(None) };
        add_line_texts(&mut answer, data, &|number| file_of(session, number));
        let answer = Some(Box::new(answer));
        Ok(Some(LiveReply::Lines { panel, query, answer, error: None }))
    }
}

/// Returns the page's id of the file that is the source with this number; empty if there is none.
fn file_of(session: &Session, number: u32) -> String {
    let files = session.files();
    let file = files.iter().find(|file| file.progress().number() == number);
    file.map(|file| file.id().to_owned()).unwrap_or_default()
}
