//! The clients over a limit that should not be.

use serde::{Deserialize, Serialize};

/// The clients that a rule catches and that look good. Only keys that are addresses are judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Collateral {
    /// The keys that trip the rule and are addresses.
    pub judged: u64,
    /// Those of them that look good.
    pub good: u64,
    /// The rejected requests of the good ones.
    pub requests: u64,
    /// The good ones by reason, of which a client may have several. Reasons of none are left out.
    pub reasons: Vec<ReasonCount>,
    /// The good clients that are listed: those that trip the rule, the highest margin first, and
    /// those that came close.
    pub clients: Vec<GoodClient>,
    /// The peaks of all good clients in descending order, if the rule has a curve: a burst catches
    /// those above it. The highest 10,000.
    pub peaks: Vec<f64>,
    /// Whether some values were not kept, because memory ran out, so that more may be good.
    pub is_incomplete: bool,
}

/// A number of clients with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReasonCount {
    /// The reason.
    pub reason: GoodReason,
    /// The clients.
    pub keys: u64,
}

/// A client that looks good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GoodClient {
    /// Its address.
    pub key: String,
    /// Why.
    pub reasons: Vec<GoodReason>,
}

/// Why a client looks good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GoodReason {
    /// A request with a user was answered with a status below 400.
    SignedIn,
    /// An agent of it is that of a search engine. Agents are only claims.
    SearchCrawler,
    /// An agent of it is that of a monitor. Agents are only claims.
    Monitor,
    /// It is in a network that the person named.
    NamedNetwork,
}

impl GoodReason {
    /// All reasons.
    pub const ALL: [Self; 4] =
        [Self::SignedIn, Self::SearchCrawler, Self::Monitor, Self::NamedNetwork];
}
