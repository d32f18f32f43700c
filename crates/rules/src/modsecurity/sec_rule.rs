//! A rule, and the parts of its line that it is read from.

use std::ops::Range;

use super::arguments::Argument;
use super::exclusion::Control;
use super::operator::{MakeOperator, Operator};
use super::transaction::{SetVariable, Template};
use super::transform::{Transform, transform};
use super::variable::{Variable, variables};
use crate::error::{Reason, RuleError};
use crate::files::RuleFiles;

/// The effect of a rule on a request that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disruption {
    Deny,
    /// Skips further rules.
    Allow(AllowScope),
    Pass,
    /// Applies the preceding `SecDefaultAction`.
    Block,
}

/// The rules that `allow` skips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowScope {
    /// The rules of the same phase.
    Phase,
    /// The rules of the request phases, 1 and 2.
    Request,
    /// All rules except those of the logging phase.
    Transaction,
}

/// A rule, or a link of a chain. It begins as a copy of the last `SecDefaultAction`.
#[derive(Debug, Clone)]
pub(super) struct SecRule {
    pub(super) id: String,
    pub(super) phase: u8,
    pub(super) variables: Vec<Variable>,
    pub(super) operator: Operator,
    pub(super) is_negated: bool,
    pub(super) transforms: Vec<Transform>,
    pub(super) disruption: Disruption,
    /// Whether the rule inherits its disruption from `SecDefaultAction`.
    pub(super) inherits_disruption: bool,
    pub(super) sets: Vec<SetVariable>,
    pub(super) controls: Vec<Control>,
    pub(super) tags: Vec<String>,
    /// What makes the operator from its argument, and the argument, if it has variables.
    pub(super) dynamic_operator: Option<(MakeOperator, Template)>,
    /// Whether a match sets the variables `TX:0` to `TX:9`.
    pub(super) captures: bool,
    /// Whether the value is tested before and after each transformation.
    pub(super) tests_each_step: bool,
    /// Whether a match is written to the log of ModSecurity.
    pub(super) is_logged: bool,
    /// The marker after which evaluation continues if the rule matches.
    pub(super) skip_after: Option<String>,
    pub(super) is_chained: bool,
    /// The variables that no access log has, although the rule may match them.
    pub(super) missing: Vec<String>,
    /// The reason why the rule cannot be evaluated on a log.
    pub(super) obstacle: Option<Reason>,
    pub(super) range: Range<usize>,
}

/// The most transformations of a rule.
const TRANSFORMS_MAX: usize = 64;

impl SecRule {
    /// The actions without a `SecDefaultAction`.
    pub(super) fn new(range: Range<usize>) -> Self {
        Self {
            id: String::new(),
            phase: 2,
            variables: Vec::new(),
            operator: Operator::Always,
            is_negated: false,
            transforms: Vec::new(),
            disruption: Disruption::Pass,
            inherits_disruption: true,
            sets: Vec::new(),
            controls: Vec::new(),
            tags: Vec::new(),
            dynamic_operator: None,
            captures: false,
            tests_each_step: false,
            is_logged: true,
            skip_after: None,
            is_chained: false,
            missing: Vec::new(),
            obstacle: None,
            range,
        }
    }

    /// Reads a rule that begins with the default actions. Without variables and an operator it is a
    /// `SecAction`, which always matches.
    ///
    /// # Errors
    /// If the actions are not well formed. A test that cannot be evaluated is the obstacle of the
    /// rule.
    pub(super) fn read(
        defaults: &Self,
        name: &Argument,
        test: Option<(&Argument, &Argument)>,
        actions: Option<&Argument>,
        files: &RuleFiles,
    ) -> Result<Self, RuleError> {
        let mut rule =
            Self { range: name.range.clone(), inherits_disruption: true, ..defaults.clone() };
        let place = |reason: Reason| reason.at(actions.unwrap_or(name).range.clone());
        let split = split_actions(actions.map_or("", |actions| &actions.text)).map_err(place)?;
        // Only the operator of a rule that captures keeps groups.
        rule.captures |= split.iter().any(|(name, _)| name.eq_ignore_ascii_case("capture"));
        if let Some((named, operator)) = test {
            match variables(&named.text, files.budget()) {
                Ok((known, missing)) => (rule.variables, rule.missing) = (known, missing),
                Err(obstacle) => rule.obstacle = Some(obstacle),
            }
            rule.read_operator(&operator.text, files);
        }
        for (name, value) in split {
            rule.read_action(name, &value, files).map_err(place)?;
        }
        if rule.disruption == Disruption::Block {
            rule.disruption = defaults.disruption;
        }
        Ok(rule)
    }

    fn read_operator(&mut self, text: &str, files: &RuleFiles) {
        let text = text.trim();
        let (is_negated, text) = match text.strip_prefix('!') {
            Some(text) => (true, text.trim_start()),
            None => (false, text),
        };
        let (name, argument) = match text.strip_prefix('@') {
            Some(text) => text.split_once(char::is_whitespace).unwrap_or((text, "")),
            None => ("rx", text),
        };
        self.is_negated = is_negated;
        let argument = argument.trim_start();
        let template = Template::new(argument, files.budget());
        if template.is_dynamic() {
            return self.read_dynamic_operator(name, template);
        }
        match Operator::new(name, argument, self.captures, files) {
            Ok(operator) => self.operator = operator,
            Err(obstacle) => {
                self.obstacle.get_or_insert(obstacle);
            }
        }
    }

    /// An operator whose argument has variables.
    fn read_dynamic_operator(&mut self, name: &str, argument: Template) {
        match Operator::expanded(name).filter(|_| !argument.is_unknown()) {
            Some(operator) => self.dynamic_operator = Some((operator, argument)),
            None => self.hinder(format!(
                "the operator @{} has a variable that a log does not tell",
                name.to_ascii_lowercase()
            )),
        }
    }

    fn read_action(&mut self, name: &str, value: &str, files: &RuleFiles) -> Result<(), Reason> {
        match &*name.to_ascii_lowercase() {
            "id" => value.clone_into(&mut self.id),
            "phase" => {
                self.phase = match value {
                    "request" => 2,
                    "response" => 4,
                    "logging" => 5,
                    number => number
                        .parse()
                        .ok()
                        .filter(|phase| (1..=5).contains(phase))
                        .ok_or_else(|| format!("`{number}` is not a phase (1 to 5)"))?,
                }
            }
            "deny" | "drop" | "redirect" | "proxy" => self.disrupt(Disruption::Deny),
            "allow" => self.disrupt(Disruption::Allow(allow_scope(value)?)),
            "block" => self.disrupt(Disruption::Block),
            "pass" => self.disrupt(Disruption::Pass),
            "chain" => self.is_chained = true,
            "skipafter" => self.skip_after = Some(value.to_owned()),
            "t" if value == "none" => self.transforms.clear(),
            "t" if self.transforms.len() >= TRANSFORMS_MAX => {
                self.hinder(format!("more than {TRANSFORMS_MAX} transformations"));
            }
            "t" => match transform(value) {
                Some(transform) => self.transforms.push(transform),
                None => self.hinder(format!("the transformation t:{value} is not supported")),
            },
            "setvar" if value.split('=').next().is_some_and(|name| name.contains("%{")) => {
                self.hinder("the name of a variable that the rule sets is computed");
            }
            "setvar" => self.sets.extend(SetVariable::new(value, files.budget())),
            "tag" => self.tags.push(value.to_owned()),
            "capture" => self.captures = true,
            "multimatch" => self.tests_each_step = true,
            "log" => self.is_logged = true,
            "nolog" => self.is_logged = false,
            "ctl" => match Control::new(value, files.budget()) {
                Ok(control) => self.controls.extend(control),
                Err(obstacle) => self.hinder(obstacle),
            },
            "skip" | "exec" => self.hinder(format!("the action `{name}` is not supported")),
            _ => {}
        }
        Ok(())
    }

    /// Notes why the rule cannot be evaluated.
    fn hinder(&mut self, obstacle: impl Into<Reason>) {
        self.obstacle.get_or_insert(obstacle.into());
    }

    fn disrupt(&mut self, disruption: Disruption) {
        (self.disruption, self.inherits_disruption) = (disruption, false);
    }
}

fn allow_scope(text: &str) -> Result<AllowScope, Reason> {
    match text.to_ascii_lowercase().as_str() {
        "" => Ok(AllowScope::Transaction),
        "phase" => Ok(AllowScope::Phase),
        "request" => Ok(AllowScope::Request),
        _ => Err(format!("`{text}` is not a scope of `allow`; write `phase` or `request`").into()),
    }
}

/// The names and values of the actions of a list. A value may be in quotation marks, in which `\'` and
/// `\\` stand for the second character; in any other place a quotation mark has no meaning.
///
/// # Errors
/// If a quotation mark is not closed.
fn split_actions(text: &str) -> Result<Vec<(&str, String)>, Reason> {
    let mut actions = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find([':', ',']).unwrap_or(rest.len());
        let name = rest[..end].trim();
        let mut value = String::new();
        rest = match rest[end..].strip_prefix(':') {
            Some(after) => match after.trim_start().strip_prefix('\'') {
                Some(quoted) => unquoted(quoted, &mut value)
                    .ok_or_else(|| format!("the quote `'` of the action `{name}` is not closed"))?,
                None => {
                    let end = after.find(',').unwrap_or(after.len());
                    value += after[..end].trim();
                    &after[end..]
                }
            },
            None => &rest[end..],
        };
        if !name.is_empty() {
            actions.push((name, value));
        }
        rest = rest.split_once(',').map_or("", |(_, after)| after);
    }
    Ok(actions)
}

/// Appends a text without its quotation marks, of which the first one is left out. Returns the text
/// after it; `None` if it does not end.
fn unquoted<'t>(text: &'t str, value: &mut String) -> Option<&'t str> {
    let mut characters = text.chars();
    while let Some(next) = characters.next() {
        match next {
            '\'' => return Some(characters.as_str()),
            '\\' if characters.as_str().starts_with(['\'', '\\']) => {
                value.extend(characters.next());
            }
            next => value.push(next),
        }
    }
    None
}
