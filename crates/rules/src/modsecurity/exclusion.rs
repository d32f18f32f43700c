//! What a configuration or an earlier rule excludes from rules: `ctl:ruleRemove...`,
//! `SecRuleRemove...` and `SecRuleUpdateTarget...`.

use weir_core::PatternBudget;

use super::expression::{Expression, Search};
use super::language::SecRule;
use super::variable::{Source, variable};
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
    rules: Rules,
    /// The variables that they do not test; `None` if they are not evaluated at all.
    pub(super) targets: Option<Vec<Source>>,
}

#[derive(Debug, Clone)]
enum Rules {
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
            () if is("ruleRemoveById") || is("ruleRemoveTargetById") => Rules::of_ids(rules)?,
            () if is("ruleRemoveByTag") || is("ruleRemoveTargetByTag") => {
                Rules::Tag(Expression::new(rules, budget)?)
            }
            () => return Err(format!("the action `ctl:{name}` is not supported").into()),
        };
        Ok(Exclusion::new(rules, target).map(Self::Exclude))
    }
}

impl Exclusion {
    /// An exclusion; `None` if an access log does not have the target.
    fn new(rules: Rules, target: Option<&str>) -> Option<Self> {
        let Some(target) = target else { return Some(Self { rules, targets: None }) };
        let source = |text: &str| variable(text.trim_start_matches('!')).ok().map(|it| it.source);
        let targets: Vec<Source> = target.split([',', '|']).filter_map(source).collect();
        (!targets.is_empty()).then_some(Self { rules, targets: Some(targets) })
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
            ids if is("SecRuleRemoveById") => Ok(Self::new(Rules::of_ids(&ids.join(","))?, None)),
            [tag] if is("SecRuleRemoveByTag") => {
                Ok(Self::new(Rules::Tag(Expression::new(tag, budget)?), None))
            }
            [ids, target] if is("SecRuleUpdateTargetById") && target.starts_with('!') => {
                Ok(Self::new(Rules::of_ids(ids)?, Some(target)))
            }
            [tag, target] if is("SecRuleUpdateTargetByTag") && target.starts_with('!') => {
                Ok(Self::new(Rules::Tag(Expression::new(tag, budget)?), Some(target)))
            }
            _ => Err(format!("`{name}` is not followed").into()),
        }
    }

    pub(super) fn has(&self, rule: &SecRule) -> bool {
        match &self.rules {
            Rules::Ids(ranges) => {
                let id = rule.id.parse::<u64>();
                id.is_ok_and(|id| ranges.iter().any(|(first, last)| (*first..=*last).contains(&id)))
            }
            Rules::Tag(expression) => {
                let accepts = |tag: &String| {
                    matches!(expression.search(tag.as_bytes(), false), Search::Match(_))
                };
                rule.tags.iter().any(accepts)
            }
        }
    }
}

impl Rules {
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
