//! Rate limit rules of Azure's web application firewalls.

use super::super::client;
use super::super::selection::Selection;
use super::tree::Node;
use super::{Rate, SECOND_NS, window_ns};
use crate::error::RuleError;
use crate::windows::LimitKey;

const NOTE: &str = "Azure counts in each of several servers and does not publish how its windows lie: a \
                    client over the limit in a sliding window may have been blocked";

const MINUTE_NS: u64 = 60 * SECOND_NS;

/// Reads the rate of a rule with `rateLimitThreshold`.
pub(super) fn rate<'t>(count: &'t Node, rule: &'t Node) -> Result<Rate<'t>, RuleError> {
    let mut notes = Vec::new();
    for conditions in ["matchconditions", "matchcondition"] {
        notes.extend(rule.member(conditions).map(|it| {
            it.error(
                "which requests count is not followed: all of them do; give a condition with \
                 --where",
            )
        }));
    }
    let window = rule.member("ratelimitdurationinminutes").or(rule.member("ratelimitduration"));
    let window_ns = match window.and_then(|window| window.value.as_deref()) {
        Some("OneMin") => MINUTE_NS,
        Some("FiveMins") => 5 * MINUTE_NS,
        _ => window_ns(window, MINUTE_NS, 1)?,
    };
    Ok(Rate {
        count,
        window_ns,
        window,
        hold_ns: None,
        key: key(rule, &mut notes),
        selection: Selection::Everything,
        selected_at: rule.range.clone(),
        name: rule.value_of(&["name"]),
        note: NOTE,
        notes,
    })
}

/// The client, unless the rule groups by something else.
fn key(rule: &Node, notes: &mut Vec<RuleError>) -> LimitKey {
    let mut variables = Vec::new();
    values(rule, "variablename", &mut variables);
    let mut parts = client();
    for variable in variables {
        match variable.value.as_deref().unwrap_or_default() {
            "ClientAddr" | "SocketAddr" => {}
            "None" => parts.clear(),
            other => notes.push(variable.error(format_args!(
                "the log does not have `{other}`: requests are counted by client"
            ))),
        }
    }
    LimitKey::new(parts)
}

/// The settings of a name in a node, at every depth.
fn values<'t>(node: &'t Node, name: &str, found: &mut Vec<&'t Node>) {
    found.extend(Some(node).filter(|node| node.name == name && node.value.is_some()));
    node.members.iter().for_each(|member| values(member, name, found));
}
