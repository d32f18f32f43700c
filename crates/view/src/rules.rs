//! The results of rules on the traffic of a log.

use std::fmt;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use weir_rules::{Decision, LineTally, LogCounts, Rule, RuleReport};

use crate::bytes::{hex_if_needed, lossy_text};
use crate::client_profile::ClientProfile;
use crate::json::write_json;
use crate::limit_curve::{LimitCurve, Suggestion};
use crate::looked_at::LookedAt;
use crate::number::instant_stamp;
use crate::sources::CountedSources;

/// The replays of several rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RulesReport {
    /// The rules, in the order in which they were named.
    pub rules: Vec<ReplayedRule>,
    /// The sources.
    #[serde(flatten)]
    pub read: CountedSources,
}

/// The result of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReplayedRule {
    /// Its name.
    pub name: String,
    /// Its family.
    pub family: String,
    /// The action of the rule, in the terms of its software.
    pub description: String,
    /// What the replay looked at.
    pub looked_at: LookedAt,
    /// How reliable the verdicts are.
    pub exactness: Exactness,
    /// The limits of the verdicts, each a sentence. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub notes: Vec<String>,
    /// The parts of the rule that the replay ignored, each a sentence. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub not_followed: Vec<String>,
    /// The rules of a set that the log cannot decide, by reason. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<LeftOutRules>>"))]
    pub left_out: Vec<LeftOutRules>,
    /// The numbers of keys, such as clients.
    pub keys: KeyCounts,
    /// The numbers of requests that the rule evaluated.
    pub requests: RequestCounts,
    /// The likeliest outcome, if the log's times only bound the arrivals. Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub estimate: Option<Estimate>,
    /// The keys that tripped the rule or may have, in descending order of margin.
    pub trips: Vec<ReplayedKey>,
    /// Other keys, those closest to the limit first.
    pub closest: Vec<ReplayedKey>,
    /// The requests that other settings would have caught. Left out if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<Step>>"))]
    pub steps: Vec<Step>,
    /// What every burst would have caught, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub curve: Option<LimitCurve>,
    /// The burst that the peaks suggest, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub suggestion: Option<Suggestion>,
    /// The bans, in order.
    pub bans: Vec<Ban>,
    /// The alerts, in order.
    pub alerts: Vec<Alert>,
    /// Who the listed keys, bans and alerts are about, if they are clients whose requests can be
    /// read again. Left out otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<ClientProfile>>"))]
    pub clients: Vec<ClientProfile>,
}

/// Rules of a set that a replay leaves out for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LeftOutRules {
    /// The reason, a sentence without its end.
    pub reason: String,
    /// The number of rules.
    pub rules: u64,
    /// The ids of the first of them.
    pub first_ids: Vec<String>,
}

/// How reliable verdicts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Exactness {
    /// The same verdicts as the software's.
    Exact,
    /// The same verdicts as the software's, except those that are undecided or depend on ignored
    /// parts of the rule.
    Bounded,
    /// A range, because the software's algorithm is not published.
    Band,
    /// Nothing was evaluated, so there is no verdict.
    Nothing,
}

impl Exactness {
    /// Returns the meaning as a phrase.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Exact => "exact, decision for decision",
            Self::Bounded => "certain, except those that the log leaves undecided",
            Self::Band => "a range, because the algorithm is not published",
            Self::Nothing => "none, because nothing was evaluated",
        }
    }
}

/// What happened to a request, or the worst that happened to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Let through at once.
    Passed,
    /// Let through later.
    Delayed,
    /// Refused.
    Rejected,
    /// The log does not determine it.
    Undecided,
}

/// Numbers of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct KeyCounts {
    /// The number of keys that the rule evaluated.
    pub seen: u64,
    /// The number of keys with a rejected request.
    pub tripped: u64,
    /// The number of keys whose outcome is undecided.
    pub undecided: u64,
}

/// The number of requests for each outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RequestCounts {
    /// Let through at once.
    pub passed: u64,
    /// Let through later.
    pub delayed: u64,
    /// Refused.
    pub rejected: u64,
    /// Undecided.
    pub undecided: u64,
}

/// The likeliest outcome of a rule over a log whose times only bound the arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// The number of keys with a rejected request, certain or likely.
    pub keys: u64,
    /// The number of rejected requests: at least the certain ones, at most the undecided ones more.
    pub rejected: u64,
}

/// A key, and how close it came to the limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReplayedKey {
    /// The key, with U+FFFD for bytes that are not UTF-8.
    pub key: String,
    /// All bytes of the key in hexadecimal, if some are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub key_hex: Option<String>,
    /// The limit that it came closest to, if the rule has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub limit: Option<String>,
    /// `rejected` if one of its requests was, `passed` if none was, otherwise `undecided`.
    pub verdict: Verdict,
    /// The time of its first rejected request, or of its peak.
    pub time: String,
    /// The source of that request.
    pub source: String,
    /// The line of that request, from 1.
    pub line: u64,
    /// The highest count that it reached without a limit, in requests.
    pub peak: f64,
    /// The minimum and maximum of the peak, if it is not known exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub peak_range: Option<[f64; 2]>,
    /// The peak minus the limit; positive if it is over.
    pub margin: f64,
    /// The number of its requests for each outcome.
    #[serde(flatten)]
    pub requests: RequestCounts,
    /// The likeliest number of its rejected requests. Left out if that is certain or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub likely_rejected: Option<u64>,
}

/// What another setting would have caught.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Step {
    /// The setting, as it is written in the rule.
    pub setting: String,
    /// The number of keys that would have tripped the rule.
    pub tripped: u64,
    /// The number of keys whose outcome is undecided.
    pub undecided: u64,
    /// The number of keys that would have tripped the rule, certainly or likely, if there is an
    /// estimate. Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub likely: Option<u64>,
}

/// A ban.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ban {
    /// The banned key.
    pub key: String,
    /// When it began.
    pub time: String,
    /// When it ended; null if it never ends.
    pub until: Option<String>,
    /// The source of the line that caused the ban.
    pub source: String,
    /// The line, from 1.
    pub line: u64,
    /// The lines that contributed to it.
    pub matches: Vec<LinePlace>,
    /// Whether the key was already banned.
    pub already_banned: bool,
}

/// The position of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LinePlace {
    /// The source.
    pub source: String,
    /// The line, from 1.
    pub line: u64,
}

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Alert {
    /// The scenario.
    pub scenario: String,
    /// The key that it is about, such as an address.
    pub source: String,
    /// When it was raised.
    pub time: String,
    /// The number of events that led to it.
    pub events: u64,
    /// The file with the last event.
    pub file: String,
    /// The line of the last event, from 1.
    pub line: u64,
}

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
}

impl ReplayedRule {
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
fn millionths(count: f64) -> f64 {
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

/// The decision about a request, for JSON.
#[derive(Debug, Serialize)]
struct DecisionLine<'a> {
    source: &'a str,
    line: u64,
    rule: &'a str,
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    verdict: Verdict,
    delay_ms: Option<u64>,
    excess: Option<f64>,
    /// The ids of the rules of a set that matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a [&'a str]>,
    /// The sum of their scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<i64>,
}

/// Writes a decision of a rule as a JSON object on a line of its own. `sources` are the source
/// names by number.
///
/// # Errors
/// Fails if `output` cannot be written.
pub fn write_decision(
    output: &mut impl Write,
    rule: &str,
    sources: &[String],
    decision: &Decision<'_>,
) -> io::Result<()> {
    let line = DecisionLine {
        source: sources.get(decision.source as usize).map_or("", String::as_str),
        line: decision.line,
        rule,
        key: lossy_text(decision.key),
        key_hex: hex_if_needed(decision.key),
        verdict: decision.verdict.into(),
        delay_ms: decision.delay_ms,
        excess: decision.excess.map(millionths),
        rules: decision.matched.as_ref().map(|matched| &*matched.ids),
        score: decision.matched.as_ref().and_then(|matched| matched.score),
    };
    write_json(output, &line)?;
    output.write_all(b"\n")
}
