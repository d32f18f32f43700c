//! What other rates and bursts of a limit would have caught, as a picture, and the setting that
//! the log argues for.

use serde::{Deserialize, Serialize};

use crate::limit_curve::Suggestion;

/// How many keys and requests each rate and burst of a limit catches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitGrid {
    /// The rates, in ascending order.
    pub rates: Vec<GridRate>,
    /// The bursts, in ascending order.
    pub bursts: Vec<u32>,
    /// The keys of which a request is rejected: a list for each rate, with a number for each burst.
    pub keys: Vec<Vec<u64>>,
    /// The rejected requests, in the same order.
    pub requests: Vec<Vec<u64>>,
    /// The positions of the limit's own rate and burst in `rates` and `bursts`.
    pub own: [usize; 2],
    /// What the log argues for; null without requests.
    pub advice: Option<LimitAdvice>,
}

/// A rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GridRate {
    /// As it is written in a rule, such as `5r/s`.
    pub setting: String,
    /// In requests in a second.
    pub per_second: f64,
}

/// The burst that the log argues for, at the rate of the limit itself, and who is next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitAdvice {
    /// The burst.
    pub suggestion: Suggestion,
    /// Its position in the bursts of the grid.
    pub at: usize,
    /// Of the clients that look human, the one with the highest peak within the burst.
    pub busiest_human: Option<NotedClient>,
    /// Of the clients over the burst that look neither human nor good, the one with the lowest peak.
    pub slowest_attack: Option<NotedClient>,
}

/// A client next to a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct NotedClient {
    /// Its address.
    pub key: String,
    /// Its peak, in requests.
    pub peak: f64,
    /// Whether it signed in.
    pub is_signed_in: bool,
}
