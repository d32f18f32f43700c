//! Decides about one request by the rules, in the order of their phases.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{Record, RecordFields};

use super::exclusion::{Control, EngineMode, Exclusion};
use super::expression::Search;
use super::language::{AllowScope, Directive, Disruption, PHASE_LOGGING, SecRule};
use super::operator::Operator;
use super::transaction::{Transaction, number};
use super::variable::{Source, Variable};
use crate::files::RuleFiles;

/// The variables with the sum of a request's scores: those of versions 4 and 3 of the OWASP Core
/// Rule Set.
const SCORES: [&str; 2] = ["blocking_inbound_anomaly_score", "anomaly_score"];

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
    pub(super) fn new(directives: Vec<Directive>) -> Self {
        let mut rules = Self::default();
        let mut is_chained = false;
        for directive in directives {
            match directive {
                Directive::Marker(name) => rules.steps.push(Step::Marker(name)),
                Directive::Exclude(exclusion) => rules.exclude(&exclusion),
                Directive::Rule(rule) => {
                    let continues = std::mem::replace(&mut is_chained, rule.is_chained);
                    match rules.steps.last_mut() {
                        Some(Step::Rule(_, links)) if continues => links.push(*rule),
                        _ => rules.steps.push(Step::Rule(0, vec![*rule])),
                    }
                }
            }
        }
        for step in &mut rules.steps {
            if let Step::Rule(number, _) = step {
                *number = rules.count;
                rules.count += 1;
            }
        }
        rules
    }

    /// Removes rules, or variables of them.
    fn exclude(&mut self, exclusion: &Exclusion) {
        self.steps.retain_mut(|step| {
            let Step::Rule(_, links) = step else { return true };
            match (&exclusion.targets, links.first_mut()) {
                (targets, Some(first)) if exclusion.has(first) => {
                    let variable = |source: &Source| Variable {
                        source: source.clone(),
                        is_count: false,
                        is_excluded: true,
                    };
                    first.variables.extend(targets.iter().flatten().map(variable));
                    targets.is_some()
                }
                _ => true,
            }
        });
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

    /// The names of the transaction's variables that rules set.
    pub(super) fn set_names(&self) -> HashSet<&str> {
        let sets = self.all().flatten().flat_map(|rule| &rule.sets);
        sets.map(|set| &*set.name).collect()
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
        for step in &self.steps {
            let (number, links) = match step {
                Step::Marker(name) => {
                    skipped_to.take_if(|marker| marker == name);
                    continue;
                }
                Step::Rule(number, links) => (*number, links),
            };
            let Some(first) = links.first().filter(|first| first.phase == phase) else { continue };
            let is_told = skipped_to.is_none()
                && links.iter().all(|link| link.obstacle.is_none())
                && !lacking.get(number as usize).copied().unwrap_or(false);
            if !is_told || !self.has_matched(links, transaction) {
                continue;
            }
            if first.is_logged && links.iter().any(|link| !link.variables.is_empty()) {
                evaluation.matched.push(number);
            }
            for control in links.iter().flat_map(|link| &link.controls) {
                match control {
                    Control::Exclude(exclusion) => transaction.exclusions.push(exclusion),
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

    /// Whether all links of a rule match.
    fn has_matched<'a>(&'a self, links: &'a [SecRule], transaction: &mut Transaction<'a>) -> bool {
        let Some(first) = links.first() else { return false };
        let mut excluded: Vec<&Source> = Vec::new();
        for exclusion in transaction.exclusions.iter().filter(|exclusion| exclusion.has(first)) {
            match &exclusion.targets {
                None => return false,
                Some(targets) => excluded.extend(targets),
            }
        }
        transaction.matched.clear();
        links.iter().all(|link| {
            let ends = !link.is_chained && first.disruption != Disruption::Pass;
            self.link_matches(link, ends, &excluded, transaction)
        })
    }

    /// Whether a link matches. Its variables are set once for each matching value, as
    /// `execute_operator` of ModSecurity 2.9 does, or only for the first value if it `ends` the
    /// rule.
    fn link_matches(
        &self,
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
                let Some(groups) = self.groups(rule, operator, &value) else { continue };
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

    /// The texts of the groups of a value, if the rule accepts it.
    fn groups(&self, rule: &SecRule, operator: &Operator, value: &[u8]) -> Option<Vec<Vec<u8>>> {
        match (operator.search(value, rule.captures), rule.is_negated) {
            (Search::Match(groups), false) => Some(groups),
            (Search::Nothing, true) => Some(Vec::new()),
            (Search::Match(_), true) | (Search::Nothing, false) => None,
            (Search::TooSlow, _) => {
                self.abandoned.fetch_add(1, Ordering::Relaxed);
                None
            }
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
    let mut stages = vec![value];
    for transform in &rule.transforms {
        let last = stages.last().map(|value| transform(value)).unwrap_or_default();
        if !rule.tests_each_step {
            stages.clear();
        } else if stages.last() == Some(&last) {
            continue;
        }
        stages.push(last);
    }
    stages
}
