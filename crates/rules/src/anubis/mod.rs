//! Policies of Anubis, as far as a log tells what they do.
//!
//! Follows `lib/anubis.go` and `lib/policy` of Anubis: of the rules in their order, the first that
//! matches and allows, denies or challenges decides. Others add weights, and the first threshold that
//! accepts their sum decides then. A challenge is a delay: who solves it passes.

mod cel;
mod policy;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use weir_core::{Record, RecordFields};

use self::policy::{Action, Bot, Policy};
pub(crate) use self::policy::{looks_like, missing_files};
use self::request::{Request, all};
use crate::deny_replay::{DenyReplay, Entries, MatchedEntries};
use crate::error::RuleError;
use crate::event::{EventHead, Events};
use crate::files::RuleFiles;
use crate::gate::{CannotEnforce, Gate, GateOptions};
use crate::report::{Exactness, LeftOutRules, Verdict};
use crate::rule::{Family, Line, MissingField, Observer, Replay, Rule};

/// The most rules whose matches are listed.
const LISTED_MAX: usize = 20;

/// The most names that are listed of the rules that are left out for one reason.
const LEFT_OUT_NAMES_MAX: usize = 5;

/// The most sums of weights that may be added to a request. Beyond it, no rejection is certain.
const SUMS_MAX: usize = 256;

/// The verdicts, by the lowest bits of a tag.
const VERDICTS: [Verdict; 4] =
    [Verdict::Passed, Verdict::Delayed, Verdict::Rejected, Verdict::Undecided];

/// A policy.
#[derive(Debug)]
pub(crate) struct Anubis {
    name: String,
    policy: Policy,
}

/// What a policy does with a request.
#[derive(Debug, PartialEq)]
struct Outcome {
    verdict: Verdict,
    /// The number of the rule, or after the rules of the threshold, that decides.
    decided_by: Option<usize>,
    weight: i64,
    /// The numbers of the rules that match.
    matched: Vec<u32>,
    /// The numbers of those that may match, because they test what the log does not have.
    possible: Vec<u32>,
}

impl Anubis {
    /// Reads a policy.
    ///
    /// # Errors
    /// If it is not well formed, or has no rule.
    pub(crate) fn parse(text: &str, name: &str, files: &RuleFiles) -> Result<Self, RuleError> {
        Ok(Self { name: name.to_owned(), policy: Policy::parse(text, files)? })
    }

    /// Decides about a request. A rule that may match is taken not to; it only keeps a rejection from
    /// being certain.
    fn decide(&self, record: &Record<'_>, fields: &RecordFields) -> Outcome {
        let mut request = Request::new(record, fields);
        let mut outcome = Outcome {
            verdict: Verdict::Passed,
            decided_by: None,
            weight: 0,
            matched: Vec::new(),
            possible: Vec::new(),
        };
        let (mut may_pass, mut possible_weights) = (false, Vec::new());
        let mut decision = None;
        for (number, bot) in self.policy.bots.iter().enumerate() {
            let conditions = bot.conditions.iter().map(|condition| request.fulfils(condition));
            // What the obstacle of a rule hinders is one of its conditions.
            let obstacle = bot.obstacle.iter().map(|_| None);
            match (all(conditions.chain(obstacle)), bot.action) {
                (Some(false), _) => {}
                (None, action) => {
                    outcome.possible.push(number as u32);
                    match action {
                        Action::Weigh(adjust) => possible_weights.push(adjust),
                        action => may_pass |= action != Action::Deny,
                    }
                }
                (Some(true), Action::Weigh(adjust)) => {
                    outcome.matched.push(number as u32);
                    outcome.weight = outcome.weight.saturating_add(adjust);
                }
                (Some(true), action) => {
                    outcome.matched.push(number as u32);
                    decision = Some((number, action));
                    break;
                }
            }
        }
        if decision.is_none() {
            let (found, possible) = self.threshold(&mut request, outcome.weight);
            decision = found;
            outcome.possible.extend(possible.iter().map(|number| self.number_of(*number)));
            may_pass |= !self.always_denies(&mut request, outcome.weight, &possible_weights);
        }
        outcome.decided_by = decision.map(|(number, _)| number);
        outcome.verdict = match decision.map_or(Action::Allow, |(_, action)| action) {
            Action::Deny if may_pass => Verdict::Undecided,
            Action::Deny => Verdict::Rejected,
            Action::Challenge | Action::Benchmark => Verdict::Delayed,
            Action::Allow | Action::Weigh(_) | Action::Import => Verdict::Passed,
        };
        outcome
    }

    /// The threshold that accepts a weight, and those before it that may accept it. Without
    /// thresholds, a weight is challenged.
    fn threshold(
        &self,
        request: &mut Request<'_>,
        weight: i64,
    ) -> (Option<(usize, Action)>, Vec<usize>) {
        request.weigh(weight);
        let mut possible = Vec::new();
        let thresholds = &self.policy.thresholds;
        if thresholds.is_empty() {
            let challenged = (self.policy.bots.len(), Action::Challenge);
            return ((weight > 0).then_some(challenged), possible);
        }
        for (number, threshold) in thresholds.iter().enumerate() {
            match request.fulfils(&threshold.condition) {
                Some(true) => {
                    let number = self.policy.bots.len() + number;
                    return (Some((number, threshold.action)), possible);
                }
                Some(false) => {}
                None => possible.push(number),
            }
        }
        (None, possible)
    }

    /// Whether the thresholds deny a request for certain, whichever of some other weights it has too.
    fn always_denies(&self, request: &mut Request<'_>, weight: i64, possible: &[i64]) -> bool {
        let mut sums = BTreeSet::from([weight]);
        for adjust in possible {
            let more: Vec<i64> = sums.iter().map(|sum| sum.saturating_add(*adjust)).collect();
            sums.extend(more);
            if sums.len() > SUMS_MAX {
                return false;
            }
        }
        sums.into_iter().all(|sum| {
            let (decision, possible) = self.threshold(request, sum);
            let denies = |number: &usize| self.policy.thresholds[*number].action == Action::Deny;
            matches!(decision, Some((_, Action::Deny))) && possible.iter().all(denies)
        })
    }

    /// The number of a threshold after those of the rules, by its position.
    fn number_of(&self, threshold: usize) -> u32 {
        (self.policy.bots.len() + threshold) as u32
    }

    fn count(&self) -> usize {
        self.policy.bots.len() + self.policy.thresholds.len().max(1)
    }

    /// The name of a rule or a threshold, by its number.
    fn title(&self, number: usize) -> String {
        let bots = &self.policy.bots;
        match (bots.get(number), self.policy.thresholds.get(number.wrapping_sub(bots.len()))) {
            (Some(bot), _) => format!("rule {}", bot.name),
            (None, Some(threshold)) => format!("threshold {}", threshold.name),
            (None, None) => "a weight above 0".to_owned(),
        }
    }
}

fn requests(count: u64) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} request{ending}")
}

fn effect(bot: &Bot) -> String {
    match bot.action {
        Action::Allow => "allows".to_owned(),
        Action::Deny => "denies".to_owned(),
        Action::Challenge => "challenges".to_owned(),
        Action::Benchmark => "shows its test page for".to_owned(),
        Action::Weigh(adjust) => format!("adds {adjust} to"),
        Action::Import => "may decide about".to_owned(),
    }
}

impl Entries for Anubis {
    fn denies(&self, _: u32) -> bool {
        true
    }

    fn verdict(&self, tag: u32) -> Verdict {
        VERDICTS[(tag % 4) as usize]
    }

    fn entry(&self, tag: u32) -> u32 {
        tag / 4
    }

    fn texts(&self) -> Vec<Option<String>> {
        (0..self.count()).map(|number| Some(self.title(number))).collect()
    }

    fn ids(&self) -> Option<Vec<&str>> {
        Some(self.policy.bots.iter().map(|bot| &*bot.name).collect())
    }

    fn notes(&self, matches: &[u64]) -> Vec<String> {
        let bots = &self.policy.bots;
        let mut notes = vec![
            "a challenge is counted as a delay; a client that solves it passes, and is not asked \
             again while it sends the cookie, which a log does not have"
                .to_owned(),
        ];
        let (certain, possible) = matches.split_at(matches.len().min(bots.len()));
        let (possible, of_thresholds) = possible.split_at(possible.len().min(bots.len()));
        for (counts, verb) in [(certain, ""), (possible, "may match: it ")] {
            let mut counted: Vec<(u64, &Bot)> =
                counts.iter().copied().zip(bots).filter(|(count, _)| *count > 0).collect();
            // Those that are left out have a table of their own.
            counted.retain(|(_, bot)| bot.obstacle.is_none());
            counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
            for (count, bot) in counted.iter().take(LISTED_MAX) {
                let (name, effect) = (&bot.name, effect(bot));
                notes.push(match verb {
                    "" => format!("rule {name} {effect} {}", requests(*count)),
                    _ => format!(
                        "rule {name} {verb}tests headers or other things that this log does not \
                         have, and {effect} what it matches of {}",
                        requests(*count)
                    ),
                });
            }
        }
        let thresholds = of_thresholds.iter().zip(&self.policy.thresholds);
        for (count, threshold) in thresholds.filter(|(count, _)| **count > 0).take(LISTED_MAX) {
            notes.push(format!(
                "threshold {} tests what this log does not have; it may decide about {}",
                threshold.name,
                requests(*count)
            ));
        }
        notes
    }

    fn exactness(&self, matches: &[u64]) -> Exactness {
        let possible = matches.get(self.policy.bots.len()..).unwrap_or_default();
        if possible.iter().any(|count| *count > 0) {
            return Exactness::Assumed;
        }
        Exactness::Bounded
    }
}

impl Rule for Anubis {
    fn name(&self) -> &str {
        &self.name
    }

    fn family(&self) -> Family {
        Family::Anubis
    }

    fn description(&self) -> String {
        let Policy { bots, thresholds, .. } = &self.policy;
        let weights = bots.iter().filter(|bot| matches!(bot.action, Action::Weigh(_))).count();
        let rules = bots.iter().filter(|bot| bot.action != Action::Import).count();
        format!("{rules} rules, of which {weights} weigh, and {} thresholds", thresholds.len())
    }

    fn notes(&self) -> &[RuleError] {
        &self.policy.notes
    }

    fn left_out(&self) -> Vec<LeftOutRules> {
        let mut by_reason: BTreeMap<String, (u64, Vec<String>)> = BTreeMap::new();
        for bot in &self.policy.bots {
            let Some(obstacle) = &bot.obstacle else { continue };
            let (rules, names) = by_reason.entry(obstacle.to_string()).or_default();
            *rules += 1;
            if names.len() < LEFT_OUT_NAMES_MAX {
                names.push(bot.name.clone());
            }
        }
        let group = |(reason, (rules, first_ids))| LeftOutRules { reason, rules, first_ids };
        by_reason.into_iter().map(group).collect()
    }

    fn bind<'r>(&'r self, fields: &RecordFields) -> Result<Box<dyn Observer + 'r>, MissingField> {
        Ok(Box::new(AnubisObserver { rule: self, fields: fields.clone() }))
    }

    fn replay<'r>(&'r self) -> Box<dyn Replay + 'r> {
        Box::new(DenyReplay::new(self))
    }

    fn gate(&self, _: &RecordFields, _: GateOptions) -> Result<Box<dyn Gate>, CannotEnforce> {
        Err(CannotEnforce::new(
            "a policy of Anubis challenges clients, which the gateway does not; enforce it in Anubis",
        ))
    }
}

/// Emits an event for each request: the verdict with the number of the rule that decides, the client,
/// and the numbers of the rules that match. Those that may match come after all others, and thresholds
/// that may accept the weight after them.
struct AnubisObserver<'r> {
    rule: &'r Anubis,
    fields: RecordFields,
}

impl Observer for AnubisObserver<'_> {
    fn observe(&mut self, line: &Line<'_>, events: &mut Events) {
        let Some(record) = line.record else { return };
        let outcome = self.rule.decide(record, &self.fields);
        let verdict = VERDICTS.iter().position(|verdict| *verdict == outcome.verdict);
        let tag = outcome.decided_by.unwrap_or(0) * 4 + verdict.unwrap_or(0);
        let bots = self.rule.policy.bots.len() as u32;
        let possible = outcome.possible.iter().map(|number| number + bots);
        let numbers: Vec<u32> = outcome.matched.iter().copied().chain(possible).collect();
        let matched = MatchedEntries::pack(Some(outcome.weight), &numbers);
        let client = record.text(weir_core::Field::Client).unwrap_or_default();
        let time_ns = record.time.map(|time| time.unix_ns);
        let head = EventHead { line: line.number, time_ns, duration_ns: 0, tag: tag as u32 };
        events.put(head, [client, &matched]);
    }
}
