//! What other rates and bursts of a limit would have caught, for a chart, and the setting that the
//! log suggests.

use serde::{Deserialize, Serialize};

use crate::limit_curve::{JudgedClient, Suggestion};

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

/// The setting that the log suggests, and the clients next to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitAdvice {
    /// The setting. It spares every client that looks like a person or is good.
    pub suggestion: Suggestion,
    /// The positions of its rate and burst in those of the grid.
    pub at: [usize; 2],
    /// The client with the lowest peak above the burst; null if there is none, or it is no client.
    pub slowest_rejected: Option<JudgedClient>,
}
