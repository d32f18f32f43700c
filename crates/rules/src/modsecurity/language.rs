//! The lines of a configuration of ModSecurity: `SecRule VARIABLES OPERATOR ACTIONS`.

use std::ops::Range;

use super::operator::Operator;
use super::transform::{Transform, transform};
use super::variable::{Variable, variables};
use crate::error::RuleError;
use crate::files::RuleFiles;

/// What a rule does with a request that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disruption {
    Deny,
    /// The other rules are not looked at.
    Allow,
    Pass,
    /// What `SecDefaultAction` says.
    Block,
}

/// A change of a variable of the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetVariable {
    /// In lower case.
    pub(super) name: String,
    /// `=`, `+` or `-`.
    pub(super) operator: char,
    /// A number, or `%{tx.name}`.
    pub(super) value: String,
}

/// A rule, or a link of a chain.
#[derive(Debug)]
pub(super) struct SecRule {
    pub(super) id: String,
    pub(super) phase: u8,
    pub(super) variables: Vec<Variable>,
    pub(super) operator: Operator,
    pub(super) is_negated: bool,
    pub(super) transforms: Vec<Transform>,
    pub(super) disruption: Disruption,
    pub(super) sets: Vec<SetVariable>,
    /// The marker after which evaluation goes on if the rule matches.
    pub(super) skip_after: Option<String>,
    pub(super) is_chained: bool,
    /// The variables that an access log does not have; the rule may match them.
    pub(super) missing: Vec<String>,
    /// Why the rule cannot be told from a log.
    pub(super) obstacle: Option<String>,
    pub(super) range: Range<usize>,
}

/// A line that matters.
#[derive(Debug)]
pub(super) enum Directive {
    Rule(Box<SecRule>),
    Marker(String),
    /// `SecDefaultAction` with a phase and what `block` does in it.
    Default(u8, Disruption),
}

/// An argument of a line, without its quotation marks, and its place.
struct Argument {
    text: String,
    range: Range<usize>,
}

/// Directives that have no effect on which requests are denied.
const WITHOUT_EFFECT: [&str; 4] =
    ["SecComponentSignature", "SecCollectionTimeout", "SecRuleEngine", "SecDebugLog"];

/// Whether a text has rules of ModSecurity.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("SecRule "))
}

/// Reads the directives, and what is not followed.
///
/// # Errors
/// If a rule is not well formed.
pub(super) fn parse(
    text: &str,
    files: &RuleFiles,
) -> Result<(Vec<Directive>, Vec<RuleError>), RuleError> {
    let (mut directives, mut notes) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let arguments = arguments(text, &mut at)?;
        let Some((name, arguments)) = arguments.split_first() else { continue };
        match (&*name.text, arguments) {
            ("SecRule", [variables, operator, rest @ ..]) => {
                let rule = rule(name, Some((variables, operator)), rest.first(), files)?;
                directives.push(Directive::Rule(Box::new(rule)));
            }
            ("SecAction", [actions]) => {
                directives.push(Directive::Rule(Box::new(rule(name, None, Some(actions), files)?)));
            }
            ("SecRule" | "SecAction", _) => {
                let message = "write SecRule VARIABLES \"@operator argument\" \"actions\"";
                return Err(RuleError::new(name.range.clone(), message));
            }
            ("SecMarker", [marker]) => directives.push(Directive::Marker(marker.text.clone())),
            ("SecDefaultAction", [actions]) => {
                let rule = rule(name, None, Some(actions), files)?;
                directives.push(Directive::Default(rule.phase, rule.disruption));
            }
            (other, _) if WITHOUT_EFFECT.contains(&other) || !other.starts_with("Sec") => {}
            (other, _) => {
                let message = format!("`{other}` is not followed");
                notes.push(RuleError::new(name.range.clone(), message));
            }
        }
    }
    Ok((directives, notes))
}

/// The arguments of the line at `at`, which is moved after it. A backslash at its end continues it.
fn arguments(text: &str, at: &mut usize) -> Result<Vec<Argument>, RuleError> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut current: Option<(String, usize, Option<char>)> = None;
    let mut characters = text[*at..].char_indices().peekable();
    let start = *at;
    *at = text.len();
    while let Some((offset, next)) = characters.next() {
        let position = start + offset;
        let follows = characters.peek().map(|(_, next)| *next);
        let is_continued =
            next == '\\' && (follows == Some('\n') || text[position + 1..].starts_with("\r\n"));
        if is_continued {
            characters.next_if(|(_, next)| *next == '\r');
            characters.next();
            continue;
        }
        let (end, quote) = match &current {
            Some((_, begin, Some(quote))) if next == '\n' => {
                let message = format!("the quote `{quote}` is not closed");
                return Err(RuleError::new(*begin..*begin + 1, message));
            }
            Some((.., quote)) => (next.is_whitespace() && quote.is_none(), *quote),
            None => (false, None),
        };
        if end || quote == Some(next) {
            if let Some((text, begin, _)) = current.take() {
                arguments.push(Argument { text, range: begin..position });
            }
        } else if let Some((word, ..)) = &mut current {
            match (quote, next, follows) {
                (Some(quote), '\\', Some(follows)) if follows == quote => {
                    word.push(quote);
                    characters.next();
                }
                _ => word.push(next),
            }
        } else if next == '#' && arguments.is_empty() {
            let rest = &text[position..];
            *at = position + rest.find('\n').map_or(rest.len(), |length| length + 1);
            return Ok(arguments);
        } else if matches!(next, '"' | '\'') {
            current = Some((String::new(), position, Some(next)));
        } else if !next.is_whitespace() {
            current = Some((next.to_string(), position, None));
        }
        if next == '\n' && current.is_none() {
            *at = position + 1;
            return Ok(arguments);
        }
    }
    match current {
        Some((_, begin, Some(quote))) => {
            let message = format!("the quote `{quote}` is not closed");
            Err(RuleError::new(begin..begin + 1, message))
        }
        Some((word, begin, None)) => {
            arguments.push(Argument { text: word, range: begin..text.len() });
            Ok(arguments)
        }
        None => Ok(arguments),
    }
}

/// Reads a rule. Without variables and an operator it is a `SecAction`, which always matches.
fn rule(
    name: &Argument,
    test: Option<(&Argument, &Argument)>,
    actions: Option<&Argument>,
    files: &RuleFiles,
) -> Result<SecRule, RuleError> {
    let mut rule = SecRule {
        id: String::new(),
        phase: 2,
        variables: Vec::new(),
        operator: Operator::Always,
        is_negated: false,
        transforms: Vec::new(),
        disruption: Disruption::Pass,
        sets: Vec::new(),
        skip_after: None,
        is_chained: false,
        missing: Vec::new(),
        obstacle: None,
        range: name.range.clone(),
    };
    if let Some((named, operator)) = test {
        match variables(&named.text) {
            Ok((known, missing)) => (rule.variables, rule.missing) = (known, missing),
            Err(obstacle) => rule.obstacle = Some(obstacle),
        }
        rule.read_operator(&operator.text, files);
    }
    if let Some(actions) = actions {
        for action in split_actions(&actions.text) {
            rule.read_action(action)
                .map_err(|message| RuleError::new(actions.range.clone(), message))?;
        }
    }
    Ok(rule)
}

/// The actions between commas that are not in quotation marks.
fn split_actions(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let split = text.split(move |next| {
        is_quoted ^= next == '\'';
        next == ',' && !is_quoted
    });
    split.map(str::trim).filter(|action| !action.is_empty()).collect()
}

impl SecRule {
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
        match Operator::new(name, argument.trim_start(), files) {
            _ if argument.contains("%{") => self.read_macro(name, argument.trim()),
            Ok(operator) => self.operator = operator,
            Err(obstacle) => {
                self.obstacle.get_or_insert(obstacle);
            }
        }
    }

    /// An operator whose argument is a variable of the transaction.
    fn read_macro(&mut self, name: &str, argument: &str) {
        let variable = argument.strip_prefix("%{").and_then(|text| text.strip_suffix('}'));
        let variable = variable
            .and_then(|text| text.to_ascii_lowercase().strip_prefix("tx.").map(str::to_owned));
        match (variable, name.to_ascii_lowercase().as_str()) {
            (Some(variable), "ge" | "gt" | "le" | "lt" | "eq") => {
                self.operator = Operator::Variable(name.to_ascii_lowercase(), variable);
            }
            _ => {
                self.obstacle
                    .get_or_insert(format!("`{argument}` in an operator is not supported"));
            }
        }
    }

    fn read_action(&mut self, action: &str) -> Result<(), String> {
        let (name, value) = action.split_once(':').unwrap_or((action, ""));
        let value = value.trim().trim_matches('\'');
        match name.trim() {
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
            "deny" | "drop" | "redirect" | "proxy" => self.disruption = Disruption::Deny,
            "allow" => self.disruption = Disruption::Allow,
            "block" => self.disruption = Disruption::Block,
            "pass" => self.disruption = Disruption::Pass,
            "chain" => self.is_chained = true,
            "skipAfter" => self.skip_after = Some(value.to_owned()),
            "t" if value == "none" => self.transforms.clear(),
            "t" => match transform(value) {
                Some(transform) => self.transforms.push(transform),
                None => {
                    self.obstacle
                        .get_or_insert(format!("the transformation t:{value} is not supported"));
                }
            },
            "setvar" => self.sets.extend(set_variable(value)),
            "skip" | "ctl" | "initcol" | "exec" => {
                self.obstacle.get_or_insert(format!("the action `{name}` is not supported"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A change of a variable of the transaction; those of other collections last longer than a
/// request, and are left out.
fn set_variable(text: &str) -> Option<SetVariable> {
    let lower = text.to_ascii_lowercase();
    let text = lower.strip_prefix("tx.")?;
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let (operator, value) = match value.chars().next() {
        Some(sign @ ('+' | '-')) => (sign, &value[1..]),
        _ => ('=', value),
    };
    Some(SetVariable { name: name.to_owned(), operator, value: value.to_owned() })
}
