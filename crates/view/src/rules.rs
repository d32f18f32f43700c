//! The results of rules on the traffic of a log.

mod decision_line;
mod of_report;

use serde::{Deserialize, Serialize};

pub use self::decision_line::write_decision;
use crate::client_profile::ClientProfile;
use crate::limit_curve::{LimitCurve, Suggestion};
use crate::looked_at::LookedAt;
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
    /// Rejections are the software's. The other verdicts are, unless a rule matches that tests what
    /// the log does not have.
    Assumed,
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
            Self::Assumed => {
                "rejections are certain; the others hold unless a rule matches that tests what the \
                 log does not have"
            }
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
