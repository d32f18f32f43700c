//! Decides about one request by the rules, in the order of their phases.

use std::collections::HashMap;

use weir_core::{Record, RecordFields};

use super::language::{AllowScope, Directive, Disruption, PHASE_LOGGING, SecRule, SetVariable};
use super::operator::Operator;
use super::variable::{Request, Source};
use crate::files::RuleFiles;

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

    /// Returns the number of the rule that denies a request. Skips rules that need a field which
    /// the records lack, as given by `lacking` for each rule number. Appends the numbers of the
    /// matching rules that test the request itself to `matched`.
    pub(super) fn evaluate(
        &self,
        record: &Record<'_>,
        fields: &RecordFields,
        lacking: &[bool],
        matched: &mut Vec<u32>,
    ) -> Option<u32> {
        let request = Request::new(record);
        let mut variables = Variables::new();
        let mut allowed_phase = 0;
        for phase in 1..=PHASE_LOGGING {
            if phase <= allowed_phase {
                continue;
            }
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
                    && links.iter().all(|link| {
                        let ends = !link.is_chained && first.disruption != Disruption::Pass;
                        matches(link, ends, &request, record, fields, &mut variables)
                    });
                if !has_matched {
                    continue;
                }
                let is_of_request =
                    |link: &SecRule| link.variables.iter().any(|it| !it.source.is_transaction());
                if links.iter().any(is_of_request) {
                    matched.push(number);
                }
                match first.disruption {
                    Disruption::Deny => return Some(number),
                    Disruption::Allow(scope) => {
                        allowed_phase = scope.last_phase(phase);
                        break;
                    }
                    Disruption::Pass | Disruption::Block => {}
                }
                skipped_to = first.skip_after.as_deref();
            }
        }
        None
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

impl Source {
    fn is_transaction(&self) -> bool {
        matches!(self, Self::Transaction(_))
    }
}

/// Whether a link matches. Its variables are set once for each matching value, as
/// `execute_operator` of ModSecurity 2.9 does, or only for the first value if it `ends` the rule.
fn matches(
    rule: &SecRule,
    ends: bool,
    request: &Request,
    record: &Record<'_>,
    fields: &RecordFields,
    variables: &mut Variables,
) -> bool {
    if rule.variables.is_empty() {
        rule.sets.iter().for_each(|set| change(variables, set));
        return true;
    }
    let mut has_matched = false;
    for value in targets(rule, request, record, fields, variables) {
        if !accepts(rule, value, variables) {
            continue;
        }
        has_matched = true;
        rule.sets.iter().for_each(|set| change(variables, set));
        if ends || rule.sets.is_empty() {
            break;
        }
    }
    has_matched
}

/// The values that a link tests.
fn targets(
    rule: &SecRule,
    request: &Request,
    record: &Record<'_>,
    fields: &RecordFields,
    variables: &Variables,
) -> Vec<Vec<u8>> {
    let excluded = rule.variables.iter().filter(|variable| variable.is_excluded);
    let excluded: Vec<&Source> = excluded.map(|variable| &variable.source).collect();
    let mut targets = Vec::new();
    for variable in rule.variables.iter().filter(|variable| !variable.is_excluded) {
        let values = match &variable.source {
            Source::Transaction(name) => variables
                .get(name)
                .map(|value| value.to_string().into_bytes())
                .into_iter()
                .collect(),
            source => request.values(source, record, fields, &excluded),
        };
        if variable.is_count {
            targets.push(values.len().to_string().into_bytes());
        } else {
            targets.extend(values);
        }
    }
    targets
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
    if set.operator == '!' {
        variables.remove(&set.name);
        return;
    }
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
