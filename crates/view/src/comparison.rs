//! Compares a period with the previous one.

use serde::{Deserialize, Serialize};
use weir_core::parse_rfc3339;

use crate::group::{GroupRow, difference, percent};
use crate::report::Report;

/// The period to compare with the one of the same length before it.
///
/// Without `since`, the time of the log up to `until` is halved. Without `until`, the period ends
/// with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(default)]
pub struct Compare {
    /// The start of the period: a date, a time, or how long ago.
    pub since: Option<String>,
    /// The end of the period, exclusive. A date includes its whole day.
    pub until: Option<String>,
}

/// The changes from the previous period to the selected one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// The selected period, which the report covers.
    pub selected_period: Period,
    /// The previous period.
    pub previous_period: Period,
    /// The changes of the sums.
    pub totals: TotalChanges,
    /// The changes of the values of each field, by field.
    #[serde(with = "by_field")]
    #[cfg_attr(feature = "typescript", ts(as = "std::collections::BTreeMap<String, Changes>"))]
    pub lists: Vec<Changes>,
    /// The report of the previous period.
    pub previous: Box<Report>,
}

/// A period of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Period {
    /// The first instant, RFC 3339.
    pub since: String,
    /// The first instant after the period, RFC 3339.
    pub until: String,
}

/// The changes of the sums of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TotalChanges {
    /// The number of records that match the filter.
    pub matching: TotalChange,
    /// The number of these with a status of 400 to 599.
    pub errors: TotalChange,
    /// The sum of their response sizes, in bytes.
    pub bytes_sent: TotalChange,
    /// The number of distinct clients; a lower bound if the list of clients is estimated.
    pub clients: TotalChange,
}

/// The change of a sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TotalChange {
    /// The sum of the selected period.
    pub selected: u64,
    /// The sum of the previous period.
    pub previous: u64,
    /// `selected` minus `previous`.
    pub difference: i64,
    /// `difference` in percent of `previous`; `null` if that is 0.
    pub percent: Option<f64>,
}

/// The changes of a field's values. Each list begins with the largest change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Changes {
    /// The field.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub field: String,
    /// Whether memory ran out for the field, so that the numbers of values are lower bounds.
    #[serde(rename = "estimated", default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<bool>"))]
    pub is_estimated: bool,
    /// Values of both periods, even with equal counts, and values that may have records in both.
    pub changed: Vec<GroupRow>,
    /// The number of values of both periods.
    pub changed_values: u64,
    /// Values of only the selected period.
    pub new: Vec<GroupRow>,
    /// The number of values of only the selected period.
    pub new_values: u64,
    /// Values of only the previous period.
    pub gone: Vec<GroupRow>,
    /// The number of values of only the previous period.
    pub gone_values: u64,
}

impl Period {
    /// Returns the length in whole seconds.
    pub fn length_s(&self) -> u64 {
        let unix_ns = |stamp: &str| parse_rfc3339(stamp.as_bytes()).map(|time| time.unix_ns);
        let (Some(since), Some(until)) = (unix_ns(&self.since), unix_ns(&self.until)) else {
            return 0;
        };
        until.abs_diff(since) / 1_000_000_000
    }
}

impl TotalChanges {
    /// Computes the changes from one report to another.
    pub fn between(previous: &Report, selected: &Report) -> Self {
        let clients = |report: &Report| report.distinct.get("client").copied().unwrap_or(0);
        let change =
            |number: &dyn Fn(&Report) -> u64| TotalChange::new(number(selected), number(previous));
        Self {
            matching: change(&|report| report.matching),
            errors: change(&|report| report.errors),
            bytes_sent: change(&|report| report.bytes_sent),
            clients: change(&clients),
        }
    }

    /// Returns the changes with the names of the sums.
    pub fn by_name(&self) -> [(&'static str, TotalChange); 4] {
        [
            ("matching", self.matching),
            ("errors", self.errors),
            ("bytes_sent", self.bytes_sent),
            ("clients", self.clients),
        ]
    }
}

impl TotalChange {
    fn new(selected: u64, previous: u64) -> Self {
        Self {
            selected,
            previous,
            difference: difference(selected, previous),
            percent: percent(selected, previous),
        }
    }
}

/// Serialises changes as an object with a member for each field, in list order.
mod by_field {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::Changes;

    pub(super) fn serialize<S: Serializer>(
        lists: &[Changes],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(lists.iter().map(|list| (&list.field, list)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Changes>, D::Error> {
        let lists = BTreeMap::<String, Changes>::deserialize(deserializer)?;
        Ok(lists.into_iter().map(|(field, list)| Changes { field, ..list }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, Comparison, Period};

    #[test]
    fn lists_are_members_of_an_object() {
        let list = |field: &str, values: u64| Changes {
            field: field.to_owned(),
            changed_values: values,
            ..Changes::default()
        };
        let lists = vec![list("client", 1), list("status", 2)];
        let comparison = Comparison { lists, ..Comparison::default() };
        let text = serde_json::to_string(&comparison).expect("it is plain data");
        assert!(text.contains(r#""lists":{"client":{"changed":[],"changed_values":1,"#), "{text}");
        assert_eq!(serde_json::from_str::<Comparison>(&text).expect("the same"), comparison);
    }

    #[test]
    fn a_period_has_a_length() {
        let period =
            |since: &str, until: &str| Period { since: since.to_owned(), until: until.to_owned() };
        let hour = period("2025-12-17T09:00:00Z", "2025-12-17T11:00:00+01:00");
        assert_eq!(hour.length_s(), 3_600);
        assert_eq!(period("", "2025-12-17T09:00:00Z").length_s(), 0);
    }
}
