//! The records of each value of a field, and their changes from the previous period.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measure::MeasureValue;
use crate::number::is_zero;
use crate::row_value::RowValue;

/// Sums over some records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Tally {
    /// The number of records.
    pub count: u64,
    /// The sum of their response sizes, in bytes.
    pub bytes_sent: u64,
    /// The number of records with a status of 400 to 599.
    pub errors: u64,
}

/// Sums over the records of the selected period and, in a comparison, of the previous one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct PeriodTally {
    /// The sums.
    #[serde(flatten)]
    pub selected: Tally,
    /// The sums of the previous period; missing if nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub previous: Option<Tally>,
    /// `count` minus the previous count; missing if nothing is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub difference: Option<i64>,
    /// `difference` in percent of the previous count; `null` if that is 0, and missing if nothing
    /// is compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional, type = "number | null"))]
    pub percent: Option<Option<f64>>,
}

/// A value of a field, or of several, with its records.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GroupRow {
    /// The value.
    #[serde(flatten)]
    pub value: RowValue,
    /// The values of the further fields of a group by several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<RowValue>>"))]
    pub further_values: Vec<RowValue>,
    /// Its records.
    #[serde(flatten)]
    pub tally: PeriodTally,
    /// The other measures that were asked for, by name; `null` if no record has the number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "typescript",
        ts(optional, as = "Option<BTreeMap<String, Option<MeasureValue>>>")
    )]
    pub measures: BTreeMap<String, Option<MeasureValue>>,
    /// The same measures of the previous period.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(
        feature = "typescript",
        ts(optional, as = "Option<BTreeMap<String, Option<MeasureValue>>>")
    )]
    pub previous_measures: BTreeMap<String, Option<MeasureValue>>,
}

/// The sums over all values of a group without their own row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct GroupRest {
    /// The number of values.
    pub values: u64,
    /// Their records.
    #[serde(flatten)]
    pub tally: PeriodTally,
}

/// The first values of a field, or combinations of values of several fields, in the order of a
/// measure, and the others together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Group {
    /// The field: `status_class` or a field's name.
    pub field: String,
    /// The other fields of a group by several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub further_fields: Vec<String>,
    /// The names of the measures to show, in order; left out if they are the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub measures: Vec<String>,
    /// The measure by which the rows are ordered; left out if it is the number of records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub sort: Option<String>,
    /// The number of records from which a value has a row; left out if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<u64>"))]
    pub min: u64,
    /// The measures that are estimated from a sample, because memory ran out for their entries; left
    /// out if there are none. The numbers of records are marked in their rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub estimated: Vec<String>,
    /// The measures that are lower bounds, because memory ran out for the clients or agents of some
    /// records; left out if there are none. One that is also `estimated` estimates a lower bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(optional, as = "Option<Vec<String>>"))]
    pub lower_bounds: Vec<String>,
    /// The first rows, in descending order of the measure, then of the number of records, and then
    /// by value. Records without the field form a value too.
    pub rows: Vec<GroupRow>,
    /// All other values.
    pub rest: GroupRest,
}

impl PeriodTally {
    /// Creates the sums of the selected period and, in a comparison, of the previous one.
    pub fn new(selected: Tally, previous: Option<Tally>) -> Self {
        Self {
            selected,
            previous,
            difference: previous.map(|previous| difference(selected.count, previous.count)),
            percent: previous.map(|previous| percent(selected.count, previous.count)),
        }
    }

    /// Returns the sums of the previous period; 0 if nothing is compared.
    pub fn previous(&self) -> Tally {
        self.previous.unwrap_or_default()
    }
}

impl From<weir_core::Tally> for Tally {
    fn from(tally: weir_core::Tally) -> Self {
        let weir_core::Tally { count, bytes_sent, errors } = tally;
        Self { count, bytes_sent, errors }
    }
}

/// Subtracts two counts. The result saturates at the limits of its type.
pub fn difference(selected: u64, previous: u64) -> i64 {
    let difference = i128::from(selected) - i128::from(previous);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

/// Returns a difference in percent of the previous number; `None` if that is 0.
pub fn percent(selected: u64, previous: u64) -> Option<f64> {
    let difference = i128::from(selected) - i128::from(previous);
    (previous > 0).then(|| difference as f64 * 100.0 / previous as f64)
}

#[cfg(test)]
mod tests {
    use super::{GroupRow, PeriodTally, RowValue, Tally, difference, percent};

    const TALLY: Tally = Tally { count: 3, bytes_sent: 20, errors: 1 };

    fn json(before: Option<Tally>) -> String {
        let tally = PeriodTally::new(TALLY, before);
        let row = GroupRow { value: RowValue::new(b"a", false), tally, ..GroupRow::default() };
        serde_json::to_string(&row).expect("a row")
    }

    #[test]
    fn a_row_has_the_period_before_only_if_it_is_compared() {
        assert_eq!(json(None), r#"{"value":"a","count":3,"bytes_sent":20,"errors":1}"#);
        let before =
            r#""previous":{"count":0,"bytes_sent":0,"errors":0},"difference":3,"percent":null"#;
        assert_eq!(
            json(Some(Tally::default())),
            format!(r#"{{"value":"a","count":3,"bytes_sent":20,"errors":1,{before}}}"#)
        );
    }

    #[test]
    fn differences_stay_within_their_type() {
        assert_eq!(difference(2, 5), -3);
        assert_eq!(difference(u64::MAX, 0), i64::MAX);
        assert_eq!(difference(0, u64::MAX), i64::MIN);
        assert_eq!(percent(3, 2), Some(50.0));
        assert_eq!(percent(3, 0), None);
    }
}
