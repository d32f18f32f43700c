//! Rate limiting rules of Cloudflare.
//!
//! Source: "Rate limiting parameters" of its documentation.

use super::super::selection::Selection;
use super::super::{client, header_field};
use super::tree::Node;
use super::{Rate, SECOND_NS, expression, left_out, not_in_log, window_ns};
use crate::error::RuleError;
use crate::windows::{KeyNeeds, KeyPart, LimitKey};

const NOTE: &str = "Cloudflare counts in each data center and does not publish how its windows lie: a \
                    client over the limit in a sliding window may have been blocked";

/// Reads the rate of a block with `requests_per_period`, which is in a rule.
pub(super) fn rate<'t>(
    count: &'t Node,
    rate: &'t Node,
    around: &[&'t Node],
) -> Result<Rate<'t>, RuleError> {
    // A rule has its rate in a block of its own, which Terraform 5 writes as a list, too.
    let is_rule = |node: &&&Node| node.member("expression").is_some();
    let rule = around.iter().rev().take(2).find(is_rule).copied().unwrap_or(rate);
    let mut notes = Vec::new();
    let (selection, selected_at) = selection(rate, rule, &mut notes);
    note_what_differs(rate, rule, &mut notes);
    let window = rate.member("period");
    let timeout = rate.member("mitigationtimeout").map(Node::number).transpose()?;
    Ok(Rate {
        count,
        window_ns: window_ns(window, SECOND_NS, 60)?,
        window,
        hold_ns: timeout.map(|seconds| seconds.saturating_mul(SECOND_NS)),
        key: key(rate, &mut notes),
        selection,
        selected_at,
        name: rule.value_of(&["name", "ref"]),
        note: NOTE,
        notes,
    })
}

/// The requests that count: those of `counting_expression`, or else of `expression`.
fn selection(
    rate: &Node,
    rule: &Node,
    notes: &mut Vec<RuleError>,
) -> (Selection, std::ops::Range<usize>) {
    let counting = rate.member("countingexpression").filter(|it| it.value.as_deref() != Some(""));
    let Some(node) = counting.or_else(|| rule.member("expression")) else {
        return (Selection::Everything, rate.range.clone());
    };
    let followed = expression::follow(node.value.as_deref().unwrap_or_default());
    notes.extend(followed.left_out.iter().map(|part| node.error(left_out(part))));
    let blocked = rule.member("expression").filter(|it| it.value != node.value);
    if let Some(blocked) = blocked.filter(|_| counting.is_some()) {
        note_other_requests(blocked, notes);
    }
    (followed.selection, node.range.clone())
}

/// Notes that a rule blocks other requests than it counts.
fn note_other_requests(blocked: &Node, notes: &mut Vec<RuleError>) {
    let is_all = blocked.value.as_deref().is_some_and(|value| value.trim() == "true");
    let who = if is_all { "all requests of the client" } else { "the requests that meet this" };
    notes.push(blocked.error(format_args!(
        "Cloudflare blocks {who} once it is over the limit; here those that count are rejected"
    )));
}

/// Notes the settings that make the rule do something else.
fn note_what_differs(rate: &Node, rule: &Node, notes: &mut Vec<RuleError>) {
    let is = |node: &&Node, values: &[&str]| {
        node.value.as_deref().is_some_and(|value| values.contains(&value))
    };
    if let Some(action) = rule.member("action").filter(|it| !is(it, &["block"])) {
        let value = action.value.as_deref().unwrap_or_default();
        notes.push(action.error(format_args!(
            "the action is `{value}`: what is shown as rejected is what it is applied to"
        )));
    }
    if let Some(enabled) = rule.member("enabled").filter(|it| is(it, &["false"])) {
        notes.push(enabled.error("the rule is switched off; it is replayed as if it were on"));
    }
    if let Some(origin) = rate.member("requeststoorigin").filter(|it| is(it, &["true"])) {
        notes.push(origin.error(
            "only requests that the cache does not answer count there; the log of the origin has \
             only these, that of Cloudflare has all",
        ));
    }
}

/// The key of the characteristics.
fn key(rate: &Node, notes: &mut Vec<RuleError>) -> LimitKey {
    let Some(characteristics) = rate.member("characteristics") else {
        return LimitKey::new(client());
    };
    let mut parts: Vec<KeyPart> = Vec::new();
    let mut left_out = Vec::new();
    for item in &characteristics.members {
        match part(item.value.as_deref().unwrap_or_default()) {
            Characteristic::Part(part) if !parts.contains(&part) => parts.push(part),
            Characteristic::Part(_) | Characteristic::DataCenter => {}
            Characteristic::Visitor => {
                parts.extend(client());
                notes.push(item.error(
                    "visitors behind one address are not told apart: they count together here",
                ));
            }
            Characteristic::Unknown => left_out.push(item),
        }
    }
    notes.extend(left_out.into_iter().map(|item| item.error(not_in_log(&parts))));
    // Requests without a header have a counter of their own.
    LimitKey { parts, needs: KeyNeeds::Nothing }
}

enum Characteristic {
    Part(KeyPart),
    /// Every rule has it; the log of one server does not show it.
    DataCenter,
    /// A client, told apart from others behind the same address.
    Visitor,
    Unknown,
}

fn part(characteristic: &str) -> Characteristic {
    let field = |name: &str| Characteristic::Part(KeyPart::Field(name.to_owned()));
    match characteristic {
        "cf.colo.id" => Characteristic::DataCenter,
        "cf.unique_visitor_id" => Characteristic::Visitor,
        "ip.src" => field("client"),
        "http.host" => field("host"),
        "http.request.method" => field("method"),
        "http.request.uri.path" => field("path"),
        "http.request.uri.query" => field("query"),
        other => match indexed(other) {
            Some(("http.request.headers", name)) => field(&header_field(name)),
            Some(("http.request.cookies", name)) => field(&format!("cookie_{name}")),
            _ => Characteristic::Unknown,
        },
    }
}

/// A name and what is between its brackets: `http.request.headers["x-api-key"]`.
fn indexed(text: &str) -> Option<(&str, &str)> {
    let (name, index) = text.split_once('[')?;
    Some((name, index.strip_suffix(']')?.trim_matches(['"', '\''])))
}
