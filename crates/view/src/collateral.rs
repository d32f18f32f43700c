//! The good clients that a rule catches.

use serde::{Deserialize, Serialize};

/// The good clients that a rule catches. Only keys that are addresses are judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Collateral {
    /// The number of keys that trip the rule and are addresses.
    pub judged: u64,
    /// The number of good clients among them.
    pub good: u64,
    /// The number of rejected requests of these good clients.
    pub requests: u64,
    /// The number of good clients for each reason. A client may have several. Reasons without
    /// clients are left out.
    pub reasons: Vec<ReasonCount>,
    /// The listed good clients: first those that trip the rule, in descending order of margin, then
    /// those that came close.
    pub clients: Vec<GoodClient>,
    /// The peaks of all good clients in descending order, if the rule has a curve; at most 10,000.
    /// A burst catches those above it.
    pub peaks: Vec<f64>,
    /// Whether memory ran out, so that some values are missing and more clients may be good.
    pub is_incomplete: bool,
}

/// The number of clients with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReasonCount {
    /// The reason.
    pub reason: GoodReason,
    /// The number of clients.
    pub keys: u64,
}

/// A good client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GoodClient {
    /// Its address.
    pub key: String,
    /// Why it is good.
    pub reasons: Vec<GoodReason>,
}

/// Why a client is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum GoodReason {
    /// A request with a user was answered with a status below 400.
    SignedIn,
    /// One of its user agents is a search engine's. User agents can be forged.
    SearchCrawler,
    /// One of its user agents is a monitor's. User agents can be forged.
    Monitor,
    /// It is in a network that the user named.
    NamedNetwork,
}

impl GoodReason {
    /// All reasons.
    pub const ALL: [Self; 4] =
        [Self::SignedIn, Self::SearchCrawler, Self::Monitor, Self::NamedNetwork];
}
