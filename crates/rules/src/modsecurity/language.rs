//! The lines of a configuration of ModSecurity: `SecRule VARIABLES OPERATOR ACTIONS`.

use std::ops::Range;
use std::sync::Arc;

use super::exclusion::{Control, Exclusion};
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
    inherits_disruption: bool,
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

/// A directive that affects verdicts.
#[derive(Debug)]
pub(super) enum Directive {
    Rule(Box<SecRule>),
    Marker(String),
    /// An exclusion from the rules before it, and its place.
    Exclude(Exclusion, Range<usize>),
}

/// The phase after the response, in which nothing can be denied.
pub(super) const PHASE_LOGGING: u8 = 5;

/// The most transformations of a rule.
const TRANSFORMS_MAX: usize = 64;

/// An argument of a line, without its quotation marks, and its place.
struct Argument {
    text: String,
    range: Range<usize>,
}

/// Directives that have no effect on which requests are denied.
const WITHOUT_EFFECT: [&str; 3] = ["SecComponentSignature", "SecCollectionTimeout", "SecDebugLog"];

/// Whether a text has rules of ModSecurity.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("SecRule "))
}

/// Looks up the files of words that the rules name. Returns the names of those that are missing.
pub(crate) fn missing_files(
    text: &str,
    find: &mut dyn FnMut(&str) -> Option<Arc<str>>,
) -> Vec<String> {
    let arguments = text.split("@pmFromFile ").skip(1).filter_map(|rest| rest.split('"').next());
    let names = arguments.flat_map(str::split_whitespace);
    let mut names: Vec<&str> = names.filter_map(|path| path.rsplit('/').next()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| find(name).is_none());
    names.into_iter().map(str::to_owned).collect()
}

/// Reads the directives, and makes notes about unsupported ones.
///
/// # Errors
/// If a rule is not well formed.
pub(super) fn parse(
    text: &str,
    files: &RuleFiles,
) -> Result<(Vec<Directive>, Vec<RuleError>), RuleError> {
    let mut reader = Reader::new();
    let mut at = 0;
    while at < text.len() {
        let arguments = arguments(text, &mut at)?;
        let Some((name, arguments)) = arguments.split_first() else { continue };
        reader.read(name, arguments, files)?;
    }
    Ok((reader.directives, reader.notes))
}

/// Reads lines, with the state that earlier lines set.
struct Reader {
    directives: Vec<Directive>,
    notes: Vec<RuleError>,
    /// The actions with which each rule begins.
    defaults: SecRule,
    /// Whether the next rule is a link of the last one.
    is_chained: bool,
}

impl Reader {
    fn new() -> Self {
        let (directives, notes, is_chained) = Default::default();
        Self { directives, notes, defaults: SecRule::new(0..0), is_chained }
    }

    fn read(
        &mut self,
        name: &Argument,
        arguments: &[Argument],
        files: &RuleFiles,
    ) -> Result<(), RuleError> {
        match (&*name.text, arguments) {
            ("SecRule", [variables, operator, rest @ ..]) => {
                let test = Some((variables, operator));
                let rule = rule(&self.defaults, name, test, rest.first(), files)?;
                self.add(rule);
            }
            ("SecAction", [actions]) => {
                let rule = rule(&self.defaults, name, None, Some(actions), files)?;
                self.add(rule);
            }
            ("SecRule" | "SecAction", _) => {
                let message = "write SecRule VARIABLES \"@operator argument\" \"actions\"";
                return Err(RuleError::new(name.range.clone(), message));
            }
            ("SecMarker", [marker]) => {
                self.directives.push(Directive::Marker(marker.text.clone()));
            }
            ("SecDefaultAction", [actions]) => {
                let defaults =
                    rule(&SecRule::new(name.range.clone()), name, None, Some(actions), files)?;
                self.replace_defaults(defaults);
            }
            _ if name.text.starts_with("SecRuleRemove")
                || name.text.starts_with("SecRuleUpdateTarget") =>
            {
                let texts: Vec<&str> = arguments.iter().map(|it| &*it.text).collect();
                match Exclusion::of_directive(&name.text, &texts, files.budget()) {
                    Ok(exclusion) => {
                        let place = || name.range.clone();
                        let directive = exclusion.map(|it| Directive::Exclude(it, place()));
                        self.directives.extend(directive);
                    }
                    Err(reason) => self.notes.push(reason.at(name.range.clone())),
                }
            }
            _ => self.note_directive(name, arguments),
        }
        Ok(())
    }

    fn add(&mut self, mut rule: SecRule) {
        let is_link = std::mem::replace(&mut self.is_chained, rule.is_chained);
        if !is_link && rule.disruption == Disruption::Deny {
            if rule.phase == PHASE_LOGGING {
                rule.disruption = Disruption::Pass;
                let message = "phase 5 is after the answer: the rule denies nothing there, and \
                               ModSecurity 2.9 refuses it";
                self.notes.push(RuleError::new(rule.range.clone(), message));
            } else if rule.inherits_disruption {
                self.note_inheritance();
            }
        }
        self.directives.push(Directive::Rule(Box::new(rule)));
    }

    /// Notes, once for each `SecDefaultAction`, that inheritance differs between versions.
    fn note_inheritance(&mut self) {
        let message = "rules that do not say whether they deny inherit it from this line, as in \
                       ModSecurity 2.9; 3.0 lets pass what they match";
        let note = RuleError::new(self.defaults.range.clone(), message);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Sets the default actions of the next rules, for all phases.
    fn replace_defaults(&mut self, defaults: SecRule) {
        let is_first = self.defaults.range.is_empty();
        if !is_first
            && defaults.phase != self.defaults.phase
            && defaults.disruption != self.defaults.disruption
        {
            let message = "the rules after this line inherit its actions in all phases, as in \
                           ModSecurity 2.9; 3.0 has default actions for each phase";
            self.notes.push(RuleError::new(defaults.range.clone(), message));
        }
        self.defaults = defaults;
    }

    /// Makes a note about an unsupported line that changes the effect of rules.
    fn note_directive(&mut self, name: &Argument, arguments: &[Argument]) {
        let first = arguments.first().map_or("", |argument| &*argument.text);
        let is = |other: &str| name.text.eq_ignore_ascii_case(other);
        let message = if is("SecRuleEngine") {
            if first.eq_ignore_ascii_case("on") {
                return;
            }
            format!(
                "the engine is `{first}`: requests that it would reject if it were `On` are shown \
                 as rejected"
            )
        } else if is("Include") || is("IncludeOptional") {
            "the included rules are not read; give their files as rules".to_owned()
        } else if name.text.starts_with('<') {
            let is_engine =
                is("<IfModule") && !first.starts_with('!') && first.contains("security");
            if name.text.starts_with("</") || is_engine {
                return;
            }
            let shown = name.text.trim_matches(['<', '>']);
            format!("`<{shown}>` is not followed: the rules in it are tested on all requests")
        } else if name.text.starts_with("Sec") && !WITHOUT_EFFECT.contains(&&*name.text) {
            format!("`{}` is not followed", name.text)
        } else {
            return;
        };
        self.notes.push(RuleError::new(name.range.clone(), message));
    }
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
            match (next, follows) {
                // As in Apache, whose parser ModSecurity 2.9 uses.
                ('\\', Some(follows)) if follows == '\\' || Some(follows) == quote => {
                    word.push(follows);
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

/// Reads a rule that begins with the default actions. Without variables and an operator it is a
/// `SecAction`, which always matches.
fn rule(
    defaults: &SecRule,
    name: &Argument,
    test: Option<(&Argument, &Argument)>,
    actions: Option<&Argument>,
    files: &RuleFiles,
) -> Result<SecRule, RuleError> {
    let mut rule =
        SecRule { range: name.range.clone(), inherits_disruption: true, ..defaults.clone() };
    if let Some((named, operator)) = test {
        match variables(&named.text, files.budget()) {
            Ok((known, missing)) => (rule.variables, rule.missing) = (known, missing),
            Err(obstacle) => rule.obstacle = Some(obstacle),
        }
        rule.read_operator(&operator.text, files);
    }
    if let Some(actions) = actions {
        let place = |reason: Reason| reason.at(actions.range.clone());
        for (name, value) in split_actions(&actions.text).map_err(place)? {
            rule.read_action(name, &value, files).map_err(place)?;
        }
    }
    if rule.disruption == Disruption::Block {
        rule.disruption = defaults.disruption;
    }
    Ok(rule)
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

impl SecRule {
    /// The actions without a `SecDefaultAction`.
    fn new(range: Range<usize>) -> Self {
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
        match Operator::new(name, argument, files) {
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
