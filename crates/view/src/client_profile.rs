//! What is known of a client from its requests in a log.

use serde::{Deserialize, Serialize};

use crate::collateral::GoodReason;

/// What the requests of a client in a log say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ClientProfile {
    /// Its address, as in the log.
    pub client: String,
    /// What it looks like.
    pub looks: ClientLooks,
    /// Why it is good. Left out if nothing says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<GoodReason>>"))]
    pub good: Vec<GoodReason>,
    /// The first program that it names, such as `curl` or `Googlebot`; its browser if it names none.
    /// Left out if no request has an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub agent: Option<String>,
    /// The path of its first request. Left out if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub first_path: Option<String>,
    /// The number of its requests.
    pub requests: u64,
    /// Those of them that were answered with a status of 400 or more.
    pub errors: u64,
}

/// What a client looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ClientLooks {
    /// No agent of a program, and it signed in, or loaded a page and a file that pages embed.
    Person,
    /// Its agent names the crawler of a search engine.
    Crawler,
    /// Its agent names a monitor.
    Monitor,
    /// It asked for what scanners ask for, or most of its requests failed.
    Attack,
    /// Its agent is that of a program, or is missing.
    Program,
    /// Nothing of these.
    Unknown,
}

impl ClientLooks {
    /// The word for it. An agent can be forged, so a crawler is claimed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Crawler => "crawler (claimed)",
            Self::Monitor => "monitor (claimed)",
            Self::Attack => "attack",
            Self::Program => "program",
            Self::Unknown => "unknown",
        }
    }
}
