//! Questions about rules that a user tries.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{AddressBlock, PatternBudget, PatternRefusal};
use weir_ingest::DataSet;
use weir_query::{
    RuleOptions, RuleQueryError, SourceLines, WrittenQuery, compare_rules, replay_rules,
};
use weir_rules::{Family, ParseError, Rule, RuleError, parse_rules_up_to};
use weir_view::{LiveReply, RuleAnswer, RuleDetails, RuleNote, RulePlace, RuleText, RulesAnswer};

use super::KEYS_MAX;
use super::question::{Question, QuestionWork, Refused, ReplyTo};
use super::rule_files::{FoundFiles, files_of, missing_text};
use crate::answer;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::source_lines::SourceReader;

/// The maximum length of a text of rules, in bytes.
pub(super) const RULE_BYTES_MAX: usize = 512 << 10;

/// The maximum number of networks of good clients. Each is compared with each key.
pub(super) const NETWORKS_MAX: usize = 256;

/// The maximum length of a network in a message: 43 characters of an IPv6 prefix, and JSON around
/// it.
pub(super) const NETWORK_BYTES_MAX: usize = 64;

/// The maximum number of rules in one text. Each is replayed over all records.
const RULES_MAX: usize = 32;

/// The name of a rule that has none.
const UNNAMED: &str = "rule";

/// The rules of a text, in order.
type Rules = Vec<Box<dyn Rule>>;

/// Validated rules that are replayed over the records of a query, and the options of the replay.
pub(super) struct RulesOverQuery {
    query: WrittenQuery,
    rules: Rules,
    /// The rules to compare with; empty if their text was refused.
    against: Rules,
    options: RuleOptions,
    /// Why the page cannot send its lines, if it has said so.
    lines_gone: Option<String>,
    /// The parts of the text that were not understood.
    notes: Vec<RuleNote>,
    /// The budget of the patterns of both texts.
    budget: PatternBudget,
}

/// Validates a question: parses its rules, and checks the query and the options.
pub(super) fn check(
    query: WrittenQuery,
    rule: &RuleText,
    details: &RuleDetails,
    session: &Session,
    data: &DataSet,
    stop: &Arc<AtomicBool>,
) -> Result<RulesOverQuery, Refused> {
    let mut texts = std::iter::once(rule).chain(details.against.as_deref());
    if texts.any(|rule| bytes_of(rule) > RULE_BYTES_MAX) {
        let kibibytes = RULE_BYTES_MAX >> 10;
        let why =
            format!("the text of the rule is too long: with its files it can have {kibibytes} KiB");
        return Err(Refusal::BadRequest(why).into());
    }
    let options = RuleOptions {
        has_grid: details.grid,
        has_collateral: true,
        good_networks: good_networks(&details.good_networks)?,
        has_caught: details.against.is_some(),
    };
    let budget = session.pattern_budget(stop);
    let remedy = &session.remedies().memory_limit;
    let (rules, notes) = parse(rule, &budget, remedy)?;
    // The errors of the other text are reported by the panel that shows it.
    let against =
        details.against.as_deref().and_then(|against| parse(against, &budget, remedy).ok());
    let against = against.map(|(rules, _)| rules).unwrap_or_default();
    answer::check(&query, data)?;
    let lines_gone = details.lines_gone.clone();
    Ok(RulesOverQuery { query, rules, against, options, lines_gone, notes, budget })
}

/// Returns the length of a text of rules and its files.
fn bytes_of(rule: &RuleText) -> usize {
    rule.text.len() + rule.files.iter().map(|file| file.text.len()).sum::<usize>()
}

/// Parses the networks of good clients.
pub(super) fn good_networks(texts: &[String]) -> Result<Vec<AddressBlock>, Refusal> {
    if texts.len() > NETWORKS_MAX {
        let found = texts.len();
        let why =
            format!("there are {found} networks of good clients; name at most {NETWORKS_MAX}");
        return Err(Refusal::BadRequest(why));
    }
    let network = |text: &String| {
        AddressBlock::parse_or_address(text).ok_or_else(|| {
            let shown: String = text.chars().take(NETWORK_BYTES_MAX).collect();
            Refusal::BadRequest(format!(
                "`{shown}` is not a valid network: write an address, or one with the length of its \
                 prefix, such as 192.0.2.0/24"
            ))
        })
    };
    texts.iter().map(network).collect()
}

/// Parses the rules of a text. Returns them with notes on the parts that were not understood.
fn parse(
    rule: &RuleText,
    budget: &PatternBudget,
    remedy: &str,
) -> Result<(Rules, Vec<RuleNote>), Refused> {
    let family = rule.family.as_deref().map(family_named).transpose()?;
    let name = rule.name.as_deref().unwrap_or(UNNAMED);
    let text = &rule.text;
    let FoundFiles { mut files, missing } = files_of(rule, name, family)?;
    files.limit_patterns(budget.clone());
    let rules = parse_rules_up_to(RULES_MAX, text, name, family, &files);
    let rules = rules.map_err(|error| match error {
        // Of several jails, those that have their filters are replayed.
        ParseError::Rule(error) if is_about_missing(&error, &missing) => {
            Refusal::BadRule(missing_text(&missing)).into()
        }
        ParseError::Rule(error) => {
            let place = Some(Box::new(RulePlace::new(&error, text)));
            Refused { place, ..Refusal::BadRule(error.to_string()).into() }
        }
        ParseError::TooMany { found, max } => {
            let why = format!("the text has {found} rules; a panel replays {max} at once");
            Refusal::BadRule(why).into()
        }
        ParseError::Patterns(PatternRefusal::NoRoom { bytes_needed, bytes_max, .. })
            if bytes_needed <= bytes_max =>
        {
            let why = "They are tried again when other rules have left.";
            let refusal = Refusal::BadRule(format!("{error}. {remedy} {why}"));
            Refused { pattern_bytes: Some(bytes_needed), ..refusal.into() }
        }
        ParseError::Patterns(_) => Refusal::BadRule(format!("{error}. {remedy}")).into(),
    })?;
    let note = |error: &RuleError| RuleNote {
        message: error.to_string(),
        place: RulePlace::new(error, text),
    };
    // Several rules of one text may have the same note.
    let mut places = HashSet::new();
    let is_new = |note: &&RuleError| places.insert((note.range.start, note.message.clone()));
    let notes = rules
        .iter()
        .flat_map(|rule| rule.notes().iter().chain(rule.omitted_rules()))
        .filter(is_new);
    let notes = notes.take(KEYS_MAX).map(note).collect();
    Ok((rules, notes))
}

/// Reports whether an error names one of the files that are missing.
fn is_about_missing(error: &RuleError, missing: &[String]) -> bool {
    let text = error.to_string();
    let stem = |name: &String| Some(Path::new(name).file_stem()?.to_str()?.to_owned());
    missing.iter().filter_map(stem).any(|stem| text.contains(&stem))
}

fn family_named(name: &str) -> Result<Family, Refusal> {
    Family::ALL.into_iter().find(|family| family.name() == name).ok_or_else(|| {
        let names = Family::ALL.map(Family::name).join(", ");
        Refusal::BadRule(format!("`{name}` is not a family of rules; use one of {names}"))
    })
}

impl Question for RulesOverQuery {
    fn reads_lines(&self) -> bool {
        let mut rules = self.rules.iter().chain(&self.against);
        rules.any(|rule| rule.observe_lines().is_some())
    }

    fn lines_gone(&self) -> Option<&str> {
        self.lines_gone.as_deref()
    }

    fn answer(
        &self,
        ReplyTo { panel, query, .. }: ReplyTo,
        work: &QuestionWork,
        should_stop: &AtomicBool,
    ) -> Result<Option<LiveReply>, Refusal> {
        let QuestionWork { data, session, files, feed, .. } = work;
        let jobs = session.jobs();
        let settled = self.query.settled_for(&**data)?;
        let memory_bytes_max = data.memory_bytes_max();
        let feed = feed.as_deref();
        let lines = SourceReader { session, files, feed, memory_bytes_max, should_stop };
        // Both texts together over the same records, so that the comparison matches the answer.
        let all: Vec<&dyn Rule> =
            self.rules.iter().chain(&self.against).map(|rule| &**rule).collect();
        let rules = (&all[..], &lines as &dyn SourceLines);
        let _caches = CachesOfAnswer(&self.budget);
        let answers = replay_rules(data, &settled, rules, &self.options, jobs, should_stop)?;
        let Some(mut answers) = answers else { return Ok(None) };
        // Patterns of dates are compiled when they are first needed. One that was refused finds
        // nothing, so that the answer is wrong.
        if let Some(refusal @ PatternRefusal::NoRoom { .. }) = self.budget.refusal() {
            return Err(Refusal::BadRule(ParseError::Patterns(refusal).to_string()));
        }
        if should_stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let others = answers.split_off(self.rules.len());
        if let Some(error) = unanswered(&answers) {
            return Err(Refusal::BadRule(error.to_string()));
        }
        // A rule without an answer rejects nothing, so the sums of its text would be wrong.
        let mut all = answers.iter().chain(&others);
        let is_compared = !others.is_empty() && all.all(|answer| answer.unanswered.is_none());
        let comparison = is_compared.then(|| compare_rules(&others, &answers));
        let rules = answers.into_iter().map(page_answer).collect();
        let (notes, complete) = (self.notes.clone(), work.complete);
        let answer = Some(Box::new(RulesAnswer { rules, notes, comparison, complete }));
        let (error, place, lines) = (None, None, None);
        Ok(Some(LiveReply::Rules { panel, query, answer, error, place, lines }))
    }
}

/// Drops the caches of patterns at the end of an answer, so that a panel does not keep them from
/// others.
struct CachesOfAnswer<'a>(&'a PatternBudget);

impl Drop for CachesOfAnswer<'_> {
    fn drop(&mut self) {
        self.0.drop_caches();
    }
}

/// Returns the part of an answer that a page shows.
fn page_answer(answered: weir_query::RuleAnswer) -> RuleAnswer {
    let weir_query::RuleAnswer { rule, curve, grid, collateral, unknown_records, .. } = answered;
    let (bans, alerts) = (rule.bans.len() as u64, rule.alerts.len() as u64);
    let mut answer = RuleAnswer { rule, curve, grid, collateral, bans, alerts, unknown_records };
    answer.truncate(KEYS_MAX);
    answer
}

/// Returns why the first rule was not replayed, if none was.
fn unanswered(answers: &[weir_query::RuleAnswer]) -> Option<&RuleQueryError> {
    let is_unanswered = |answer: &weir_query::RuleAnswer| answer.unanswered.is_some();
    answers.first().filter(|_| answers.iter().all(is_unanswered))?.unanswered.as_ref()
}
