//! What a configuration or an earlier rule excludes from rules: `ctl:ruleRemove...`,
//! `SecRuleRemove...` and `SecRuleUpdateTarget...`.

use weir_core::PatternBudget;

use super::expression::Expression;
use super::variable::{LOGGED_HEADERS, Source, split_variables, variable};
use crate::error::Reason;

/// Whether rules are evaluated for the rest of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EngineMode {
    On,
    /// Rules are evaluated, but deny nothing.
    DetectionOnly,
    Off,
}

/// What a `ctl` does when its rule matches.
#[derive(Debug, Clone)]
pub(super) enum Control {
    Exclude(Exclusion),
    SetMode(EngineMode),
}

/// Rules that are not evaluated, or a variable that they do not test.
#[derive(Debug, Clone)]
pub(super) struct Exclusion {
    pub(super) rules: Selection,
    /// The numbers of the rules, once all are known.
    pub(super) numbers: Vec<u32>,
    /// The variables that they do not test; `None` if they are not evaluated at all.
    pub(super) targets: Option<Vec<Source>>,
}

/// The rules that an exclusion is about.
#[derive(Debug, Clone)]
pub(super) enum Selection {
    /// By ranges of their ids.
    Ids(Vec<(u64, u64)>),
    /// By an expression that matches one of their tags.
    Tag(Expression),
}

/// Controls of the module's own logs, and of bodies, which a log does not have.
const WITHOUT_EFFECT: [&str; 9] = [
    "auditEngine",
    "auditLogParts",
    "debugLogLevel",
    "forceRequestBodyVariable",
    "requestBodyAccess",
    "requestBodyLimit",
    "requestBodyProcessor",
    "responseBodyAccess",
    "responseBodyLimit",
];

impl Control {
    /// Reads a control; `None` if it changes no verdict.
    ///
    /// # Errors
    /// The reason if it is not known.
    pub(super) fn new(text: &str, budget: &PatternBudget) -> Result<Option<Self>, Reason> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let is = |other: &str| name.trim().eq_ignore_ascii_case(other);
        let (rules, target) = value
            .split_once(';')
            .map_or((value, None), |(rules, target)| (rules, Some(target.trim())));
        let rules = match () {
            () if WITHOUT_EFFECT.iter().any(|known| is(known)) => return Ok(None),
            () if is("ruleEngine") => {
                let mode = match value.to_ascii_lowercase().as_str() {
                    "on" => EngineMode::On,
                    "off" => EngineMode::Off,
                    "detectiononly" => EngineMode::DetectionOnly,
                    _ => return Err("the action `ctl:ruleEngine` has an unknown mode".into()),
                };
                return Ok(Some(Self::SetMode(mode)));
            }
            () if is("ruleRemoveById") || is("ruleRemoveTargetById") => Selection::of_ids(rules)?,
            () if is("ruleRemoveByTag") || is("ruleRemoveTargetByTag") => {
                Selection::Tag(Expression::new(rules, false, budget)?)
            }
            () => return Err(format!("the action `ctl:{name}` is not supported").into()),
        };
        Ok(Exclusion::new(rules, target, budget).map(Self::Exclude))
    }
}

impl Exclusion {
    /// An exclusion; `None` if an access log does not have the target.
    fn new(rules: Selection, target: Option<&str>, budget: &PatternBudget) -> Option<Self> {
        let numbers = Vec::new();
        let Some(target) = target else { return Some(Self { rules, numbers, targets: None }) };
        let mut targets = Vec::new();
        for text in split_variables(target).iter().map(|text| text.trim_start_matches('!')) {
            match variable(text, budget) {
                Ok(variable) => targets.push(variable.source),
                Err(_) if text.eq_ignore_ascii_case("REQUEST_HEADERS") => {
                    targets.extend(LOGGED_HEADERS.map(Source::Header));
                }
                Err(_) => {}
            }
        }
        (!targets.is_empty()).then_some(Self { rules, numbers, targets: Some(targets) })
    }

    /// Reads a directive that excludes something from the rules before it; `None` if there is no
    /// such directive, or it excludes nothing that an access log has.
    ///
    /// # Errors
    /// The reason if an argument is not valid.
    pub(super) fn of_directive(
        name: &str,
        arguments: &[&str],
        budget: &PatternBudget,
    ) -> Result<Option<Self>, Reason> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match arguments {
            ids if is("SecRuleRemoveById") => {
                Ok(Self::new(Selection::of_ids(&ids.join(","))?, None, budget))
            }
            [tag] if is("SecRuleRemoveByTag") => {
                Ok(Self::new(Selection::Tag(Expression::new(tag, false, budget)?), None, budget))
            }
            [ids, target] if is("SecRuleUpdateTargetById") && only_excludes(target) => {
                Ok(Self::new(Selection::of_ids(ids)?, Some(target), budget))
            }
            [tag, target] if is("SecRuleUpdateTargetByTag") && only_excludes(target) => {
                Ok(Self::new(
                    Selection::Tag(Expression::new(tag, false, budget)?),
                    Some(target),
                    budget,
                ))
            }
            _ => Err(format!("`{name}` is not followed").into()),
        }
    }
}

/// Whether a list of targets only excludes variables, and adds none.
fn only_excludes(targets: &str) -> bool {
    split_variables(targets).iter().all(|target| target.starts_with('!'))
}

impl Selection {
    fn of_ids(text: &str) -> Result<Self, Reason> {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u64>().ok();
            number(first)
                .zip(number(last))
                .ok_or_else(|| Reason::from(format!("`{part}` is not the id of a rule or a range")))
        };
        let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
        parts.map(range).collect::<Result<_, _>>().map(Self::Ids)
    }
}
