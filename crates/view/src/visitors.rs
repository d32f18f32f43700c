//! The visitors of a report.

use serde::{Deserialize, Serialize};
use weir_core::{Date, DayVisitors, VisitorCounts};

use crate::number::is_zero;

/// The visitors of the matching requests, and their visits.
///
/// A visitor of a day is a client with an agent. A visit ends after 30 minutes without a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visitors {
    /// The sum of the visitors of all days: one that comes on two days counts twice.
    pub visitors: u64,
    /// The largest difference from the true number; left out if `visitors` is exact.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visitors_error_max: u64,
    /// The distinct clients with an agent over all days.
    pub distinct_visitors: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub distinct_visitors_error_max: u64,
    /// The number of visits.
    pub visits: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visits_error_max: u64,
    /// The requests whose client or agent is not known, because memory ran out. They are part of
    /// every error. Left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unattributed: u64,
    /// The days with visitors, in order.
    pub days: Vec<VisitorDay>,
}

/// The visitors of a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VisitorDay {
    /// The date in the zone of the report, such as `2025-12-17`.
    pub date: String,
    /// The distinct clients with an agent.
    pub visitors: u64,
    /// The largest difference from the true number; left out if `visitors` is exact.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visitors_error_max: u64,
    /// The visits that began on this day.
    pub visits: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visits_error_max: u64,
}

impl From<&VisitorCounts> for Visitors {
    fn from(counts: &VisitorCounts) -> Self {
        Self {
            visitors: counts.visitors.value,
            visitors_error_max: counts.visitors.error_max,
            distinct_visitors: counts.distinct.value,
            distinct_visitors_error_max: counts.distinct.error_max,
            visits: counts.visits.value,
            visits_error_max: counts.visits.error_max,
            unattributed: counts.unattributed,
            days: counts.days.iter().map(VisitorDay::from).collect(),
        }
    }
}

impl From<&DayVisitors> for VisitorDay {
    fn from(counted: &DayVisitors) -> Self {
        let Date { year, month, day } = Date::from_days(counted.day);
        Self {
            date: format!("{year:04}-{month:02}-{day:02}"),
            visitors: counted.visitors.value,
            visitors_error_max: counted.visitors.error_max,
            visits: counted.visits.value,
            visits_error_max: counted.visits.error_max,
        }
    }
}
