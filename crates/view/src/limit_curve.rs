//! What other bursts of a limit would have caught, for a chart.

use serde::{Deserialize, Serialize};

use crate::client_profile::ClientLooks;

/// The number of clients and requests that each burst of a limit catches, at the limit's rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitCurve {
    /// The rate, in requests per second.
    pub rate: f64,
    /// The limit's own burst.
    pub burst: u32,
    /// Bursts in ascending order, from 0 to the first that catches nothing.
    pub points: Vec<CurvePoint>,
    /// The highest peaks in descending order. A burst catches those above it.
    pub peaks: Vec<f64>,
}

/// The effect of one burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CurvePoint {
    /// The burst.
    pub burst: u32,
    /// The number of keys with a rejected request.
    pub keys: u64,
    /// The number of rejected requests.
    pub requests: u64,
}

/// The burst that the peaks suggest. It lies in the widest gap between the peaks of most keys and
/// those of a few.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Suggestion {
    /// The burst; of a limit without one the number that a key may have, such as `maxretry`.
    pub burst: u32,
    /// The number of keys above it.
    pub keys: u64,
    /// The number of requests of these keys that it rejects.
    pub requests: u64,
    /// The highest peak of the other keys.
    pub highest_below: f64,
    /// The lowest peak of the keys above it; null if no peak is above.
    pub lowest_above: Option<f64>,
    /// The rate that it belongs to, if others than that of the limit were tried. Left out
    /// otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub rate: Option<String>,
    /// The busiest client that looks like a person or is good. Left out if there is none or clients
    /// are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub busiest_spared: Option<JudgedClient>,
    /// All suggested numbers in words, such as `12 in 1h`, for a rule other than `limit_req`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub setting: Option<String>,
    /// The text of the rule with the suggested numbers, for a rule other than `limit_req`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub text: Option<String>,
    /// The zone whose limit has these numbers, if the rule has several limits. The keys and requests
    /// are those that all limits reject then. Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub limit: Option<String>,
    /// The first clients that look like a person or are good, and that the other limits reject. Left
    /// out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<JudgedClient>>"))]
    pub rejected_by_others: Vec<JudgedClient>,
}

/// A client next to a suggested limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct JudgedClient {
    /// Its address.
    pub client: String,
    /// Its peak at the suggested rate.
    pub peak: f64,
    /// What it looks like.
    pub looks: ClientLooks,
}
