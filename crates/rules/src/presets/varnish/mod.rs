//! `vsthrottle.is_denied` of Varnish, in VCL: a token bucket for each key.
//!
//! `calc_tokens` of `vmod_vsthrottle.c` (varnish-modules) adds whole tokens, and a request that
//! takes one drops the part of the next that had come. [`statements`] finds which requests reach a
//! call, [`condition`] reads the conditions on the way.

mod call;
mod condition;
mod statements;
#[cfg(test)]
mod tests;
mod token;
mod url;

use weir_core::PatternBudget;

use self::call::Call;
use self::condition::ReachedCall;
use self::token::without_comments;
use super::Preset;
use super::selection::Selection;
use crate::condition::RuleCondition;
use crate::error::RuleError;
use crate::windows::Effect;

/// Whether a text throttles requests.
pub(super) fn looks_like(text: &str) -> bool {
    text.contains(call::NAME)
}

/// Reads the calls, each of which is a limit.
///
/// # Errors
/// If there is none, or one is not valid.
pub(super) fn parse(text: &str, budget: &PatternBudget) -> Result<Vec<Preset>, RuleError> {
    let calls = statements::calls(&without_comments(text))?;
    if calls.is_empty() {
        let message = "there is no `vsthrottle.is_denied(client.identity, 15, 10s)` in it";
        return Err(RuleError::new(0..0, message));
    }
    calls.into_iter().map(|call| preset(call, budget)).collect()
}

fn preset(found: ReachedCall, budget: &PatternBudget) -> Result<Preset, RuleError> {
    let ReachedCall { call: Call { range, mut limit, mut notes }, reached, denied } = found;
    let condition = |selection: Selection| {
        let text = selection.condition();
        let condition = text.map(|text| RuleCondition::parse(&text, budget)).transpose();
        condition.map_err(|error| RuleError::new(range.clone(), error.message))
    };
    limit.condition = condition(reached.selection)?;
    let rejects = condition(Selection::all(denied.conditions))?;
    limit.effect = Effect { rejects, hold: None };
    notes.extend(reached.notes);
    notes.extend(denied.notes);
    notes.sort_by_key(|note| note.range.start);
    notes.dedup();
    Ok(Preset { limit, notes })
}
