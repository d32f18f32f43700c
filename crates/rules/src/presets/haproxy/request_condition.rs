//! Conditions of lines as conditions of a log, which select requests.

use super::condition::{Alternatives, Term, Test};
use super::configuration::Earlier;
use super::counter::CounterKind;
use crate::error::RuleError;

/// Whether a term always holds, as far as limits are concerned.
pub(super) fn is_always(term: &Term<'_>) -> bool {
    match &term.test {
        Test::Constant(value) => *value != term.is_negated,
        Test::Counter(comparison) => matches!(comparison.counter.kind, CounterKind::Raise(_)),
        _ => false,
    }
}

/// The condition of terms that must all hold. What a log does not tell is left out, with a note.
pub(super) fn condition(
    terms: &[&Term<'_>],
    notes: &mut Vec<RuleError>,
    message: &str,
) -> Option<String> {
    let mut conditions = Vec::new();
    for term in terms.iter().filter(|term| !is_always(term)) {
        match &term.test {
            Test::Request(text) if term.is_negated => conditions.push(format!("not ({text})")),
            Test::Request(text) => conditions.push(format!("({text})")),
            _ => notes.push(term.place.error(message)),
        }
    }
    match &conditions[..] {
        [] => None,
        [one] if one.starts_with('(') => Some(one[1..one.len() - 1].to_owned()),
        several => Some(several.join(" and ")),
    }
}

/// A condition for which no line before has sent a request to another backend, of which HAProxy takes
/// the first that matches. `None` if one of them sends all requests.
pub(super) fn without_earlier(
    condition: Option<String>,
    earlier: &[Earlier<'_>],
    notes: &mut Vec<RuleError>,
) -> Option<Option<String>> {
    let mut taken = Vec::new();
    for line in earlier {
        let before = notes.len();
        let sent = alternatives(&line.condition, notes, |notes| {
            let message = "which requests this line sends to its backend is not followed: those over \
                           the rate are shown as rejected";
            notes.push(line.place.error(message));
        });
        match sent {
            Some(text) if !text.is_empty() => taken.push(format!("({text})")),
            None if notes.len() == before => return None,
            _ => {}
        }
    }
    Some(match (condition, taken.is_empty()) {
        (condition, true) => condition,
        (None, false) => Some(format!("not ({})", taken.join(" or "))),
        (Some(condition), false) => Some(format!("({condition}) and not ({})", taken.join(" or "))),
    })
}

/// The condition of alternatives; `None` if all requests meet it. If a log does not tell a part,
/// `note` names it, and all do.
pub(super) fn alternatives(
    alternatives: &Alternatives<'_>,
    notes: &mut Vec<RuleError>,
    note: impl Fn(&mut Vec<RuleError>),
) -> Option<String> {
    let (mut conditions, mut unknown) = (Vec::new(), Vec::new());
    for terms in alternatives {
        let is_never = |term: &Term<'_>| matches!(term.test, Test::Constant(value) if value == term.is_negated);
        if terms.iter().any(is_never) {
            continue;
        }
        let terms: Vec<&Term<'_>> = terms.iter().collect();
        conditions.push(condition(&terms, &mut unknown, ""));
    }
    if !unknown.is_empty() {
        note(notes);
        return None;
    }
    let conditions: Vec<String> = conditions.into_iter().collect::<Option<_>>()?;
    match &conditions[..] {
        [one] => Some(one.clone()),
        several => {
            Some(several.iter().map(|it| format!("({it})")).collect::<Vec<_>>().join(" or "))
        }
    }
}
