//! Decides about one request by the rules, in the order of their phases.

use std::collections::HashMap;

use weir_core::{Record, RecordFields};

use super::language::{Directive, Disruption, SecRule, SetVariable};
use super::operator::Operator;
use super::variable::{Request, Source};
use crate::files::RuleFiles;

/// The last phase.
const PHASE_MAX: u8 = 5;

/// A step of the evaluation.
#[derive(Debug)]
enum Step {
    /// A rule with the other links of its chain; the number is that of the rule.
    Rule(u32, Vec<SecRule>),
    Marker(String),
}

/// The rules in the order of the text, with what `block` does in each phase.
#[derive(Debug, Default)]
pub(super) struct Rules {
    steps: Vec<Step>,
    defaults: [Option<Disruption>; PHASE_MAX as usize + 1],
    /// The number of rules.
    pub(super) count: u32,
}

/// The variables of a transaction.
type Variables = HashMap<String, i64>;

impl Rules {
    pub(super) fn new(directives: Vec<Directive>) -> Self {
        let mut rules = Self::default();
        let mut is_chained = false;
        for directive in directives {
            match directive {
                Directive::Marker(name) => rules.steps.push(Step::Marker(name)),
                Directive::Default(phase, disruption) => {
                    rules.defaults[usize::from(phase)] = Some(disruption);
                }
                Directive::Rule(rule) => {
                    let continues = std::mem::replace(&mut is_chained, rule.is_chained);
                    match rules.steps.last_mut() {
                        Some(Step::Rule(_, links)) if continues => links.push(*rule),
                        _ => {
                            rules.steps.push(Step::Rule(rules.count, vec![*rule]));
                            rules.count += 1;
                        }
                    }
                }
            }
        }
        rules
    }

    /// The rules with the links of their chains, by number.
    pub(super) fn all(&self) -> impl Iterator<Item = &[SecRule]> {
        self.steps.iter().filter_map(|step| match step {
            Step::Rule(_, links) => Some(&links[..]),
            Step::Marker(_) => None,
        })
    }

    /// Whether a rule denies what it matches.
    pub(super) fn denies(&self, rule: &SecRule) -> bool {
        let default = self.defaults[usize::from(rule.phase)].unwrap_or(Disruption::Pass);
        let disruption = match rule.disruption {
            Disruption::Block => default,
            disruption => disruption,
        };
        disruption == Disruption::Deny
    }

    /// The number of the rule that denies a request. Rules that need a field which the records lack
    /// are left out; `lacking` has them by number. The numbers of the rules that match and look
    /// at the request itself are put into `matched`.
    pub(super) fn evaluate(
        &self,
        record: &Record<'_>,
        (fields, lacking): (&RecordFields, &[bool]),
        matched: &mut Vec<u32>,
    ) -> Option<u32> {
        let request = Request::new(record);
        let mut variables = Variables::new();
        for phase in 1..=PHASE_MAX {
            let mut skipped_to: Option<&str> = None;
            for step in &self.steps {
                let (number, links) = match step {
                    Step::Marker(name) => {
                        skipped_to.take_if(|marker| marker == name);
                        continue;
                    }
                    Step::Rule(number, links) => (*number, links),
                };
                let Some(first) = links.first().filter(|first| first.phase == phase) else {
                    continue;
                };
                let is_told = links.iter().all(|link| link.obstacle.is_none())
                    && !lacking.get(number as usize).copied().unwrap_or(false);
                let has_matched = skipped_to.is_none()
                    && is_told
                    && links
                        .iter()
                        .all(|link| matches(link, &request, (record, fields), &mut variables));
                if !has_matched {
                    continue;
                }
                let is_of_request =
                    |link: &SecRule| link.variables.iter().any(|it| !it.source.is_transaction());
                if links.iter().any(is_of_request) {
                    matched.push(number);
                }
                if self.denies(first) {
                    return Some(number);
                }
                if first.disruption == Disruption::Allow {
                    return None;
                }
                skipped_to = first.skip_after.as_deref();
            }
        }
        None
    }
}

impl Source {
    fn is_transaction(&self) -> bool {
        matches!(self, Self::Transaction(_))
    }
}

/// Whether a link matches; if so, its variables are set.
fn matches(
    rule: &SecRule,
    request: &Request,
    (record, fields): (&Record<'_>, &RecordFields),
    variables: &mut Variables,
) -> bool {
    let excluded = rule.variables.iter().filter(|variable| variable.is_excluded);
    let excluded: Vec<&Source> = excluded.map(|variable| &variable.source).collect();
    let is_action = rule.variables.is_empty();
    let mut included = rule.variables.iter().filter(|variable| !variable.is_excluded);
    let has_matched = is_action
        || included.any(|variable| {
            let values = match &variable.source {
                Source::Transaction(name) => variables
                    .get(name)
                    .map(|value| value.to_string().into_bytes())
                    .into_iter()
                    .collect(),
                source => request.values(source, record, fields, &excluded),
            };
            let values = match variable.is_count {
                true => vec![values.len().to_string().into_bytes()],
                false => values,
            };
            values.into_iter().any(|value| accepts(rule, value, variables))
        });
    if has_matched {
        for set in &rule.sets {
            change(variables, set);
        }
    }
    has_matched
}

fn accepts(rule: &SecRule, value: Vec<u8>, variables: &Variables) -> bool {
    let value = rule.transforms.iter().fold(value, |value, transform| transform(&value));
    let accepted = match &rule.operator {
        Operator::Variable(name, variable) => {
            let number = variables.get(variable).copied().unwrap_or(0).to_string();
            Operator::new(name, &number, &RuleFiles::default())
                .is_ok_and(|operator| operator.accepts(&value))
        }
        operator => operator.accepts(&value),
    };
    accepted != rule.is_negated
}

fn change(variables: &mut Variables, set: &SetVariable) {
    let of_variable = set.value.strip_prefix("%{tx.").and_then(|text| text.strip_suffix('}'));
    let value = match of_variable {
        Some(name) => variables.get(name).copied(),
        None => set.value.parse().ok(),
    };
    let value = value.unwrap_or(0);
    let known = variables.entry(set.name.clone()).or_insert(0);
    *known = match set.operator {
        '+' => known.saturating_add(value),
        '-' => known.saturating_sub(value),
        _ => value,
    };
}
