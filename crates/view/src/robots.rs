//! Robots that do not call themselves so.

use serde::{Deserialize, Serialize};

use crate::number::is_zero;
use crate::row_value::RowValue;

/// The clients of the matching requests that behave as robots and do not call themselves so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Robots {
    /// The clients that are like robots, without those of cohorts.
    pub clients: RobotSums,
    /// As `clients`, of those whose agent calls itself a robot. They have no rows.
    pub declared: RobotSums,
    /// The number of cohorts.
    pub cohorts: u64,
    /// The clients of all cohorts.
    pub cohort_clients: RobotSums,
    /// The clients with the most requests.
    pub rows: Vec<RobotClient>,
    /// The cohorts with the most requests.
    pub cohort_rows: Vec<RobotCohort>,
    /// Whether some client asked for a file that pages embed. Otherwise the lack of such requests is
    /// not a reason, and there are no cohorts.
    pub has_assets: bool,
    /// Whether some request has a referrer. Otherwise the lack of one is not a reason.
    pub has_referers: bool,
    /// The requests without a client, or whose client is not known because memory ran out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unattributed: u64,
    /// If there are too many clients, one in so many is judged, and all sums but those of `rows` are
    /// estimates. Left out if all are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sampled: u64,
}

/// What some clients cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotSums {
    /// The number of clients.
    pub clients: u64,
    /// Their requests.
    pub requests: u64,
    /// The bytes that were sent to them.
    pub bytes_sent: u64,
    /// Their requests with a status of 400 or more.
    pub errors: u64,
}

/// A client that is like a robot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotClient {
    /// The client.
    #[serde(flatten)]
    pub value: RowValue,
    /// What it costs; `clients` is 1.
    #[serde(flatten)]
    pub sums: RobotSums,
    /// Its agent; left out if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it is like a robot.
    pub reasons: Vec<RobotReason>,
}

/// Many clients of few requests each that share an agent and a pattern of paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotCohort {
    /// The agent.
    #[serde(flatten)]
    pub value: RowValue,
    /// The first segment of a path that each of them asked for, with `N` for numbers, and `/*` if
    /// others follow.
    pub pattern: String,
    /// What they cost.
    #[serde(flatten)]
    pub sums: RobotSums,
    /// The clients with this agent and pattern that did ask for files that pages embed.
    pub others: u64,
}

/// What of the behaviour of a client is that of a robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RobotReason {
    /// It asked for /robots.txt.
    RobotsTxt,
    /// It made five requests or more, and none for a file that pages embed.
    NoAssets,
    /// It made five requests or more, and none with a referrer.
    NoReferer,
    /// Six of the gaps between its first nine requests, or more, are the same.
    EvenGaps,
    /// It asked for eight or more paths, and for nearly each of them once.
    ManyPathsOnce,
}

impl RobotReason {
    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::RobotsTxt => "robots.txt",
            Self::NoAssets => "no assets",
            Self::NoReferer => "no referrer",
            Self::EvenGaps => "even gaps",
            Self::ManyPathsOnce => "many paths once",
        }
    }
}
