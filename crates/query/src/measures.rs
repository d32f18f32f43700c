//! The measures of the groups of an answer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_core::{Evaluation, GroupTable, Timestamp, Zone, format_rfc3339};
use weir_view::{Measure, MeasureValue, Statistic, Tally};

use crate::group_values::GroupValues;

/// The measures of the groups of an answer.
pub(crate) struct Measures<'a> {
    table: Option<Cow<'a, GroupTable>>,
    /// By group.
    distinct: Vec<u64>,
    zone: Cow<'a, Zone>,
}

/// The place of a group in an order: absent values are the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(Option<i128>);

impl<'a> Measures<'a> {
    pub(crate) fn of(answer: &'a Evaluation) -> Self {
        let table = answer.group_table().map(GroupTable::arranged);
        let distinct = table.as_ref().map(|table| table.distinct_counts()).unwrap_or_default();
        let zone = answer.zone().map_or_else(|| Cow::Owned(Zone::utc()), Cow::Borrowed);
        Self { table, distinct, zone }
    }

    /// Returns whether a measure is an estimate.
    pub(crate) fn is_estimated(&self, measure: Measure) -> bool {
        let table = self.table.as_ref();
        measure == Measure::Clients && table.is_some_and(|table| table.is_distinct_estimated())
    }

    /// Returns the ranks of some groups by a measure.
    pub(crate) fn ranks(
        &self,
        measure: Measure,
        groups: &GroupValues<'_>,
        numbers: &[usize],
    ) -> Vec<Rank> {
        if let (Measure::Number(Statistic::Percentile(tenths), field), Some(table)) =
            (measure, &self.table)
        {
            let ids: Vec<u32> = numbers.iter().map(|number| *number as u32).collect();
            let quantiles = table.quantile_of_each(field.column(), &ids, quantile(tenths));
            return quantiles.into_iter().map(|number| Rank(number.map(i128::from))).collect();
        }
        numbers
            .iter()
            .map(|number| self.rank(measure, groups.now[*number], *number as u32))
            .collect()
    }

    fn rank(&self, measure: Measure, tally: Tally, group: u32) -> Rank {
        let number = match measure {
            Measure::Requests | Measure::Share => Some(i128::from(tally.count)),
            Measure::Bytes => Some(i128::from(tally.bytes_sent)),
            Measure::Errors => Some(i128::from(tally.errors)),
            Measure::ErrorRate => ratio(u128::from(tally.errors), tally.count),
            Measure::Clients => Some(i128::from(self.clients(group))),
            Measure::FirstSeen => self.times_ns(group).map(|(first_ns, _)| i128::from(first_ns)),
            Measure::LastSeen => self.times_ns(group).map(|(_, last_ns)| i128::from(last_ns)),
            Measure::Number(statistic, field) => {
                let table = self.table.as_ref();
                match statistic {
                    Statistic::Percentile(tenths) => table
                        .and_then(|table| {
                            table.quantiles(field.column(), group, &[quantile(tenths)])
                        })
                        .map(|quantiles| i128::from(quantiles[0])),
                    Statistic::Mean | Statistic::Sum | Statistic::Max => table
                        .and_then(|table| table.sum(field.column(), group))
                        .and_then(|sum| match statistic {
                            Statistic::Mean => ratio(sum.sum, sum.count),
                            Statistic::Sum => i128::try_from(sum.sum).ok(),
                            _ => Some(i128::from(sum.max)),
                        }),
                }
            }
        };
        Rank(number)
    }

    /// Returns the shown measures of a group that are not members of every row.
    pub(crate) fn shown(
        &self,
        measures: &[Measure],
        tally: Tally,
        group: usize,
    ) -> BTreeMap<String, Option<MeasureValue>> {
        let further = measures.iter().filter(|measure| !measure.is_of_tally());
        further
            .map(|measure| (measure.to_string(), self.value(*measure, tally, group as u32)))
            .collect()
    }

    fn value(&self, measure: Measure, tally: Tally, group: u32) -> Option<MeasureValue> {
        let rank = || self.rank(measure, tally, group).0;
        match measure {
            Measure::FirstSeen | Measure::LastSeen => {
                let unix_ns = i64::try_from(rank()?).ok()?;
                let offset_s = self.zone.offset_s(unix_ns.div_euclid(1_000_000_000));
                Some(MeasureValue::Time(format_rfc3339(Timestamp { unix_ns, offset_s })))
            }
            Measure::ErrorRate | Measure::Share => {
                Some(MeasureValue::Number(tally.errors as f64 / tally.count.max(1) as f64))
            }
            Measure::Number(Statistic::Mean, field) => {
                let sum = self.table.as_ref()?.sum(field.column(), group)?;
                let mean = sum.sum as f64 / sum.count as f64;
                Some(MeasureValue::Number(if measure.is_duration() { mean / 1e9 } else { mean }))
            }
            _ if measure.is_duration() => Some(MeasureValue::Number(rank()? as f64 / 1e9)),
            _ => Some(MeasureValue::Count(u64::try_from(rank()?).unwrap_or(u64::MAX))),
        }
    }

    fn clients(&self, group: u32) -> u64 {
        self.distinct.get(group as usize).copied().unwrap_or(0)
    }

    fn times_ns(&self, group: u32) -> Option<(i64, i64)> {
        self.table.as_ref()?.times_ns(group)
    }
}

/// A ratio that can be compared: in units of 2^-62, and as precise for every sum of 64 bits.
fn ratio(part: u128, whole: u64) -> Option<i128> {
    let whole = u128::from(whole);
    let (quotient, rest) = (part.checked_div(whole)?, part.checked_rem(whole)?);
    i128::try_from((quotient << 62) | ((rest << 62) / whole)).ok()
}

/// A percentile in tenths of a percent as a part of 1.
fn quantile(tenths: u16) -> f64 {
    f64::from(tenths) / 1_000.0
}
