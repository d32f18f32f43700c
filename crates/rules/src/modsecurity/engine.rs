//! Decides about one request by the rules, in the order of their phases.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_core::{PatternBudget, Record};

use super::binding::Binding;
use super::exclusion::{Control, EngineMode, Exclusion};
use super::language::{Directive, PHASE_LOGGING};
use super::link::has_matched;
use super::rule_index::RuleIndex;
use super::sec_rule::{AllowScope, Disruption, SecRule};
use super::transaction::{Transaction, WORK_MAX, number};
use super::variable::{Source, Variable};
use crate::error::RuleError;

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
#[derive(Debug)]
pub(super) struct Rules {
    steps: Vec<Step>,
    /// By phase from 1, the numbers of the steps of its rules, and of the markers.
    phases: [Vec<usize>; PHASE_LOGGING as usize],
    /// The number of rules.
    pub(super) count: u32,
    /// The variables that a transaction begins with.
    pub(super) initial: Vec<(String, Vec<u8>)>,
    /// The most work for a request; see [`WORK_MAX`].
    pub(super) work_max: u64,
    budget: PatternBudget,
    /// The number of searches that took too many steps.
    abandoned: AtomicU64,
    /// The number of requests that took too much work.
    cut: AtomicU64,
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
    pub(super) fn new(
        directives: Vec<Directive>,
        budget: &PatternBudget,
    ) -> Result<Self, RuleError> {
        let (steps, phases, count, initial, abandoned, cut) = Default::default();
        let (work_max, budget) = (WORK_MAX, budget.clone());
        let mut rules = Self { steps, phases, count, initial, work_max, budget, abandoned, cut };
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

    /// The number of requests so far that were not evaluated to the end.
    pub(super) fn cut(&self) -> u64 {
        self.cut.load(Ordering::Relaxed)
    }

    /// Begins to count again.
    pub(super) fn reset_counts(&self) {
        self.abandoned.store(0, Ordering::Relaxed);
        self.cut.store(0, Ordering::Relaxed);
    }

    /// Evaluates the rules for a request, as far as its record has what they test.
    pub(super) fn evaluate(&self, record: &Record<'_>, binding: &Binding) -> Evaluation {
        let mut transaction = Transaction::new(record, binding, &self.budget);
        transaction.work_left = self.work_max;
        for (name, value) in &self.initial {
            transaction.set(name, value[..].into());
        }
        let mut evaluation = Evaluation::default();
        let mut allowed_phase = 0;
        for phase in 1..=PHASE_LOGGING {
            if phase > allowed_phase && transaction.mode != EngineMode::Off {
                if phase == 2 {
                    transaction.request.decode();
                }
                allowed_phase = self.run(phase, &mut transaction, &mut evaluation);
            }
            if evaluation.denied.is_some() || transaction.is_ended() {
                break;
            }
        }
        self.abandoned.fetch_add(transaction.abandoned, Ordering::Relaxed);
        self.cut.fetch_add(u64::from(transaction.is_cut), Ordering::Relaxed);
        evaluation.score =
            SCORES.iter().find_map(|name| transaction.variable(name)).map(|value| number(&value));
        evaluation
    }

    /// Evaluates the rules of a phase. Returns the last phase of which the rules are skipped.
    fn run<'a>(
        &'a self,
        phase: u8,
        transaction: &mut Transaction<'a>,
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
            if skipped_to.is_some() {
                // The id of a rule is a marker after it.
                skipped_to.take_if(|marker| *marker == first.id);
                continue;
            }
            let is_told = links.iter().all(|link| link.obstacle.is_none())
                && !transaction.binding.leaves_out(number);
            let has_matched = is_told && has_matched(number, links, transaction);
            if transaction.is_ended() || transaction.mode == EngineMode::Off {
                return PHASE_LOGGING;
            }
            if !has_matched {
                continue;
            }
            if first.is_logged {
                evaluation.matched.push(number);
            }
            match first.disruption {
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

fn too_many_exclusions(place: Range<usize>) -> RuleError {
    let message = "the rules exclude others millions of times; exclude them once, by a range of ids \
                   such as `100000-100999`";
    RuleError::new(place, message)
}
