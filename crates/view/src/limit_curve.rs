//! What other bursts of a limit would have caught, for a picture.

use serde::{Deserialize, Serialize};

/// How many clients and requests each burst of a limit catches, at its rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LimitCurve {
    /// The rate, in requests in a second.
    pub rate: f64,
    /// The burst of the limit itself.
    pub burst: u32,
    /// Bursts in ascending order, from 0 to the first that catches nothing.
    pub points: Vec<CurvePoint>,
    /// The highest peaks, in descending order: a burst catches those above it.
    pub peaks: Vec<f64>,
}

/// What a burst catches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct CurvePoint {
    /// The burst.
    pub burst: u32,
    /// The keys of which a request is rejected.
    pub keys: u64,
    /// The rejected requests.
    pub requests: u64,
}

/// The burst that the peaks argue for: in the widest gap between those of most keys and those of a
/// few.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Suggestion {
    /// The burst.
    pub burst: u32,
    /// The keys over it.
    pub keys: u64,
    /// The requests of them that it rejects.
    pub requests: u64,
    /// The highest peak of the other keys.
    pub highest_below: f64,
    /// The lowest peak of those over it; null if the burst is over all peaks.
    pub lowest_above: Option<f64>,
}
