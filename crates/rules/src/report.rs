//! The report of a replay, as plain data.

use std::ops::AddAssign;

/// The reliability of a replay's verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// Every verdict is that of the software.
    Exact,
    /// Verdicts are those of the software, or undecided, because the log's times are too coarse.
    Bounded,
    /// Rejections are those of the software. The other verdicts are, unless a rule matches that tests
    /// what the log does not have.
    Assumed,
    /// The algorithm of the software is not published; a range is given.
    Band,
}

/// The verdict about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The request passed immediately.
    Passed,
    /// The request passed after a delay.
    Delayed,
    /// The request was rejected.
    Rejected,
    /// The log does not determine the verdict.
    Undecided,
}

/// The decision about one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<'a> {
    /// The number of the source.
    pub source: u32,
    /// The line in the source, from 1.
    pub line: u64,
    /// The key of the limit that decided.
    pub key: &'a [u8],
    /// The verdict.
    pub verdict: Verdict,
    /// How long the request waited, in milliseconds, if that is known.
    pub delay_ms: Option<u64>,
    /// The count that the rule compares with its limit, in requests, if that is known.
    pub excess: Option<f64>,
    /// The rules of a set that matched, if the rule is such a set.
    pub matched: Option<MatchedRules<'a>>,
}

/// The rules of a set that matched a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedRules<'a> {
    /// Their ids, in the order in which they matched.
    pub ids: Vec<&'a str>,
    /// The sum of their scores, if the set has one.
    pub score: Option<i64>,
}

/// Rules of a set that a replay leaves out for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutRules {
    /// The reason, a sentence without its end.
    pub reason: String,
    /// The number of rules.
    pub rules: u64,
    /// The ids of the first of them.
    pub first_ids: Vec<String>,
}

/// The numbers of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// Keys of the requests that the rule applied to.
    pub seen: u64,
    /// Keys of which a request was rejected.
    pub tripped: u64,
    /// Keys for which the log does not determine that.
    pub undecided: u64,
}

/// The numbers of requests by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

impl RequestCounts {
    /// Returns the number of all requests.
    pub fn all(&self) -> u64 {
        self.passed + self.delayed + self.rejected + self.undecided
    }

    /// Counts a request.
    pub(crate) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Delayed => self.delayed += 1,
            Verdict::Rejected => self.rejected += 1,
            Verdict::Undecided => self.undecided += 1,
        }
    }
}

impl AddAssign for RequestCounts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.delayed += other.delayed;
        self.rejected += other.rejected;
        self.undecided += other.undecided;
    }
}

/// A key, how close it came to the limit of a rule, and the verdicts about its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Trip {
    /// The key, as the rule has it.
    pub key: Vec<u8>,
    /// The limit of the rule that the key came closest to, if the rule has several.
    pub limit: Option<String>,
    /// Whether a request was rejected: [`Verdict::Rejected`], [`Verdict::Passed`] if none was, or
    /// [`Verdict::Undecided`].
    pub verdict: Verdict,
    /// The time of the first request over the limit, or of the peak if there is none, in
    /// nanoseconds since 1970.
    pub time_ns: i64,
    /// The source of that request.
    pub source: u32,
    /// The line of that request in the source, from 1.
    pub line: u64,
    /// The highest count that the key would have reached without a limit, in requests.
    pub peak: f64,
    /// The lowest and the highest possible value of the peak.
    pub peak_range: (f64, f64),
    /// The peak less the limit: positive if the limit was exceeded.
    pub margin: f64,
    /// The numbers of the key's requests by verdict.
    pub requests: RequestCounts,
    /// The likeliest number of rejected requests, if only bounds are certain: at least those of
    /// `requests`, and at most the undecided ones more.
    pub likely_rejected: Option<u64>,
}

impl Trip {
    /// Returns whether a request was rejected, certainly or likely.
    pub fn is_likely(&self) -> bool {
        self.verdict == Verdict::Rejected || self.likely_rejected > Some(0)
    }

    /// Returns the number of rejected requests: the likeliest one if it is not certain.
    pub fn rejected(&self) -> u64 {
        self.likely_rejected.unwrap_or(self.requests.rejected)
    }
}

/// The likeliest outcome of a replay of which only bounds are certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The keys of which a request was rejected, for certain or likely.
    pub keys: u64,
    /// The rejected requests, at least those that certainly were.
    pub rejected: u64,
}

/// A ban of a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Ban {
    /// The key.
    pub key: Vec<u8>,
    /// When it began, in nanoseconds since 1970.
    pub time_ns: i64,
    /// When it ended; `None` if never.
    pub until_ns: Option<i64>,
    /// The source of the line that led to it.
    pub source: u32,
    /// The line, from 1.
    pub line: u64,
    /// The lines that led to it, by source and number.
    pub matches: Vec<(u32, u64)>,
    /// Whether the key was banned already.
    pub already_banned: bool,
}

/// An alert of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// The scenario's name.
    pub scenario: String,
    /// The address or other text that the alert is about.
    pub subject: Vec<u8>,
    /// When, in nanoseconds since 1970.
    pub time_ns: i64,
    /// The number of events that led to it.
    pub events: u64,
    /// The source of the line that led to it.
    pub source: u32,
    /// The line, from 1.
    pub line: u64,
}

/// The keys that another setting of a rule would have caught.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The setting, as it is written in the rule.
    pub setting: String,
    /// The keys of which a request would have been rejected.
    pub tripped: u64,
    /// The keys for which the log does not determine that.
    pub undecided: u64,
    /// The keys of which a request would likely have been rejected, the certain ones among them; if
    /// there is an estimate.
    pub likely: Option<u64>,
}

/// The result of replaying a rule over a log.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleReport {
    /// How far the verdicts can be relied on.
    pub exactness: Exactness,
    /// The limits of the verdicts, each a sentence.
    pub notes: Vec<String>,
    /// The keys.
    pub keys: KeyCounts,
    /// The requests that the rule saw.
    pub requests: RequestCounts,
    /// The likeliest outcome, if the log's times only bound the arrivals.
    pub estimate: Option<Estimate>,
    /// The keys over the limit, and those that may be, the highest margin first.
    pub trips: Vec<Trip>,
    /// Some of the other keys, those closest to the limit.
    pub closest: Vec<Trip>,
    /// The keys that other settings would have caught, if that follows from the same replay.
    pub steps: Vec<Step>,
    /// Bans in their order.
    pub bans: Vec<Ban>,
    /// Alerts in their order.
    pub alerts: Vec<Alert>,
}
