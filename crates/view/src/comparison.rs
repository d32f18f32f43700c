//! A period beside the one before it.

use serde::{Deserialize, Serialize};
use weir_core::parse_rfc3339;

use crate::group::{GroupRow, difference, percent};
use crate::report::Report;

/// Which period to compare with the one of the same length before it.
///
/// Without `since`, the time of the log up to `until` is halved. Without `until`, the period
/// ends with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
#[serde(default)]
pub struct Compare {
    /// The start of the period: a date, a time, or how long ago.
    pub since: Option<String>,
    /// Its end, which it does not include; a date includes its day.
    pub until: Option<String>,
}

/// A period and the one before it: what has changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct Comparison {
    /// The period of the report.
    pub range: Period,
    /// The period before it.
    pub before_range: Period,
    /// The changes of the sums.
    pub totals: TotalChanges,
    /// The changes of the values of each field, by field.
    #[serde(with = "by_field")]
    #[cfg_attr(feature = "typescript", ts(type = "{ [key in string]: Changes }"))]
    pub lists: Vec<Changes>,
    /// The report of the period before.
    pub before: Box<Report>,
}

/// A period of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct Period {
    /// Its first instant, RFC 3339.
    pub since: String,
    /// The instant after it, RFC 3339.
    pub until: String,
}

/// The changes of the sums of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct TotalChanges {
    /// Records that pass the filter.
    pub matched: TotalChange,
    /// Those of them with a status of 400 to 599.
    pub errors: TotalChange,
    /// Sum of their response sizes, in bytes.
    pub bytes_sent: TotalChange,
    /// Number of distinct clients.
    pub clients: TotalChange,
}

/// The change of a sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct TotalChange {
    /// The sum of the period.
    pub now: u64,
    /// That of the period before.
    pub before: u64,
    /// `now` minus `before`.
    pub difference: i64,
    /// `difference` in percent of `before`; `null` if that is 0.
    pub percent: Option<f64>,
}

/// How the values of a field have changed. Each list begins with the largest change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(export))]
pub struct Changes {
    /// The field.
    #[serde(skip)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub field: String,
    /// Values of both periods, including those that are as frequent as before.
    pub both: Vec<GroupRow>,
    /// Number of values of both periods.
    pub both_values: u64,
    /// Values of this period only.
    pub new: Vec<GroupRow>,
    /// Number of these.
    pub new_values: u64,
    /// Values of the period before only.
    pub vanished: Vec<GroupRow>,
    /// Number of these.
    pub vanished_values: u64,
}

impl Period {
    /// Its length in whole seconds.
    pub fn length_s(&self) -> u64 {
        let unix_ns = |stamp: &str| parse_rfc3339(stamp.as_bytes()).map(|time| time.unix_ns);
        let (Some(since), Some(until)) = (unix_ns(&self.since), unix_ns(&self.until)) else {
            return 0;
        };
        until.abs_diff(since) / 1_000_000_000
    }
}

impl TotalChanges {
    /// The changes from one report to the other.
    pub fn between(before: &Report, now: &Report) -> Self {
        let clients = |report: &Report| report.distinct.get("client").copied().unwrap_or(0);
        let change =
            |number: &dyn Fn(&Report) -> u64| TotalChange::new(number(now), number(before));
        Self {
            matched: change(&|report| report.matched),
            errors: change(&|report| report.errors),
            bytes_sent: change(&|report| report.bytes_sent),
            clients: change(&clients),
        }
    }

    /// The changes by the names of the sums.
    pub fn by_name(&self) -> [(&'static str, TotalChange); 4] {
        [
            ("matched", self.matched),
            ("errors", self.errors),
            ("bytes_sent", self.bytes_sent),
            ("clients", self.clients),
        ]
    }
}

impl TotalChange {
    fn new(now: u64, before: u64) -> Self {
        Self { now, before, difference: difference(now, before), percent: percent(now, before) }
    }
}

/// A list of changes as an object with a member for each field, in the order of the list.
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
            both_values: values,
            ..Changes::default()
        };
        let lists = vec![list("client", 1), list("status", 2)];
        let comparison = Comparison { lists, ..Comparison::default() };
        let text = serde_json::to_string(&comparison).expect("it is plain data");
        assert!(text.contains(r#""lists":{"client":{"both":[],"both_values":1,"#), "{text}");
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
