//! Rate limits of AWS WAF, Cloudflare and Azure, in JSON, YAML or Terraform.
//!
//! None of them publishes its algorithm. AWS WAF estimates the rate over the window, with more
//! weight for recent requests, and may take minutes to notice; Cloudflare counts in each data
//! center; Azure counts in each of several servers.

mod aws;
mod azure;
mod cloudflare;
mod expression;
mod statement;
#[cfg(test)]
mod tests;
mod tree;

use weir_core::PatternBudget;

use self::tree::Node;
use super::selection::Selection;
use super::{LIMITS_MAX, Preset};
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::{Algorithm, KeyPart, Limit, LimitKey};

const SECOND_NS: u64 = 1_000_000_000;

/// What a service makes of a block with a rate.
struct Rate<'t> {
    count: &'t Node,
    /// The window in nanoseconds, and the setting with it.
    window_ns: u64,
    window: Option<&'t Node>,
    /// How long a key that was over the limit stays blocked; if it is not set, as long as the
    /// window.
    hold_ns: Option<u64>,
    key: LimitKey,
    selection: Selection,
    /// Where the selection is written.
    selected_at: std::ops::Range<usize>,
    name: Option<&'t str>,
    /// What is known of its algorithm.
    note: &'static str,
    notes: Vec<RuleError>,
}

/// The settings that only these services have.
const MARKS: [&str; 6] = [
    "requests_per_period",
    "rateLimitThreshold",
    "rate_limit_threshold",
    "RateBasedStatement",
    "rate_based_statement",
    "EvaluationWindowSec",
];

/// Whether a text has a setting of one of the services.
pub(super) fn looks_like(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark)) || text.contains("rateBasedStatement")
}

/// Reads the rate limits.
///
/// # Errors
/// If there is none, or a setting is not valid.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let marks = ["requestsperperiod", "ratelimitthreshold", "ratebasedstatement", "limit"];
    let (root, not_yaml) = tree::read(text, &|name| marks.contains(&name));
    let mut rates = Vec::new();
    find(&root, &mut vec![], &mut rates)?;
    if rates.is_empty() {
        aws::find_statements(&root, &mut rates)?;
    }
    if let Some(further) = rates.get(LIMITS_MAX) {
        let message = format!("these are more than {LIMITS_MAX} rate limits");
        return Err(further.count.error(message));
    }
    if rates.is_empty() {
        let message = "there is no rate in it: `Limit` of AWS WAF, `requests_per_period` of \
                       Cloudflare or `rateLimitThreshold` of Azure";
        // It may be there, in what is not read.
        let is_cut = |error: &RuleError| error.range.end < text.len();
        return Err(not_yaml.filter(is_cut).unwrap_or_else(|| RuleError::new(0..0, message)));
    }
    let is_alone = rates.len() == 1;
    rates.into_iter().map(|rate| rate.preset(is_alone, budget)).collect()
}

/// Finds the rates in a node. `around` are the nodes that it is in, from the outermost on.
fn find<'t>(
    node: &'t Node,
    around: &mut Vec<&'t Node>,
    rates: &mut Vec<Rate<'t>>,
) -> Result<(), RuleError> {
    if node.name == "ratebasedstatement" {
        rates.push(aws::rate(node, around)?);
    } else if let Some(count) = node.member("requestsperperiod") {
        rates.push(cloudflare::rate(count, node, around)?);
    } else if let Some(count) = node.member("ratelimitthreshold") {
        rates.push(azure::rate(count, node)?);
    }
    around.push(node);
    for member in &node.members {
        find(member, around, rates)?;
    }
    around.pop();
    Ok(())
}

impl Rate<'_> {
    fn preset(self, is_alone: bool, budget: &PatternBudget) -> Result<Preset, RuleError> {
        let count = self.count.number()?;
        if count == 0 || !(SECOND_NS..=Limit::WINDOW_NS_MAX).contains(&self.window_ns) {
            let wrong = self.window.filter(|_| count > 0).unwrap_or(self.count);
            let value = wrong.value.as_deref().unwrap_or_default();
            return Err(wrong.error(format!("`{value}` is not a rate limit")));
        }
        let mut notes = self.notes;
        if self.selection == Selection::Nothing {
            let message = "no request meets this: a text in lower case never has capitals, and \
                           the other way round";
            notes.push(RuleError::new(self.selected_at.clone(), message));
        }
        let condition = self.selection.condition();
        let condition = condition.map(|it| RuleCondition::parse(&it, budget)).transpose();
        let condition =
            condition.map_err(|error| RuleError::new(self.selected_at, error.message))?;
        let hold_ns = self.hold_ns.unwrap_or(self.window_ns).min(Limit::WINDOW_NS_MAX);
        let algorithm = Algorithm::Unpublished { note: self.note, hold_ns };
        let limit = Limit {
            name: self.name.filter(|_| !is_alone).map(str::to_owned),
            key: self.key,
            condition,
            ..Limit::new(count, self.window_ns, algorithm)
        };
        Ok(Preset { limit, notes })
    }
}

/// A window of a number of units; the default if it is not set.
fn window_ns(window: Option<&Node>, unit_ns: u64, default: u64) -> Result<u64, RuleError> {
    let number = window.map(Node::number).transpose()?;
    Ok(number.unwrap_or(default).saturating_mul(unit_ns))
}

/// The note about a part of which requests do not show whether they meet it.
fn left_out(part: &str) -> String {
    format!("`{part}` is not followed: requests count whether they meet it or not")
}

/// The note about a part of the key that a log does not have, beside those that it has.
fn not_in_log(parts: &[KeyPart]) -> &'static str {
    match parts.is_empty() {
        true => {
            "the log does not have this: all requests count together, so more are over the limit"
        }
        false => {
            "the log does not have this: requests that differ only in it count together, so more \
             are over the limit"
        }
    }
}
