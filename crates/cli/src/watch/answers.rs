//! The answers that the screen shows.

use weir_ingest::SourceSnapshot;
use weir_query::Answer;
use weir_view::{BlocksReport, KindCount, LinesAnswer, Report};

use super::question::{About, LinesOf, Question, Selection};

/// A report with the state of its sources.
pub(super) type ReportAnswer = Box<Answer<SourceSnapshot>>;

/// The last answers. Those to earlier questions stay on the screen until a newer one is there.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The number of the last question that was answered, or refused.
    pub(super) number: u64,
    /// The last report; `None` before the first.
    pub(super) report: Option<ReportAnswer>,
    /// The names of the fields of the log.
    pub(super) fields: Vec<String>,
    /// The last story of a client.
    pub(super) story: Option<Story>,
    /// The last lines, with the question that they answer.
    pub(super) lines: Option<(Question, LinesAnswer)>,
    /// The last answer about rules, with the question.
    pub(super) rules: Option<(Question, RulesAnswer)>,
    /// Why the last question has no answer.
    pub(super) refusal: Option<String>,
}

/// What a client did.
#[derive(Debug)]
pub(super) struct Story {
    /// The condition that selects the client.
    pub(super) condition: String,
    pub(super) report: ReportAnswer,
    /// Its blocks, each as a sentence.
    pub(super) blocks: Vec<String>,
}

/// What rules would have done, or did.
#[derive(Debug)]
pub(super) struct RulesAnswer {
    /// For each rule of the arguments, what it would have done, as text.
    pub(super) replayed: Vec<String>,
    /// What tripped the rules in force. `None` if no block stands beside the requests.
    pub(super) blocks: Option<BlocksReport>,
}

/// An answer to a question, or the reason why there is none.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) number: u64,
    pub(super) question: Question,
    pub(super) content: Result<Content, String>,
}

/// An answer.
#[derive(Debug)]
pub(super) enum Content {
    Overview { report: ReportAnswer, fields: Vec<String> },
    Story(Story),
    Lines(LinesAnswer),
    Rules(RulesAnswer),
}

impl Answers {
    pub(super) fn take(&mut self, Reply { number, question, content }: Reply) {
        self.number = number;
        self.refusal = None;
        match content {
            Ok(Content::Overview { report, fields }) => {
                (self.report, self.fields) = (Some(report), fields);
            }
            Ok(Content::Story(story)) => self.story = Some(story),
            Ok(Content::Lines(lines)) => self.lines = Some((question, lines)),
            Ok(Content::Rules(rules)) => self.rules = Some((question, rules)),
            Err(refusal) => self.refusal = Some(refusal),
        }
    }

    pub(super) fn report(&self) -> Option<&Report> {
        self.report.as_ref().map(|answer| &answer.report)
    }

    pub(super) fn sources(&self) -> &[SourceSnapshot] {
        self.report.as_ref().map_or(&[], |answer| &answer.sources)
    }

    /// Whether lines may still come.
    pub(super) fn grow(&self) -> bool {
        self.sources().iter().any(|source| source.end.is_none())
    }

    /// The story of the client that a condition selects, if it is known yet.
    pub(super) fn story_of(&self, condition: &str) -> Option<&Story> {
        self.story.as_ref().filter(|story| story.condition == condition)
    }

    /// The last lines, if they are those of the same records, in whatever place.
    pub(super) fn lines_of(&self, of: &LinesOf, selection: &Selection) -> Option<&LinesAnswer> {
        let (asked, lines) = self.lines.as_ref()?;
        let About::Lines { of: answered, .. } = &asked.about else { return None };
        let is_same =
            answered == of && (of != &LinesOf::Selection || asked.selection == *selection);
        is_same.then_some(lines)
    }

    /// The last answer about rules, if it is that of this selection.
    pub(super) fn rules_of(&self, selection: &Selection) -> Option<&RulesAnswer> {
        let (asked, rules) = self.rules.as_ref()?;
        (asked.selection == *selection).then_some(rules)
    }

    /// The kinds of records that there are, in the order of their keys.
    pub(super) fn kinds(&self) -> &[KindCount] {
        self.report().map_or(&[], |report| &report.kinds)
    }
}
