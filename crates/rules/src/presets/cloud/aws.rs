//! Rate-based rules of AWS WAF.
//!
//! Source: `RateBasedStatement` of its API reference.

use super::super::selection::Selection;
use super::super::{client, header_field};
use super::tree::Node;
use super::{Rate, SECOND_NS, not_in_log, statement, window_ns};
use crate::error::RuleError;
use crate::windows::{KeyNeeds, KeyPart, LimitKey};

const NOTE: &str = "AWS WAF estimates the rate, with more weight for recent requests, and may take \
                    minutes to notice: a client over the limit in a sliding window may have been \
                    blocked";

/// Reads a statement, which is in a rule.
///
/// # Errors
/// If it has no limit.
pub(super) fn rate<'t>(block: &'t Node, around: &[&'t Node]) -> Result<Rate<'t>, RuleError> {
    // Blocks of Terraform may be lists of one item.
    let block = block.blocks().first().copied().unwrap_or(block);
    let Some(count) = block.member("limit") else {
        return Err(block.error("this statement has no `Limit`, the number of requests"));
    };
    let rule = around.iter().rev().find(|node| node.member("name").is_some());
    let mut notes = Vec::new();
    let scope = block.member("scopedownstatement");
    let selection = match scope {
        Some(scope) => statement::follow(scope, &mut notes),
        None => Selection::Everything,
    };
    let counts = rule.and_then(|rule| rule.member("action")).and_then(|it| it.member("count"));
    notes.extend(counts.map(|count| {
        count.error("the rule only counts: what is shown as rejected is what it counts")
    }));
    let window = block.member("evaluationwindowsec");
    Ok(Rate {
        count,
        window_ns: window_ns(window, SECOND_NS, 300)?,
        window,
        hold_ns: None,
        key: key(block, &mut notes)?,
        selection,
        selected_at: scope.unwrap_or(block).range.clone(),
        name: rule.and_then(|rule| rule.value_of(&["name"])),
        note: NOTE,
        notes,
    })
}

/// Finds a statement that stands alone, without the name around it.
pub(super) fn find_statements<'t>(
    node: &'t Node,
    rates: &mut Vec<Rate<'t>>,
) -> Result<(), RuleError> {
    if rates.is_empty() && node.member("limit").is_some_and(|limit| limit.value.is_some()) {
        rates.push(rate(node, &[])?);
    }
    node.members.iter().try_for_each(|member| find_statements(member, rates))
}

/// The key of `AggregateKeyType`.
fn key(block: &Node, notes: &mut Vec<RuleError>) -> Result<LimitKey, RuleError> {
    let forwarded = block.member("forwardedipconfig");
    let Some(kind) = block.member("aggregatekeytype") else {
        return Ok(LimitKey::new(client()));
    };
    let parts = match kind.value.as_deref().unwrap_or_default() {
        "IP" => client(),
        "FORWARDED_IP" => vec![forwarded_address(forwarded)],
        "CONSTANT" => Vec::new(),
        "CUSTOM_KEYS" => match block.members.iter().any(is_custom) {
            true => return Ok(custom_key(block, forwarded, notes)),
            false => return Err(kind.error("there are no `CustomKeys` beside it")),
        },
        other => {
            let message = "is not a key type: write IP, FORWARDED_IP, CUSTOM_KEYS or CONSTANT";
            return Err(kind.error(format_args!("`{other}` {message}")));
        }
    };
    Ok(LimitKey::new(parts))
}

/// Terraform repeats a block `custom_key`.
fn is_custom(node: &Node) -> bool {
    matches!(node.name.as_str(), "customkeys" | "customkey")
}

/// The first address in a header.
fn forwarded_address(configuration: Option<&Node>) -> KeyPart {
    let block = configuration.and_then(|node| node.blocks().first().copied());
    let header = block.and_then(|block| block.value_of(&["headername"]));
    KeyPart::First(header_field(header.unwrap_or("X-Forwarded-For")))
}

/// A key of several parts. A request that lacks one of them is not counted.
fn custom_key(block: &Node, forwarded: Option<&Node>, notes: &mut Vec<RuleError>) -> LimitKey {
    let customs = block.members.iter().filter(|member| is_custom(member));
    let components = customs.flat_map(Node::blocks).flat_map(|custom| &custom.members);
    let (mut parts, mut left_out) = (Vec::new(), Vec::new());
    for component in components {
        match part(component, forwarded) {
            Some(part) => parts.push(part),
            None => left_out.push(component),
        }
        notes.extend(other_text(component));
    }
    notes.extend(left_out.into_iter().map(|it| it.error(not_in_log(&parts))));
    LimitKey { parts, needs: KeyNeeds::EveryPart }
}

fn part(component: &Node, forwarded: Option<&Node>) -> Option<KeyPart> {
    let block = component.blocks().first().copied().unwrap_or(component);
    let name = || block.value_of(&["name"]);
    let field = |name: &str| Some(KeyPart::Field(name.to_owned()));
    match component.name.as_str() {
        "ip" => field("client"),
        "forwardedip" => Some(forwarded_address(forwarded)),
        "httpmethod" => field("method"),
        "uripath" => field("path"),
        "querystring" => field("query"),
        "header" => field(&header_field(name()?)),
        "cookie" => field(&format!("cookie_{}", name()?)),
        _ => None,
    }
}

/// The note about a transformation of a part of the key that may put values together.
fn other_text(component: &Node) -> Option<RuleError> {
    let node = statement::transformations(component).into_iter().find(|(_, name)| *name != "NONE");
    node.map(|(node, name)| {
        node.error(format_args!(
            "`{name}` is not followed: values that it would make equal count apart"
        ))
    })
}
