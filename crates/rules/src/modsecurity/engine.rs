//! Decides about one request by the rules, in the order of their phases.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{Record, RecordFields};

use super::exclusion::{Control, EngineMode, Exclusion};
use super::expression::Search;
use super::language::{AllowScope, Directive, Disruption, PHASE_LOGGING, SecRule};
use super::operator::Operator;
use super::rule_index::RuleIndex;
use super::transaction::{Transaction, VALUE_BYTES_MAX, number};
use super::variable::{Source, Variable};
use crate::error::RuleError;
use crate::files::RuleFiles;

/// The variables with the sum of a request's scores: those of versions 4 and 3 of the OWASP Core
/// Rule Set.
const SCORES: [&str; 2] = ["blocking_inbound_anomaly_score", "anomaly_score"];

/// The most searches for a request that may take too many steps. Then no expression that backtracks
/// is tried.
const ABANDONED_MAX: u64 = 8;

/// A step of the evaluation.
#[derive(Debug)]
enum Step {
    /// A rule with the other links of its chain; the number is that of the rule.
    Rule(u32, Vec<SecRule>),
    Marker(String),
}

/// The rules in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Rules {
    steps: Vec<Step>,
    /// By phase from 1, the numbers of the steps of its rules, and of the markers.
    phases: [Vec<usize>; PHASE_LOGGING as usize],
    /// The number of rules.
    pub(super) count: u32,
    /// The variables that a transaction begins with.
    pub(super) initial: Vec<(String, Vec<u8>)>,
    /// The number of searches that took too many steps.
    abandoned: AtomicU64,
}

/// What the rules do with a request.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    /// The number of the rule that denies it.
    pub(super) denied: Option<u32>,
    /// The numbers of the rules that match and are logged.
    pub(super) matched: Vec<u32>,
    /// The sum of the scores, if the rules have one.
    pub(super) score: Option<i64>,
}

impl Rules {
    /// # Errors
    /// If rules exclude too many others.
    pub(super) fn new(directives: Vec<Directive>) -> Result<Self, RuleError> {
        let mut rules = Self::default();
        let (mut index, mut is_chained) = (RuleIndex::default(), false);
        for directive in directives {
            match directive {
                Directive::Marker(name) => rules.steps.push(Step::Marker(name)),
                Directive::Exclude(exclusion, place) => {
                    let numbers = index.find(&exclusion.rules);
                    let numbers = numbers.ok_or_else(|| too_many_exclusions(place))?;
                    numbers.iter().for_each(|number| rules.exclude(*number, &exclusion));
                }
                Directive::Rule(rule) => {
                    let continues = std::mem::replace(&mut is_chained, rule.is_chained);
                    match rules.steps.last_mut() {
                        // The first link of a chain may have been removed.
                        Some(Step::Rule(_, links)) if continues && links.is_empty() => {}
                        Some(Step::Rule(_, links)) if continues => links.push(*rule),
                        _ => {
                            index.add(rules.steps.len() as u32, &rule);
                            rules.steps.push(Step::Rule(0, vec![*rule]));
                        }
                    }
                }
            }
        }
        rules.number()?;
        Ok(rules)
    }

    /// Removes a rule, or excludes variables from it, by the number of its step.
    fn exclude(&mut self, step: u32, exclusion: &Exclusion) {
        let Some(Step::Rule(_, links)) = self.steps.get_mut(step as usize) else { return };
        let Some(targets) = &exclusion.targets else { return links.clear() };
        let variable = |source: &Source| Variable {
            source: source.clone(),
            is_count: false,
            is_excluded: true,
        };
        if let Some(first) = links.first_mut() {
            first.variables.extend(targets.iter().map(variable));
        }
    }

    /// Numbers the rules that were not removed, and finds those that others exclude.
    ///
    /// # Errors
    /// If there are too many exclusions.
    fn number(&mut self) -> Result<(), RuleError> {
        self.steps.retain(|step| !matches!(step, Step::Rule(_, links) if links.is_empty()));
        let mut index = RuleIndex::default();
        for (at, step) in self.steps.iter_mut().enumerate() {
            match step {
                Step::Marker(_) => self.phases.iter_mut().for_each(|steps| steps.push(at)),
                Step::Rule(number, links) => {
                    *number = self.count;
                    self.count += 1;
                    index.add(*number, &links[0]);
                    self.phases[usize::from(links[0].phase) - 1].push(at);
                }
            }
        }
        for step in &mut self.steps {
            let Step::Rule(_, links) = step else { continue };
            for link in links {
                for control in &mut link.controls {
                    let Control::Exclude(exclusion) = control else { continue };
                    let numbers = index.find(&exclusion.rules);
                    exclusion.numbers =
                        numbers.ok_or_else(|| too_many_exclusions(link.range.clone()))?;
                }
            }
        }
        Ok(())
    }

    /// The rules with the links of their chains, by number.
    pub(super) fn all(&self) -> impl Iterator<Item = &[SecRule]> {
        self.steps.iter().filter_map(|step| match step {
            Step::Rule(_, links) => Some(&links[..]),
            Step::Marker(_) => None,
        })
    }

    /// The number of searches so far that were given up.
    pub(super) fn abandoned(&self) -> u64 {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// Evaluates the rules for a request. Skips rules that need a field which the records lack, as
    /// given by `lacking` for each rule number.
    pub(super) fn evaluate(
        &self,
        record: &Record<'_>,
        fields: &RecordFields,
        lacking: &[bool],
    ) -> Evaluation {
        let mut transaction = Transaction::new(record, fields);
        transaction.variables.extend(self.initial.iter().cloned());
        let mut evaluation = Evaluation::default();
        let mut allowed_phase = 0;
        for phase in 1..=PHASE_LOGGING {
            if phase > allowed_phase && transaction.mode != EngineMode::Off {
                transaction.request.is_decoded = phase > 1;
                allowed_phase = self.run(phase, &mut transaction, lacking, &mut evaluation);
            }
            if evaluation.denied.is_some() {
                break;
            }
        }
        self.abandoned.fetch_add(transaction.abandoned, Ordering::Relaxed);
        let score = |name: &&str| transaction.variables.get(*name).map(|value| number(value));
        evaluation.score = SCORES.iter().find_map(score);
        evaluation
    }

    /// Evaluates the rules of a phase. Returns the last phase of which the rules are skipped.
    fn run<'a>(
        &'a self,
        phase: u8,
        transaction: &mut Transaction<'a>,
        lacking: &[bool],
        evaluation: &mut Evaluation,
    ) -> u8 {
        let mut skipped_to: Option<&str> = None;
        for at in &self.phases[usize::from(phase) - 1] {
            let (number, links) = match &self.steps[*at] {
                Step::Marker(name) => {
                    skipped_to.take_if(|marker| marker == name);
                    continue;
                }
                Step::Rule(number, links) => (*number, links),
            };
            let Some(first) = links.first() else { continue };
            let is_told = skipped_to.is_none()
                && links.iter().all(|link| link.obstacle.is_none())
                && !lacking.get(number as usize).copied().unwrap_or(false);
            if !is_told || !has_matched(number, links, transaction) {
                continue;
            }
            if first.is_logged && links.iter().any(|link| !link.variables.is_empty()) {
                evaluation.matched.push(number);
            }
            for control in links.iter().flat_map(|link| &link.controls) {
                match control {
                    Control::Exclude(exclusion) => transaction.exclude(exclusion),
                    Control::SetMode(mode) => transaction.mode = *mode,
                }
            }
            match first.disruption {
                _ if transaction.mode == EngineMode::Off => return PHASE_LOGGING,
                Disruption::Deny if transaction.mode == EngineMode::On => {
                    evaluation.denied = Some(number);
                    return PHASE_LOGGING;
                }
                Disruption::Allow(scope) => return scope.last_phase(phase),
                Disruption::Deny | Disruption::Pass | Disruption::Block => {}
            }
            skipped_to = first.skip_after.as_deref();
        }
        0
    }
}

fn too_many_exclusions(place: Range<usize>) -> RuleError {
    let message = "the rules exclude others millions of times; exclude them once, by a range of ids \
                   such as `100000-100999`";
    RuleError::new(place, message)
}

/// Whether all links of a rule match.
fn has_matched(number: u32, links: &[SecRule], transaction: &mut Transaction<'_>) -> bool {
    let Some(first) = links.first() else { return false };
    let Some(excluded) = transaction.excluded(number) else { return false };
    transaction.matched.clear();
    links.iter().all(|link| {
        let ends = !link.is_chained && first.disruption != Disruption::Pass;
        link_matches(link, ends, &excluded, transaction)
    })
}

/// Whether a link matches. Its variables are set once for each matching value, as `execute_operator`
/// of ModSecurity 2.9 does, or only for the first value if it `ends` the rule.
fn link_matches(
    rule: &SecRule,
    ends: bool,
    excluded: &[&Source],
    transaction: &mut Transaction<'_>,
) -> bool {
    if rule.variables.is_empty() {
        rule.sets.iter().for_each(|set| transaction.change(set));
        return true;
    }
    let dynamic = rule.dynamic_operator.as_ref().and_then(|(name, argument)| {
        let argument = argument.text(transaction);
        let argument = String::from_utf8_lossy(&argument);
        Operator::new(name, &argument, &RuleFiles::default()).ok()
    });
    let operator = dynamic.as_ref().unwrap_or(&rule.operator);
    let is_first_enough = ends || rule.sets.is_empty() && !rule.captures && !rule.is_chained;
    let mut matched = Vec::new();
    for target in targets(rule, excluded, transaction) {
        for value in stages(rule, target) {
            let Some(groups) = groups(rule, operator, &value, &mut transaction.abandoned) else {
                continue;
            };
            if rule.captures {
                transaction.capture(groups);
            }
            matched.push(value);
            rule.sets.iter().for_each(|set| transaction.change(set));
            if is_first_enough {
                transaction.matched = matched;
                return true;
            }
        }
    }
    let has_matched = !matched.is_empty();
    if has_matched {
        transaction.matched = matched;
    }
    has_matched
}

/// The texts of the groups of a value, if the rule accepts it. Counts searches that are abandoned.
fn groups(
    rule: &SecRule,
    operator: &Operator,
    value: &[u8],
    abandoned: &mut u64,
) -> Option<Vec<Vec<u8>>> {
    let search = if operator.backtracks() && *abandoned >= ABANDONED_MAX {
        Search::TooSlow
    } else {
        operator.search(value, rule.captures)
    };
    match (search, rule.is_negated) {
        (Search::Match(groups), false) => Some(groups),
        (Search::Nothing, true) => Some(Vec::new()),
        (Search::Match(_), true) | (Search::Nothing, false) => None,
        (Search::TooSlow, _) => {
            *abandoned += 1;
            None
        }
    }
}

impl AllowScope {
    /// The last phase whose rules are skipped after a match in a phase.
    fn last_phase(self, phase: u8) -> u8 {
        match self {
            Self::Phase => phase,
            Self::Request => phase.max(2),
            Self::Transaction => phase.max(PHASE_LOGGING - 1),
        }
    }
}

/// The values that a link tests, before their transformations.
fn targets(rule: &SecRule, excluded: &[&Source], transaction: &Transaction<'_>) -> Vec<Vec<u8>> {
    let own = rule.variables.iter().filter(|variable| variable.is_excluded);
    let excluded: Vec<&Source> =
        own.map(|variable| &variable.source).chain(excluded.iter().copied()).collect();
    let mut targets = Vec::new();
    for variable in rule.variables.iter().filter(|variable| !variable.is_excluded) {
        let values = transaction.values(&variable.source, &excluded);
        if variable.is_count {
            targets.push(values.len().to_string().into_bytes());
        } else {
            targets.extend(values);
        }
    }
    targets
}

/// The forms of a value that a link tests: the one after all transformations, or each that differs.
fn stages(rule: &SecRule, value: Vec<u8>) -> Vec<Vec<u8>> {
    let bytes_max = value.len().max(VALUE_BYTES_MAX);
    let mut stages = vec![value];
    for transform in &rule.transforms {
        let mut last = stages.last().map(|value| transform(value)).unwrap_or_default();
        // Some transformations make a value longer, so that a few in turn would fill the memory.
        last.truncate(bytes_max);
        if !rule.tests_each_step {
            stages.clear();
        } else if stages.last() == Some(&last) {
            continue;
        }
        stages.push(last);
    }
    stages
}
