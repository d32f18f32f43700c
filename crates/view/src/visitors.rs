//! The visitors of a report.

use serde::{Deserialize, Serialize};
use weir_core::{CountedVisitors, Date, DayVisitors, VisitorCounts};

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
    /// Those among `visitors` whose agents call themselves robots.
    pub robot_visitors: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub robot_visitors_error_max: u64,
    /// The visits of these.
    pub robot_visits: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub robot_visits_error_max: u64,
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
    /// Those among `visitors` whose agents call themselves robots.
    pub robot_visitors: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub robot_visitors_error_max: u64,
    /// The visits of these.
    pub robot_visits: u64,
    /// As `visitors_error_max`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub robot_visits_error_max: u64,
}

impl Visitors {
    /// Creates the view of all visitors, and of the robots among them.
    pub fn new(counts: &VisitorCounts, robots: &VisitorCounts) -> Self {
        let day = |all: &DayVisitors| {
            let of_robots = robots.days.binary_search_by_key(&all.day, |robots| robots.day);
            VisitorDay::new(all, of_robots.ok().map(|place| &robots.days[place]))
        };
        Self {
            visitors: counts.visitors.value,
            visitors_error_max: counts.visitors.error_max,
            distinct_visitors: counts.distinct.value,
            distinct_visitors_error_max: counts.distinct.error_max,
            visits: counts.visits.value,
            visits_error_max: counts.visits.error_max,
            robot_visitors: robots.visitors.value,
            robot_visitors_error_max: robots.visitors.error_max,
            robot_visits: robots.visits.value,
            robot_visits_error_max: robots.visits.error_max,
            unattributed: counts.unattributed,
            days: counts.days.iter().map(day).collect(),
        }
    }
}

impl VisitorDay {
    fn new(counted: &DayVisitors, robots: Option<&DayVisitors>) -> Self {
        // A sample without robots has no such day, whose number is as uncertain as that of all.
        let none = |all: CountedVisitors| CountedVisitors { value: 0, error_max: all.error_max };
        let [robot_visitors, robot_visits] = match robots {
            Some(robots) => [robots.visitors, robots.visits],
            None => [counted.visitors, counted.visits].map(none),
        };
        let Date { year, month, day } = Date::from_days(counted.day);
        Self {
            date: format!("{year:04}-{month:02}-{day:02}"),
            visitors: counted.visitors.value,
            visitors_error_max: counted.visitors.error_max,
            visits: counted.visits.value,
            visits_error_max: counted.visits.error_max,
            robot_visitors: robot_visitors.value,
            robot_visitors_error_max: robot_visitors.error_max,
            robot_visits: robot_visits.value,
            robot_visits_error_max: robot_visits.error_max,
        }
    }
}
