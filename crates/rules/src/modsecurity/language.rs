//! The lines of a configuration of ModSecurity: `SecRule VARIABLES OPERATOR ACTIONS`.

use std::ops::Range;
use std::sync::Arc;

use super::arguments::{Argument, arguments};
use super::exclusion::Exclusion;
use super::sec_rule::{Disruption, SecRule};
use crate::error::RuleError;
use crate::files::RuleFiles;

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
                let rule = SecRule::read(&self.defaults, name, test, rest.first(), files)?;
                self.add(rule);
            }
            ("SecAction", [actions]) => {
                let rule = SecRule::read(&self.defaults, name, None, Some(actions), files)?;
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
                let none = SecRule::new(name.range.clone());
                let defaults = SecRule::read(&none, name, None, Some(actions), files)?;
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
