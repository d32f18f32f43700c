//! The measures of the groups of an answer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_core::{Evaluation, GroupTable, GroupVisitors, Timestamp, Zone, format_rfc3339};
use weir_view::{Measure, MeasureValue, Statistic, Tally};

/// The measures of the groups of an answer.
pub(crate) struct Measures<'a> {
    table: Option<Cow<'a, GroupTable>>,
    /// By group.
    distinct: Vec<u64>,
    /// By group.
    visitors: Vec<GroupVisitors>,
    zone: Cow<'a, Zone>,
}

/// The place of a group in an order: absent values are the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(Option<i128>);

impl Rank {
    /// The rank by the change from one period to another, which makes values of only one of them the
    /// first.
    pub(crate) fn of_change(is_new_or_gone: bool, change: u128) -> Self {
        const FIRST: u128 = 1 << 126;
        let rank = change.min(FIRST - 1) + if is_new_or_gone { FIRST } else { 0 };
        Self(i128::try_from(rank).ok())
    }

    /// The rank by the rate at which a measure has changed from one period to the other, up or down. A
    /// group that lacks it in one of them is among the last.
    pub(crate) fn of_rate(self, before: Self) -> Self {
        let rate = self.0.zip(before.0).map(|(now, before)| {
            let (least, most) = (now.min(before), now.max(before));
            if least == most { 1.0 } else { most as f64 / least as f64 }
        });
        // Floating-point numbers that are not negative have the order of their bits.
        Self(rate.map(|rate: f64| i128::from(rate.to_bits())))
    }
}

impl<'a> Measures<'a> {
    pub(crate) fn of(answer: &'a Evaluation) -> Self {
        let table = answer.group_table().map(GroupTable::arranged);
        let distinct = table.as_ref().map(|table| table.distinct_counts()).unwrap_or_default();
        let visitors = table.as_ref().map(|table| table.visitor_counts()).unwrap_or_default();
        let zone = answer.zone().map_or_else(|| Cow::Owned(Zone::utc()), Cow::Borrowed);
        Self { table, distinct, visitors, zone }
    }

    /// Returns whether a measure is a lower bound: it lacks records whose client or agent is not known.
    pub(crate) fn is_lower_bound(&self, measure: Measure) -> bool {
        let Some(table) = &self.table else { return false };
        match measure {
            Measure::Clients => table.lacks_distinct(),
            Measure::Visitors | Measure::Visits => table.lacks_visitors(),
            _ => false,
        }
    }

    /// Returns whether a measure is estimated from a sample.
    pub(crate) fn is_estimated(&self, measure: Measure) -> bool {
        let Some(table) = &self.table else { return false };
        match measure {
            Measure::Clients => table.is_distinct_estimated(),
            Measure::Visitors | Measure::Visits => table.are_visitors_estimated(),
            _ => false,
        }
    }

    /// Returns the ranks of some groups by a measure, given their numbers and records in the answer.
    pub(crate) fn ranks(&self, measure: Measure, groups: &[(u32, Tally)]) -> Vec<Rank> {
        let ids: Vec<u32> = groups.iter().map(|(id, _)| *id).collect();
        let percentiles = Percentiles::of(self.table.as_deref(), &[measure], &ids);
        groups.iter().map(|(id, tally)| self.rank(measure, *tally, *id, &percentiles)).collect()
    }

    /// Returns groups with their ranks by a measure, so that those of all other groups that may lead
    /// are lower; `least` of them or more. `None` if that takes no less time than all ranks.
    pub(crate) fn leading(
        &self,
        measure: Measure,
        least: usize,
        may_lead: impl Fn(u32) -> bool,
    ) -> Option<Vec<(usize, Rank)>> {
        let Measure::Number(Statistic::Percentile(tenths), field) = measure else { return None };
        let table = self.table.as_ref()?;
        let leading = table.leading_quantiles(field.column(), quantile(tenths), least, may_lead)?;
        let ranked = |(id, number): (u32, u64)| (id as usize, Rank(Some(i128::from(number))));
        Some(leading.into_iter().map(ranked).collect())
    }

    fn rank(&self, measure: Measure, tally: Tally, group: u32, percentiles: &Percentiles) -> Rank {
        let number = match measure {
            Measure::Requests | Measure::Share => Some(i128::from(tally.count)),
            Measure::Bytes => Some(i128::from(tally.bytes_sent)),
            Measure::Errors => Some(i128::from(tally.errors)),
            Measure::ErrorRate => ratio(u128::from(tally.errors), tally.count),
            Measure::Visitors | Measure::Visits | Measure::Clients => {
                Some(i128::from(self.distinct(measure, tally, group)))
            }
            Measure::FirstSeen => self.times_ns(group).map(|(first_ns, _)| i128::from(first_ns)),
            Measure::LastSeen => self.times_ns(group).map(|(_, last_ns)| i128::from(last_ns)),
            Measure::Number(statistic, field) => {
                let table = self.table.as_ref();
                match statistic {
                    Statistic::Percentile(_) => percentiles.of_group(measure, group),
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

    /// Returns the shown measures of some groups that are not members of every row, given their numbers
    /// and records in the answer.
    pub(crate) fn shown(
        &self,
        measures: &[Measure],
        groups: &[(u32, Tally)],
    ) -> Vec<BTreeMap<String, Option<MeasureValue>>> {
        let further: Vec<Measure> =
            measures.iter().copied().filter(|measure| !measure.is_of_tally()).collect();
        let ids: Vec<u32> = groups.iter().map(|(id, _)| *id).collect();
        let percentiles = Percentiles::of(self.table.as_deref(), &further, &ids);
        let of_group = |(id, tally): &(u32, Tally)| {
            let value = |measure: &Measure| {
                (measure.to_string(), self.value(*measure, *tally, *id, &percentiles))
            };
            further.iter().map(value).collect()
        };
        groups.iter().map(of_group).collect()
    }

    fn value(
        &self,
        measure: Measure,
        tally: Tally,
        group: u32,
        percentiles: &Percentiles,
    ) -> Option<MeasureValue> {
        let rank = || self.rank(measure, tally, group, percentiles).0;
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

    /// The number of clients, visitors or visits of a group.
    ///
    /// An estimate may be 0 or more than the records, which the number cannot be.
    fn distinct(&self, measure: Measure, tally: Tally, group: u32) -> u64 {
        let visitors = || self.visitors.get(group as usize).copied().unwrap_or_default();
        let count = match measure {
            Measure::Visitors => visitors().visitors,
            Measure::Visits => visitors().visits,
            _ => self.distinct.get(group as usize).copied().unwrap_or(0),
        };
        match self.is_estimated(measure) {
            true => count.clamp(tally.count.min(1), tally.count),
            false => count,
        }
    }

    fn times_ns(&self, group: u32) -> Option<(i64, i64)> {
        self.table.as_ref()?.times_ns(group)
    }
}

/// The percentiles of some groups, computed together because each looks at many records.
struct Percentiles(BTreeMap<(Measure, u32), u64>);

impl Percentiles {
    /// Computes those among some measures for some groups.
    fn of(table: Option<&GroupTable>, measures: &[Measure], groups: &[u32]) -> Self {
        let mut percentiles = BTreeMap::new();
        for measure in measures {
            let (Measure::Number(Statistic::Percentile(tenths), field), Some(table)) =
                (*measure, table)
            else {
                continue;
            };
            let numbers = table.quantiles_of_each(field.column(), groups, &[quantile(tenths)]);
            let known = groups.iter().zip(numbers);
            let known = known.filter_map(|(group, own)| Some(((*measure, *group), *own?.first()?)));
            percentiles.extend(known);
        }
        Self(percentiles)
    }

    fn of_group(&self, measure: Measure, group: u32) -> Option<i128> {
        self.0.get(&(measure, group)).map(|number| i128::from(*number))
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

#[cfg(test)]
mod tests {
    use super::Rank;

    #[test]
    fn rates_of_change_are_the_same_up_and_down() {
        let rank = |now, before| Rank(now).of_rate(Rank(before));
        assert_eq!(rank(Some(300), Some(100)), rank(Some(20), Some(60)));
        assert!(rank(Some(301), Some(100)) > rank(Some(300), Some(100)));
        assert!(rank(Some(1), Some(0)) > rank(Some(i128::MAX), Some(1)));
        assert_eq!(rank(Some(0), Some(0)), rank(Some(7), Some(7)));
        assert!(rank(None, Some(7)) < rank(Some(7), Some(7)));
        assert_eq!(rank(None, Some(7)), rank(Some(7), None));
    }
}
