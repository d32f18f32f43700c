//! Counts of rare events, by their names in records.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_sync::Lock;

use crate::token::TokenRefusal;

/// The counters of events that most requests do not have.
#[derive(Debug, Default)]
pub(crate) struct Events(Lock<EventCounts>);

/// The counts of events that most requests do not have, by their names in records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Requests without a complete answer from a backend, by outcome.
    pub unanswered: BTreeMap<&'static str, u64>,
    /// Decisions of limits, by the limit's name and the verdict.
    pub decisions: BTreeMap<(Arc<str>, &'static str), u64>,
    /// Uses of the caches of lookups and sessions, by cache and result.
    pub cache_lookups: BTreeMap<(&'static str, &'static str), u64>,
    /// Jumps of the system clock while the gateway ran, by direction: `forward` or `back`.
    pub clock_jumps: BTreeMap<&'static str, u64>,
}

/// The names of the directions in which the clock is set.
pub(crate) const DIRECTIONS: [&str; 2] = ["forward", "back"];

/// The outcomes of requests that did not end with a complete response of a backend, besides those
/// of [`TokenRefusal`]. A rate needs a counter before its first event, so all are listed.
const UNANSWERED: [&str; 33] = [
    "ambiguous_path",
    "answer_timeout",
    "backend_broke_off",
    "backend_broken",
    "backend_busy",
    "backend_connect",
    "backend_idle",
    "backend_timeout",
    "bad_request",
    "client_gone",
    "head_too_large",
    "insufficient_scope",
    "invalid_host",
    "late_head",
    "limited",
    "malformed_head",
    "method_not_allowed",
    "no_backend",
    "no_client_certificate",
    "no_issuer",
    "no_lookup",
    "no_route",
    "no_session",
    "no_subject",
    "other_client_certificate",
    "other_origin",
    "preflight",
    "target_too_long",
    "tunnel_failed",
    "tunnel_idle",
    "unknown_coding",
    "unusable_certificate",
    "unusable_claim",
];

impl EventCounts {
    /// Adds a count of zero for each event whose names are known before it occurs.
    pub(crate) fn with_all(mut self) -> Self {
        let outcomes = UNANSWERED.into_iter().chain(TokenRefusal::ALL.map(TokenRefusal::name));
        for outcome in outcomes {
            self.unanswered.entry(outcome).or_default();
        }
        for direction in DIRECTIONS {
            self.clock_jumps.entry(direction).or_default();
        }
        self
    }
}

impl Events {
    pub(crate) fn count_unanswered(&self, outcome: &'static str) {
        *self.0.lock().unanswered.entry(outcome).or_default() += 1;
    }

    pub(crate) fn count_decision(&self, limit: &Arc<str>, verdict: &'static str) {
        *self.0.lock().decisions.entry((limit.clone(), verdict)).or_default() += 1;
    }

    pub(crate) fn count_lookup(&self, cache: &'static str, result: &'static str) {
        *self.0.lock().cache_lookups.entry((cache, result)).or_default() += 1;
    }

    pub(crate) fn count_clock_jump(&self, direction: &'static str) {
        *self.0.lock().clock_jumps.entry(direction).or_default() += 1;
    }

    pub(crate) fn read(&self) -> EventCounts {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{EventCounts, Events, UNANSWERED};
    use crate::token::TokenRefusal;

    #[test]
    fn each_outcome_is_documented_and_counts_from_the_start() {
        let document = include_str!("../../../../docs/gateway.md");
        let row = document.lines().find(|line| line.starts_with("| `outcome` |"));
        let row = row.expect("the row about outcomes");
        assert!(UNANSWERED.is_sorted());
        for outcome in UNANSWERED {
            assert!(row.contains(&format!("`{outcome}`")), "{outcome} is missing in gateway.md");
        }
        let events = Events::default();
        events.count_unanswered("limited");
        let EventCounts { unanswered, clock_jumps, .. } = events.read().with_all();
        assert_eq!((unanswered["limited"], unanswered["no_route"]), (1, 0));
        assert_eq!((unanswered["expired"], clock_jumps["back"]), (0, 0));
    }

    /// The code that ends requests, where each outcome is a text.
    const SOURCES: [&str; 6] = [
        include_str!("../refusal.rs"),
        include_str!("../forward/answer_body.rs"),
        include_str!("../forward/error.rs"),
        include_str!("../forward/tunnel.rs"),
        include_str!("../record/open.rs"),
        include_str!("../../../net/src/head_refusal.rs"),
    ];

    /// Texts of this code that look like outcomes, and are none.
    const OTHER_TEXTS: [&str; 5] = ["aborted", "access_token", "answered", "end", "refused"];

    #[test]
    fn no_outcome_of_the_code_is_missing() {
        let mut found = 0;
        for source in SOURCES {
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            for text in lines.flat_map(|line| line.split('"').skip(1).step_by(2)) {
                let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
                if text.len() < 2 || !text.bytes().all(is_name) || OTHER_TEXTS.contains(&text) {
                    continue;
                }
                let is_of_token = TokenRefusal::ALL.iter().any(|refusal| refusal.name() == text);
                assert!(UNANSWERED.contains(&text) || is_of_token, "`{text}` is not counted");
                found += 1;
            }
        }
        assert!(found >= UNANSWERED.len(), "only {found} outcomes were found in the code");
    }
}
