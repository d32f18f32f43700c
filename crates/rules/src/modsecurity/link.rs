//! Tests the links of a rule.

use super::exclusion::EngineMode;
use super::expression::Search;
use super::language::PHASE_LOGGING;
use super::operator::Operator;
use super::sec_rule::{Disruption, SecRule};
use super::transaction::{Transaction, VALUE_BYTES_MAX, Value};
use super::variable::{Source, Variable};

/// The most searches for a request that may take too many steps. Then no expression that backtracks
/// is tried.
const ABANDONED_MAX: u64 = 8;

/// Whether all links of a rule match.
pub(super) fn has_matched<'a>(
    number: u32,
    links: &'a [SecRule],
    transaction: &mut Transaction<'a>,
) -> bool {
    let Some(excluded) = transaction.excluded(number) else { return false };
    transaction.begin_rule();
    links.iter().enumerate().all(|(at, rule)| {
        // Later links have no id, by which ModSecurity 2.9 finds the rules of an exclusion.
        let excluded = if at == 0 { &excluded[..] } else { &[] };
        let own = rule.variables.iter().filter(|variable| variable.is_excluded);
        let own = own.map(|variable| &variable.source);
        let excluded: Vec<&Source> = own.chain(excluded.iter().copied()).collect();
        let operator = rule.dynamic_operator.as_ref().map(|(operator, argument)| {
            let argument = argument.text(transaction);
            operator(argument)
        });
        let operator = operator.as_ref().unwrap_or(&rule.operator);
        let disruption = links[0].disruption;
        LinkTest { rule, operator, excluded, disruption }.has_matched(transaction)
    })
}

/// The test of a link for a request.
struct LinkTest<'a, 't> {
    rule: &'a SecRule,
    operator: &'t Operator,
    /// The variables that are not tested.
    excluded: Vec<&'a Source>,
    /// The effect of the whole rule.
    disruption: Disruption,
}

impl<'a> LinkTest<'a, '_> {
    /// Whether the link matches. Its actions are done once for each matching value, as
    /// `execute_operator` of ModSecurity 2.9 does, until one ends the transaction.
    fn has_matched(&self, transaction: &mut Transaction<'a>) -> bool {
        if self.rule.variables.is_empty() {
            // ModSecurity 2.9 reads `SecAction` as a rule about `REMOTE_ADDR`.
            let client = transaction.request.client();
            self.act(client, Vec::new(), transaction);
            return true;
        }
        let is_tested =
            |it: &&Variable| !it.is_excluded && transaction.binding.has_source(&it.source);
        let tested: Vec<&Variable> = self.rule.variables.iter().filter(is_tested).collect();
        // Those that the actions may change are read before.
        let derived = tested.iter().filter(|variable| variable.source.is_derived());
        let early: Vec<Vec<Value>> =
            derived.map(|variable| self.targets(variable, transaction)).collect();
        let mut early = early.into_iter();
        let mut has_matched = false;
        for variable in tested {
            let targets = match variable.source.is_derived() {
                true => early.next().unwrap_or_default(),
                false => self.targets(variable, transaction),
            };
            for target in targets {
                has_matched |= self.target_matches(target, transaction);
                if transaction.is_ended() || has_matched && self.is_decided(transaction) {
                    return has_matched;
                }
            }
        }
        has_matched
    }

    /// The values of a variable, or their number.
    fn targets(&self, variable: &Variable, transaction: &mut Transaction<'a>) -> Vec<Value> {
        let values = transaction.values(&variable.source, &self.excluded);
        if variable.is_count { vec![values.len().to_string().into_bytes().into()] } else { values }
    }

    /// Whether the link matches a value after all transformations, or after some of them if it tests
    /// each step.
    fn target_matches(&self, target: Value, transaction: &mut Transaction<'a>) -> bool {
        let bytes_max = target.len().max(VALUE_BYTES_MAX);
        let (mut value, mut has_matched) = (target, false);
        let mut is_new = true;
        for transform in &self.rule.transforms {
            if self.rule.tests_each_step && is_new {
                has_matched |= self.value_matches(&value, transaction);
                if has_matched && self.is_decided(transaction) {
                    return true;
                }
            }
            if !transaction.works(value.len()) {
                return has_matched;
            }
            let mut next = transform(&value);
            // Some transformations make a value longer, so that a few in turn would fill the memory.
            next.truncate(bytes_max);
            is_new = next[..] != value[..];
            if is_new {
                value = next.into();
            }
        }
        let is_tested = is_new || !self.rule.tests_each_step;
        is_tested && self.value_matches(&value, transaction) || has_matched
    }

    /// Whether the link matches a value. If so, does its actions.
    fn value_matches(&self, value: &Value, transaction: &mut Transaction<'a>) -> bool {
        if !transaction.works(self.operator.work(value.len())) {
            return false;
        }
        let groups = self.groups(value, &mut transaction.abandoned);
        let has_matched = groups.is_some();
        if let Some(groups) = groups {
            self.act(value.clone(), groups, transaction);
        }
        has_matched
    }

    /// The texts of the groups of a value, if the link accepts it. Counts searches that are abandoned.
    fn groups(&self, value: &[u8], abandoned: &mut u64) -> Option<Vec<Vec<u8>>> {
        let search = if self.operator.backtracks() && *abandoned >= ABANDONED_MAX {
            Search::TooSlow
        } else {
            self.operator.search(value, self.rule.captures)
        };
        match (search, self.rule.is_negated) {
            (Search::Match(groups), false) => Some(groups),
            (Search::Nothing, true) => Some(Vec::new()),
            (Search::Match(_), true) | (Search::Nothing, false) => None,
            (Search::TooSlow, _) => {
                *abandoned += 1;
                None
            }
        }
    }

    /// Does what the link does for each value that it matches.
    fn act(&self, value: Value, groups: Vec<Vec<u8>>, transaction: &mut Transaction<'a>) {
        if self.rule.captures {
            transaction.capture(groups);
        }
        transaction.note_match(value);
        self.rule.sets.iter().for_each(|set| transaction.change(set));
        self.rule.controls.iter().for_each(|control| transaction.control(control));
    }

    /// Whether other values make no difference after a match.
    fn is_decided(&self, transaction: &Transaction<'a>) -> bool {
        let rule = self.rule;
        let has_effects = rule.captures || !rule.sets.is_empty() || !rule.controls.is_empty();
        let ends = match self.disruption {
            Disruption::Deny | Disruption::Allow(_) => {
                transaction.mode == EngineMode::On && rule.phase < PHASE_LOGGING
            }
            Disruption::Pass | Disruption::Block => false,
        };
        !rule.is_chained && (ends || !has_effects)
    }
}
