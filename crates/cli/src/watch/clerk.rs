//! Computes the answers, from the same queries as the page.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::watch;
use weir_ingest::DataSet;
use weir_query::{
    Evaluator, LineFinder, NoLines, ParsedQuery, RuleAnswer, RuleOptions, RuleQueryError,
    SourceLines, WantedLines, blocks, log_zone, replay_rules,
};
use weir_rules::Rule;
use weir_server::add_line_texts;
use weir_view::{BlocksQuestion, BlocksReport, RecordKind};

use super::answers::{Content, ReportAnswer, RulesAnswer, Story};
use super::question::{About, Question};
use crate::display::safe;
use crate::report::field_names;
use crate::rules::replayed_text;

/// The most clients or other keys of each rule that are listed.
const KEYS_MAX: usize = 50;

/// Computes answers about a data set.
pub(super) struct Clerk {
    data: Arc<DataSet>,
    jobs: usize,
    /// The evaluators of the last overview and of the last story, which make the next answers cheap.
    overview: Option<Evaluator<DataSet>>,
    story: Option<Evaluator<DataSet>>,
    finder: LineFinder,
    /// The rules of the arguments.
    rules: Vec<Box<dyn Rule>>,
}

impl Clerk {
    pub(super) fn new(data: Arc<DataSet>, jobs: usize) -> Self {
        let finder = LineFinder::default();
        Self { data, jobs, overview: None, story: None, finder, rules: Vec::new() }
    }

    /// Replays these rules too.
    pub(super) fn with_rules(self, rules: Vec<Box<dyn Rule>>) -> Self {
        Self { rules, ..self }
    }

    /// The version of the data.
    pub(super) fn version(&self) -> watch::Receiver<u64> {
        self.data.version()
    }

    /// Answers a question. Returns `None` if it was abandoned.
    ///
    /// # Errors
    /// With a sentence, if the question is not valid for this data.
    pub(super) fn answer(
        &mut self,
        question: &Question,
        is_abandoned: &AtomicBool,
    ) -> Result<Option<Content>, String> {
        let query = self.checked(question)?;
        match &question.about {
            About::Overview => {
                let report =
                    report(&mut self.overview, (&self.data, self.jobs), query, is_abandoned)?;
                let fields = field_names(&self.data.formats());
                Ok(report.map(|report| Content::Overview { report, fields }))
            }
            About::Story(condition) => {
                let known = (&self.data, self.jobs);
                let report = report(&mut self.story, known, query.clone(), is_abandoned)?;
                let Some(report) = report else { return Ok(None) };
                let Some(blocks) = self.blocks_of(&report, &query, is_abandoned)? else {
                    return Ok(None);
                };
                let condition = condition.clone();
                Ok(Some(Content::Story(Story { condition, report, blocks })))
            }
            About::Lines { from, count, .. } => {
                let wanted = WantedLines { from: *from, count: *count, ..WantedLines::default() };
                let found = self.finder.find(&self.data, &query, wanted, self.jobs, is_abandoned);
                let Some(mut lines) = found.map_err(|error| error.to_string())? else {
                    return Ok(None);
                };
                add_line_texts(&mut lines, &self.data, &|_| String::new());
                Ok(Some(Content::Lines(lines)))
            }
            About::Rules => {
                let Some(replayed) = self.replayed(&query, is_abandoned)? else { return Ok(None) };
                let blocks = self.blocks(&query, is_abandoned)?;
                Ok(blocks.map(|blocks| Content::Rules(RulesAnswer { replayed, blocks })))
            }
        }
    }

    /// What each rule of the arguments would have done, as text.
    fn replayed(
        &self,
        query: &ParsedQuery,
        is_abandoned: &AtomicBool,
    ) -> Result<Option<Vec<String>>, String> {
        if self.rules.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let rules: Vec<&dyn Rule> = self.rules.iter().map(|rule| &**rule).collect();
        let (options, lines) = (RuleOptions::default(), (&rules[..], &NoLines as &dyn SourceLines));
        let answers = replay_rules(&self.data, query, lines, &options, self.jobs, is_abandoned);
        let Some(answers) = answers.map_err(|error| error.to_string())? else { return Ok(None) };
        let text = |(answer, rule): (RuleAnswer, &&dyn Rule)| match answer.unanswered {
            None => replayed_text(&answer.rule, KEYS_MAX),
            Some(RuleQueryError::LinesGone(_)) => format!(
                "{}  looks at whole lines, which are not kept; replay it with weir rules",
                safe(rule.name())
            ),
            Some(error) => {
                format!("{}  was not replayed: {}", safe(rule.name()), safe(&error.to_string()))
            }
        };
        Ok(Some(answers.into_iter().zip(&rules).map(text).collect()))
    }

    /// The blocks of a client, each as a sentence.
    fn blocks_of(
        &self,
        report: &ReportAnswer,
        query: &ParsedQuery,
        is_abandoned: &AtomicBool,
    ) -> Result<Option<Vec<String>>, String> {
        let mut kinds = report.report.kinds.iter();
        if kinds.all(|count| count.kind == RecordKind::Request) {
            return Ok(Some(Vec::new()));
        }
        let Some(blocks) = self.blocks(query, is_abandoned)? else { return Ok(None) };
        let clients = blocks.map(|blocks| blocks.clients).unwrap_or_default();
        let sentences = clients.into_iter().flat_map(|client| {
            [client.sentence].into_iter().chain(client.profile.map(|profile| profile.sentence()))
        });
        Ok(Some(sentences.collect()))
    }

    fn blocks(
        &self,
        query: &ParsedQuery,
        is_abandoned: &AtomicBool,
    ) -> Result<Option<Option<BlocksReport>>, String> {
        let question = BlocksQuestion::default();
        let found = blocks(&self.data, query, &question, self.jobs, is_abandoned);
        found.map_err(|error| error.to_string())
    }

    /// The query of a question, with its times in the zone of the log.
    fn checked(&self, question: &Question) -> Result<ParsedQuery, String> {
        let query = question.query()?;
        let formats = self.data.formats();
        // Fields first, because the message about an unknown field lists the fields of the log.
        query
            .check_fields(formats.iter().map(Arc::as_ref), &|_| None)
            .map_err(|error| error.to_string())?;
        let values = self.data.values();
        query.check(&values, &|| log_zone(&values)).map_err(|error| error.to_string())
    }
}

/// Computes a report, from that of the query before. Returns `None` if it was abandoned.
fn report(
    last: &mut Option<Evaluator<DataSet>>,
    (data, jobs): (&Arc<DataSet>, usize),
    query: ParsedQuery,
    is_abandoned: &AtomicBool,
) -> Result<Option<ReportAnswer>, String> {
    let evaluator = match last.take() {
        Some(evaluator) if *evaluator.query() == query => Ok(evaluator),
        Some(evaluator) => evaluator.change(query),
        None => Evaluator::new(data.clone(), query, jobs),
    };
    let evaluator = last.insert(evaluator.map_err(|error| error.to_string())?);
    Ok(evaluator.answer(is_abandoned).map(Box::new))
}
