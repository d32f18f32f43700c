//! What other rates and bursts of a limit would have caught, for a chart, and the setting that the
//! log suggests.

use serde::{Deserialize, Serialize};

use crate::limit_curve::Suggestion;

/// The number of keys and requests that each rate and burst of a limit catches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitGrid {
    /// The rates, in ascending order.
    pub rates: Vec<GridRate>,
    /// The bursts, in ascending order.
    pub bursts: Vec<u32>,
    /// The number of keys with a rejected request: a list for each rate, with a number for each
    /// burst.
    pub keys: Vec<Vec<u64>>,
    /// The number of rejected requests, in the same form.
    pub requests: Vec<Vec<u64>>,
    /// The positions of the limit's own rate and burst in `rates` and `bursts`.
    pub own: [usize; 2],
    /// The setting that the log suggests; null if there are no requests.
    pub advice: Option<LimitAdvice>,
}

/// A rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GridRate {
    /// The rate as it is written in a rule, such as `5r/s`.
    pub setting: String,
    /// The rate in requests per second.
    pub per_second: f64,
}

/// The burst that the log suggests at the limit's own rate, and the clients next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitAdvice {
    /// The burst.
    pub suggestion: Suggestion,
    /// Its position in the bursts of the grid.
    pub at: usize,
    /// The client with the highest peak within the burst, among those that look human.
    pub busiest_human: Option<NotedClient>,
    /// The client with the lowest peak above the burst, among those that look neither human nor
    /// good.
    pub slowest_attack: Option<NotedClient>,
}

/// A client close to a limit.
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
