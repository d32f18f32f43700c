//! The route of bytes through a running program with live numbers: the answer to `GET /route.json`
//! of `--admin`.

use std::ops::Add;

use serde::{Deserialize, Serialize};

/// What flows through a running program in each stage, and how fast.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Route {
    /// The length of the period of the rates, in seconds; absent before there are two measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub span: Option<f64>,
    /// The stages, in the order in which bytes and requests pass them.
    pub stages: Vec<RouteStage>,
    /// The stage that limits the rest.
    pub slowest: SlowestStage,
    /// What the process uses of its limits.
    #[serde(default)]
    pub limits: Vec<ServiceLimit>,
}

/// What a process uses of one of its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ServiceLimit {
    /// What is limited.
    pub limit: ServiceLimitKind,
    /// How much of it is used: bytes of memory, or a number.
    pub used: u64,
    /// The limit in the same unit; absent if the system states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub used_max: Option<u64>,
}

/// What a process has limits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ServiceLimitKind {
    /// Resident memory. The limit is that of the machine, the control group or the address space.
    Memory,
    /// Open file descriptors.
    Files,
    /// Memory of all data sets.
    DataMemory,
    /// Open connections to the page.
    PageConnections,
    /// Open connections to the gateway.
    GatewayConnections,
}

/// The stage that limits the rest, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct SlowestStage {
    /// Its index among the stages; absent if no stage limits the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub stage: Option<usize>,
    /// The reason as a sentence.
    pub reason: String,
}

/// A stage of the route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RouteStage {
    /// The kind of the stage.
    pub stage: RouteStageKind,
    /// The name of the source, listener, backend or data set; empty for other kinds. It may contain
    /// any character.
    pub name: String,
    /// Distinguishes stages of the same kind and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub number: Option<String>,
    /// The totals since the start.
    #[serde(flatten)]
    pub passed: Passed,
    /// The rates of the last second or so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rates: Option<PassedRates>,
    /// Whether the source has ended: all of it is in the data set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub has_ended: bool,
    /// The number of threads that work on the stage for data sets with an open source. They also
    /// work on other stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub threads: Option<u64>,
    /// The number of requests, views or questions that are in the stage at this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub in_flight: Option<u64>,
    /// The number of bytes that wait in the stage, or are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub held_bytes: Option<u64>,
    /// The limit of `held_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub held_bytes_max: Option<u64>,
    /// Whether the backend fails: the last requests have failed, or none of its servers is
    /// available.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_failing: bool,
    /// The number of servers of the backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub servers: Option<u64>,
    /// The number of servers that are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub servers_available: Option<u64>,
    /// The shares of the backend in the requests of routes with weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<RouteShare>>"))]
    pub shares: Vec<RouteShare>,
}

/// The share of a backend in the requests of a route, since its weights were set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RouteShare {
    /// The route, as in records.
    pub route: String,
    /// The share that the weights ask for, from 0 to 1.
    pub asked: f64,
    /// The share that it got, from 0 to 1; absent before the first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub got: Option<f64>,
}

/// The totals of a stage. Values that do not apply are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Passed {
    /// The number of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub bytes: Option<u64>,
    /// The number of records; for the gateway, of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub records: Option<u64>,
    /// The seconds of work of all threads or requests together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub busy: Option<f64>,
    /// The seconds that all threads or requests together waited for the next stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub waiting: Option<f64>,
    /// The number of requests that failed: a status from 500 on, or a response that ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub failed: Option<u64>,
}

/// The rates of a stage. Values that do not apply are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PassedRates {
    /// Bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub bytes: Option<f64>,
    /// Records or requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub records: Option<f64>,
    /// Seconds of work per second: the number of busy threads, or of requests being processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub busy: Option<f64>,
    /// Seconds of waiting per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub waiting: Option<f64>,
    /// Failed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub failed: Option<f64>,
}

/// The kinds of stages, in the order of the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RouteStageKind {
    /// A socket that receives lines.
    Listener,
    /// The gateway's own part of a request, up to the backend.
    Gateway,
    /// A backend of the gateway, until the head of its response.
    Backend,
    /// The clients of the gateway that receive a response.
    Client,
    /// A source of lines or records: a file, an upload, a listener, the gateway.
    Source,
    /// The parsers, while they read files themselves.
    Read,
    /// The queue between sources and parsers.
    Queue,
    /// The parsers.
    Parse,
    /// The parsers, while they append parsed records in order.
    Append,
    /// The data sets.
    Data,
    /// The answers to questions, and the live views of pages.
    View,
}

impl RouteStageKind {
    /// Returns the name for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Listener => "listener",
            Self::Gateway => "gateway",
            Self::Backend => "backend",
            Self::Client => "clients",
            Self::Source => "source",
            Self::Read => "read",
            Self::Queue => "queue",
            Self::Parse => "parse",
            Self::Append => "append",
            Self::Data => "data",
            Self::View => "views",
        }
    }
}

impl RouteStage {
    /// Creates a stage with no totals.
    pub fn new(stage: RouteStageKind, name: &str) -> Self {
        Self {
            stage,
            name: name.to_owned(),
            number: None,
            passed: Passed::default(),
            rates: None,
            has_ended: false,
            threads: None,
            in_flight: None,
            held_bytes: None,
            held_bytes_max: None,
            is_failing: false,
            servers: None,
            servers_available: None,
            shares: Vec::new(),
        }
    }

    /// Returns whether both are the same stage at different times. The name of a data set appears
    /// only while there are others.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_same_name = self.name == other.name || self.stage == RouteStageKind::View;
        self.stage == other.stage && self.number == other.number && is_same_name
    }

    /// Returns whether it has the views of all data sets that have no stage of their own. The
    /// totals of a data set move to it when the data set ends.
    pub fn is_of_other_views(&self) -> bool {
        self.stage == RouteStageKind::View && self.number.is_none()
    }
}

impl Add for Passed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        fn sum<T: Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
            match (one, other) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            }
        }
        Self {
            bytes: sum(self.bytes, other.bytes),
            records: sum(self.records, other.records),
            busy: sum(self.busy, other.busy),
            waiting: sum(self.waiting, other.waiting),
            failed: sum(self.failed, other.failed),
        }
    }
}

impl Passed {
    /// Computes the rates, given the totals `seconds` ago.
    pub fn rates_since(&self, before: &Self, seconds: f64) -> PassedRates {
        let count = |now: Option<u64>, before: Option<u64>| {
            Some(now?.saturating_sub(before.unwrap_or_default()) as f64 / seconds)
        };
        let time = |now: Option<f64>, before: Option<f64>| {
            Some((now? - before.unwrap_or_default()).max(0.0) / seconds)
        };
        PassedRates {
            bytes: count(self.bytes, before.bytes),
            records: count(self.records, before.records),
            busy: time(self.busy, before.busy),
            waiting: time(self.waiting, before.waiting),
            failed: count(self.failed, before.failed),
        }
    }
}
