//! The route of a running program with live numbers, which `GET /route.json` of `--admin` answers with.

use serde::{Deserialize, Serialize};

/// What flows through a running program, stage by stage, and how fast.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// The length in seconds of the time that the rates are of; absent before there are two moments to
    /// compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<f64>,
    /// The stages, in the order in which bytes and requests pass them.
    pub stages: Vec<RouteStage>,
    /// What the rest waits for.
    pub slowest: SlowestStage,
}

/// The stage that the rest waits for, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowestStage {
    /// Its index among the stages; absent if nothing waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<usize>,
    /// A sentence.
    pub reason: String,
}

/// A stage of the route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RouteStage {
    /// What it is.
    pub stage: RouteStageKind,
    /// Its name among those of its kind: of a source, a listener, a backend; otherwise empty. It may hold any
    /// character.
    pub name: String,
    /// Tells stages of one kind and one name apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// What has passed since the start.
    #[serde(flatten)]
    pub passed: Passed,
    /// The same for a second, of the last seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates: Option<PassedRates>,
    /// The threads that work on it, which also work on other stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
    /// Bytes that wait in it, or are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes: Option<u64>,
    /// Bytes that may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_bytes_max: Option<u64>,
}

/// What has passed a stage. What does not apply is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Records; of the gateway, requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Seconds of work, of all threads or requests together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Seconds of waiting for the next stage, of all threads or requests together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
}

/// What passes a stage in a second. What does not apply is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PassedRates {
    /// Bytes a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Records or requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<f64>,
    /// Seconds of work in a second: threads that are busy, or requests that are worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Seconds of waiting in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<f64>,
}

/// The kinds of stages, in the order of the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteStageKind {
    /// A socket for lines.
    Listener,
    /// The time of requests in the gateway itself, to a backend.
    Gateway,
    /// A backend of the gateway, until the head of its answer.
    Backend,
    /// The clients of the gateway that take an answer.
    Client,
    /// A source of lines or records: a file, an upload, a listener, the gateway.
    Source,
    /// The parsers, while they read files themselves.
    Read,
    /// The queue between sources and parsers.
    Queue,
    /// The parsers.
    Parse,
    /// The parsers, while they append what they have parsed in its order.
    Append,
    /// The data sets.
    Data,
}

impl RouteStageKind {
    /// The word for people.
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
        }
    }
}

impl RouteStage {
    /// A stage that nothing has passed.
    pub fn new(stage: RouteStageKind, name: &str) -> Self {
        Self {
            stage,
            name: name.to_owned(),
            number: None,
            passed: Passed::default(),
            rates: None,
            threads: None,
            held_bytes: None,
            held_bytes_max: None,
        }
    }

    /// Whether it is the same stage at another moment.
    pub fn is_same(&self, other: &Self) -> bool {
        self.stage == other.stage && self.number == other.number && self.name == other.name
    }
}

impl Passed {
    /// What passes in a second, from what had passed `seconds` before.
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
        }
    }
}
