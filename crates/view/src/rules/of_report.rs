//! Makes the answer that is shown of the report of a replay.

use std::fmt;

use weir_rules::{LineTally, LogCounts, Rule, RuleReport};

use super::{
    Alert, Ban, Estimate, Exactness, KeyCounts, LeftOutRules, LinePlace, ReplayedKey, ReplayedRule,
    RequestCounts, Step, Verdict,
};
use crate::bytes::{hex_if_needed, lossy_text};
use crate::number::instant_stamp;

impl ReplayedRule {
    /// Creates the report of a rule. `log` and `tally` are what the replay looked at; see
    /// [`Rule::looked_at`]. `sources` are the source names by number.
    pub fn new(
        rule: &dyn Rule,
        report: RuleReport,
        log: &LogCounts,
        tally: &LineTally,
        sources: &[String],
    ) -> Self {
        let looked_at = rule.looked_at(log, tally, report.requests.all());
        let name = |source: u32| sources.get(source as usize).cloned().unwrap_or_default();
        let key = |trip: weir_rules::Trip| ReplayedKey {
            key: lossy_text(&trip.key),
            key_hex: hex_if_needed(&trip.key),
            limit: trip.limit,
            verdict: trip.verdict.into(),
            time: instant_stamp(trip.time_ns),
            source: name(trip.source),
            line: trip.line,
            peak: millionths(trip.peak),
            peak_range: (trip.peak_range.0 < trip.peak_range.1)
                .then_some([millionths(trip.peak_range.0), millionths(trip.peak_range.1)]),
            margin: millionths(trip.margin),
            requests: trip.requests.into(),
            likely_rejected: trip.likely_rejected,
        };
        let ban = |ban: weir_rules::Ban| Ban {
            key: lossy_text(&ban.key),
            time: instant_stamp(ban.time_ns),
            until: ban.until_ns.map(instant_stamp),
            source: name(ban.source),
            line: ban.line,
            matches: ban
                .matches
                .into_iter()
                .map(|(source, line)| LinePlace { source: name(source), line })
                .collect(),
            already_banned: ban.already_banned,
        };
        let alert = |alert: weir_rules::Alert| Alert {
            scenario: alert.scenario,
            source: lossy_text(&alert.subject),
            time: instant_stamp(alert.time_ns),
            events: alert.events,
            file: name(alert.source),
            line: alert.line,
        };
        let step = |step: weir_rules::Step| Step {
            setting: step.setting,
            tripped: step.tripped,
            undecided: step.undecided,
            likely: step.likely,
        };
        let weir_rules::KeyCounts { seen, tripped, undecided } = report.keys;
        let mut notes = report.notes;
        let missed = looked_at.unparsed + log.left_out.unwrap_or(0);
        notes.extend(missed_note(missed));
        notes.extend(rule.omitted_rules().iter().map(ToString::to_string));
        let not_followed = rule.notes().iter().map(ToString::to_string).collect();
        Self {
            name: rule.name().to_owned(),
            family: rule.family().name().to_owned(),
            description: rule.description(),
            exactness: match report.exactness {
                _ if looked_at.evaluated == 0 => Exactness::Nothing,
                weir_rules::Exactness::Exact if rule.notes().is_empty() && missed == 0 => {
                    Exactness::Exact
                }
                weir_rules::Exactness::Exact | weir_rules::Exactness::Bounded => Exactness::Bounded,
                weir_rules::Exactness::Assumed => Exactness::Assumed,
                weir_rules::Exactness::Band => Exactness::Band,
            },
            notes,
            not_followed,
            left_out: rule.left_out().into_iter().map(LeftOutRules::from).collect(),
            looked_at: looked_at.into(),
            keys: KeyCounts { seen, tripped, undecided },
            requests: report.requests.into(),
            estimate: report
                .estimate
                .map(|weir_rules::Estimate { keys, rejected }| Estimate { keys, rejected }),
            trips: report.trips.into_iter().map(key).collect(),
            closest: report.closest.into_iter().map(key).collect(),
            curve: None,
            suggestion: None,
            steps: report.steps.into_iter().map(step).collect(),
            bans: report.bans.into_iter().map(ban).collect(),
            alerts: report.alerts.into_iter().map(alert).collect(),
            clients: Vec::new(),
        }
    }

    /// Adds notes on the parts of the rule that the log cannot decide, before all others.
    #[must_use]
    pub fn without_parts(mut self, parts: Vec<String>) -> Self {
        if !parts.is_empty() && self.exactness == Exactness::Exact {
            self.exactness = Exactness::Bounded;
        }
        self.notes.splice(0..0, parts);
        self
    }

    /// Adds the reason why the rule was not evaluated, which comes before any other.
    #[must_use]
    pub fn not_evaluated(mut self, why: impl fmt::Display) -> Self {
        self.looked_at.nothing = Some(why.to_string());
        self
    }
}

/// A note on lines that a rule did not see, although they may be requests.
fn missed_note(unparsed: u64) -> Option<String> {
    let (lines, they) = match unparsed {
        0 => return None,
        1 => ("1 line is".to_owned(), "it is a request"),
        lines => (format!("{} lines are", crate::number::separated(lines)), "they are requests"),
    };
    Some(format!("{lines} in no known format; if {they}, verdicts about those clients may differ"))
}

/// Rounds a count to millionths, to hide traces of binary fractions: 2.6, not 2.5999999999999996.
pub(super) fn millionths(count: f64) -> f64 {
    (count * 1e6).round() / 1e6
}

impl From<weir_rules::LeftOutRules> for LeftOutRules {
    fn from(left_out: weir_rules::LeftOutRules) -> Self {
        let weir_rules::LeftOutRules { reason, rules, first_ids } = left_out;
        Self { reason, rules, first_ids }
    }
}

impl From<weir_rules::Verdict> for Verdict {
    fn from(verdict: weir_rules::Verdict) -> Self {
        match verdict {
            weir_rules::Verdict::Passed => Self::Passed,
            weir_rules::Verdict::Delayed => Self::Delayed,
            weir_rules::Verdict::Rejected => Self::Rejected,
            weir_rules::Verdict::Undecided => Self::Undecided,
        }
    }
}

impl From<weir_rules::RequestCounts> for RequestCounts {
    fn from(counts: weir_rules::RequestCounts) -> Self {
        let weir_rules::RequestCounts { passed, delayed, rejected, undecided } = counts;
        Self { passed, delayed, rejected, undecided }
    }
}
