//! Sums, percentiles and extremes for each value of a field, or for each combination of several.
//!
//! A [`GroupTable`] has a row for each group. A group has a dense number, so that everything about
//! it is an array: the id of the value if records are grouped by one text column, and otherwise a
//! number that the table gives to each combination ([`keys`]).
//!
//! | numbers of a group | kept as | memory |
//! |---|---|---|
//! | records, bytes, errors | [`TopList`] | 24 bytes a group |
//! | sum, maximum | [`sums`] | 32 bytes a group |
//! | percentiles | [`distribution`] | 6 bytes for each of the last rows; otherwise 2, at most 6 for each distinct rounded number of a group |
//! | distinct values of a column | [`distinct`] | 8 bytes for each of them in each group |
//! | visitors and visits | [`visitors`] | 24 bytes for each half hour of one in each group |
//! | first and last time | an array | 16 bytes a group |
//!
//! Only what a [`Grouping`] asks for is kept.

mod definition;
mod derived_values;
mod distinct;
mod distribution;
mod keys;
mod rounded;
mod spans;
mod sums;
mod visitors;

use std::borrow::Cow;

use super::status::StatusClasses;
use super::top_list::{Tally, TopList};
use super::visit::{Visit, gather};
use crate::column::{ABSENT, Codes, REMAINDER, Segment, Selection, Times};
use crate::field::Field;
use crate::schema::ColumnId;
use crate::value::Zone;
use distinct::{DistinctEntries, GroupedId};
use distribution::Distribution;
use keys::KeyTable;
use sums::NumberSums;
use visitors::VisitorTable;

pub use definition::{GroupKey, GroupedNumber, Grouping};
pub use derived_values::DerivedValues;
pub use spans::TimeSpans;
pub use sums::NumberSum;
pub use visitors::GroupVisitors;

/// The first id of a value, both in a dictionary and among combinations.
pub(super) const FIRST_ID: u32 = REMAINDER + 1;

/// The numbers of each group.
///
/// Made by an [`crate::Evaluation`] whose question has a [`Grouping`].
#[derive(Debug, Clone)]
pub struct GroupTable {
    grouping: Grouping,
    /// The combinations; empty if the groups are the ids of a column.
    keys: KeyTable,
    /// `None` if the groups are the ids of a column.
    tallies: Option<TopList>,
    sums: Vec<Option<NumberSums>>,
    distributions: Vec<Option<Distribution>>,
    distinct: Option<DistinctEntries<GroupedId>>,
    visitors: Option<VisitorTable>,
    /// Whether a record had no value of its own for `distinct`, because no memory was left for it.
    lacks_distinct: bool,
    /// The first and the last time of each group, in nanoseconds since 1970.
    times_ns: Vec<(i64, i64)>,
    /// Buffers that are reused for each segment.
    buffers: Buffers,
}

#[derive(Debug, Clone, Default)]
struct Buffers {
    /// The group of each selected row.
    groups: Vec<u32>,
    ids: Vec<u32>,
    codes: Vec<u16>,
}

/// The time range of a group without a time.
const NO_TIME: (i64, i64) = (i64::MAX, i64::MIN);

impl GroupTable {
    pub(super) fn new(grouping: &Grouping) -> Self {
        let numbers = &grouping.numbers;
        Self {
            keys: KeyTable::new(grouping.keys.len(), grouping.groups_max),
            tallies: (!grouping.has_column_ids()).then(TopList::default),
            sums: numbers.iter().map(|number| number.sums.then(NumberSums::default)).collect(),
            distributions: numbers
                .iter()
                .map(|number| number.quantiles.then(Distribution::default))
                .collect(),
            distinct: grouping.distinct.map(|_| DistinctEntries::new(grouping.distinct_max)),
            visitors: grouping.visitors.then(|| VisitorTable::new(grouping.half_hours_max)),
            lacks_distinct: false,
            times_ns: Vec::new(),
            buffers: Buffers::default(),
            grouping: grouping.clone(),
        }
    }

    /// What the table was made for.
    pub fn grouping(&self) -> &Grouping {
        &self.grouping
    }

    /// Returns whether the values of a visit are needed besides its rows.
    pub(super) fn needs_visit(&self) -> bool {
        self.tallies.is_some()
    }

    /// Adds the visited rows of a segment. Only the selection of `visit` has to be filled in if
    /// [`Self::needs_visit`] returns false. `zone` is that of the days of visitors.
    pub(super) fn update(
        &mut self,
        segment: &Segment,
        visit: &Visit,
        classes: &StatusClasses,
        zone: Option<&Zone>,
    ) {
        let selection = &visit.selection;
        if selection.is_empty() {
            return;
        }
        let mut buffers = std::mem::take(&mut self.buffers);
        self.find_groups(segment, selection, classes, &mut buffers);
        let groups = &buffers.groups[..];
        if let Some(tallies) = &mut self.tallies {
            tallies.cover(ids_of(&self.grouping, &self.keys));
            tallies.add(&codes_of_rows(groups, selection, segment.rows()), visit);
        }
        for (index, number) in self.grouping.numbers.iter().enumerate() {
            let Some(numbers) = segment.numbers(number.column) else { continue };
            if let Some(sums) = &mut self.sums[index] {
                sums.add(groups, numbers, selection);
            }
            if let Some(distribution) = &mut self.distributions[index] {
                distribution.add(groups, numbers, selection, &mut buffers.codes);
            }
        }
        if let (Some(distinct), Some(column)) = (&mut self.distinct, self.grouping.distinct)
            && let Some(codes) = segment.text(column)
        {
            gather(codes, selection, &mut buffers.ids, |id| id as u32);
            self.lacks_distinct |= buffers.ids.contains(&REMAINDER);
            let rows = groups.iter().zip(&buffers.ids);
            distinct.add(rows.filter_map(|(group, id)| GroupedId::new(*group, *id)));
        }
        if let Some(visitors) = &mut self.visitors {
            visitors.add(segment, selection, groups, zone);
        }
        if self.grouping.times {
            self.add_times(segment, selection, groups);
        }
        self.buffers = buffers;
    }

    /// Finds the group of each selected row.
    fn find_groups(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        classes: &StatusClasses,
        buffers: &mut Buffers,
    ) {
        let (first, others) =
            self.grouping.keys.split_first().unwrap_or((&GroupKey::StatusClass, &[]));
        let derived = self.grouping.derived.as_deref();
        let spans = self.grouping.spans.as_ref();
        let key_ids = |key: GroupKey, ids: &mut Vec<u32>| match (key, derived) {
            (GroupKey::Derived, Some(derived)) => derived.ids_of(segment, selection, ids),
            (GroupKey::Span, _) => match spans {
                Some(spans) => spans.ids_of(segment, selection, ids),
                None => ids.clear(),
            },
            _ => key_ids(key, segment, selection, classes, ids),
        };
        key_ids(*first, &mut buffers.groups);
        for (level, key) in others.iter().enumerate() {
            key_ids(*key, &mut buffers.ids);
            self.keys.combine(level, &mut buffers.groups, &buffers.ids);
        }
    }

    fn add_times(&mut self, segment: &Segment, selection: &Selection, groups: &[u32]) {
        let Some(times) = segment.times() else { return };
        let mut groups = groups.iter();
        times.instants().for_each(selection, |number| {
            let (Some(group), Some(number)) = (groups.next(), number) else { return };
            let time_ns = Times::decode_instant(number);
            widen(&mut self.times_ns, *group, (time_ns, time_ns));
        });
    }

    /// Returns the table in the arrangement in which its numbers can be asked for.
    pub fn arranged(&self) -> Cow<'_, Self> {
        let waits = self.distinct.as_ref().is_some_and(DistinctEntries::waits)
            || self.visitors.as_ref().is_some_and(VisitorTable::waits);
        if !waits {
            return Cow::Borrowed(self);
        }
        let mut arranged = self.clone();
        arranged.arrange();
        Cow::Owned(arranged)
    }

    /// Arranges by group what was added. Results do not depend on when.
    pub(super) fn arrange(&mut self) {
        self.distributions.iter_mut().flatten().for_each(Distribution::arrange);
        if let Some(distinct) = &mut self.distinct {
            distinct.arrange();
        }
        if let Some(visitors) = &mut self.visitors {
            visitors.arrange();
        }
        self.buffers = Buffers::default();
    }

    /// Adds a table of the same grouping over other rows.
    pub(super) fn merge(&mut self, other: &Self) {
        let renumbered = self.keys.merge(&other.keys);
        let new_number =
            |group: u32| renumbered.as_ref().map_or(group, |numbers| numbers[group as usize]);
        if let (Some(own), Some(tallies)) = (&mut self.tallies, &other.tallies) {
            own.cover(ids_of(&self.grouping, &self.keys));
            own.merge_renumbered(tallies, new_number);
        }
        for (own, other) in self.sums.iter_mut().zip(&other.sums) {
            if let (Some(own), Some(other)) = (own, other) {
                own.merge(other, new_number);
            }
        }
        for (own, other) in self.distributions.iter_mut().zip(&other.distributions) {
            if let (Some(own), Some(other)) = (own, other) {
                own.merge(other, renumbered.as_deref());
            }
        }
        if let (Some(own), Some(other)) = (&mut self.distinct, &other.distinct) {
            own.merge(other, new_number);
        }
        if let (Some(own), Some(other)) = (&mut self.visitors, &other.visitors) {
            own.merge(other, new_number);
        }
        self.lacks_distinct |= other.lacks_distinct;
        for (group, range_ns) in other.times_ns.iter().enumerate() {
            if *range_ns != NO_TIME {
                widen(&mut self.times_ns, new_number(group as u32), *range_ns);
            }
        }
    }

    /// Returns the number of groups of a table of combinations, with the two that stand for no
    /// value and for the remainder. 0 if the groups are the ids of a column.
    pub fn groups(&self) -> usize {
        if self.tallies.is_some() { ids_of(&self.grouping, &self.keys) } else { 0 }
    }

    /// Returns the ids of the values of a combination, one for each key. They are ids of the
    /// column, or the number of the status class plus 2. `None` for the remainder.
    pub fn key(&self, group: u32) -> Option<Vec<u32>> {
        self.keys.path(group)
    }

    /// Returns the numbers of the combinations of another table in this one, which gets those that
    /// it lacks. `None` if the numbers are the same: they are ids of a column.
    pub fn adopt_keys(&mut self, other: &Self) -> Option<Vec<u32>> {
        self.keys.merge(&other.keys)
    }

    /// Returns the records, bytes and errors of each combination, by group. Empty if the groups are
    /// the ids of a column.
    pub fn tallies(&self) -> Vec<Tally> {
        // Merging into an empty list puts all counts in one place.
        let mut list = TopList::default();
        if let Some(tallies) = &self.tallies {
            list.merge(tallies);
        }
        (0..self.groups() as u32).map(|group| list.tally(group)).collect()
    }

    /// Returns the sum, count and maximum of a number in a group; `None` if the group has none, or
    /// if they were not asked for.
    pub fn sum(&self, column: ColumnId, group: u32) -> Option<NumberSum> {
        self.sums[self.index_of(column)?].as_ref()?.of(group)
    }

    /// Returns quantiles of a number in each of some groups, by the nearest-rank method; `qs` must be
    /// ascending. `None` for a group that has no number, and for all if they were not asked for.
    ///
    /// The error is at most one part in 2,048. A number that is written with few digits is exact.
    pub fn quantiles_of_each(
        &self,
        column: ColumnId,
        groups: &[u32],
        qs: &[f64],
    ) -> Vec<Option<Vec<u64>>> {
        match self.distribution(column) {
            Some(distribution) => distribution.quantiles_of_each(groups, qs),
            None => vec![None; groups.len()],
        }
    }

    /// Returns groups with the quantile `q` of a number, `least` of them or more, so that the quantile
    /// of every other group that may lead is smaller. `None` if that is no less work than
    /// [`Self::quantiles_of_each`], or if there are no quantiles.
    pub fn leading_quantiles(
        &self,
        column: ColumnId,
        q: f64,
        least: usize,
        may_lead: impl Fn(u32) -> bool,
    ) -> Option<Vec<(u32, u64)>> {
        self.distribution(column)?.leading_quantiles(q, least, may_lead)
    }

    fn distribution(&self, column: ColumnId) -> Option<&Distribution> {
        self.distributions[self.index_of(column)?].as_ref()
    }

    /// Returns the number of distinct values in each group, by group. Groups without a value may be
    /// missing at the end.
    pub fn distinct_counts(&self) -> Vec<u64> {
        self.distinct.as_ref().map(DistinctEntries::counts).unwrap_or_default()
    }

    /// Returns whether the numbers of distinct values are estimated from a sample.
    pub fn is_distinct_estimated(&self) -> bool {
        self.distinct.as_ref().is_some_and(DistinctEntries::is_estimated)
    }

    /// Returns whether the numbers of distinct values lack those of records whose value is not known,
    /// because no memory was left for it.
    pub fn lacks_distinct(&self) -> bool {
        self.lacks_distinct
    }

    /// Returns the visitors of each group, by group. Groups without one may be missing at the end.
    pub fn visitor_counts(&self) -> Vec<GroupVisitors> {
        self.visitors.as_ref().map(VisitorTable::counts).unwrap_or_default()
    }

    /// Returns whether the numbers of visitors and visits are estimated from a sample.
    pub fn are_visitors_estimated(&self) -> bool {
        self.visitors.as_ref().is_some_and(VisitorTable::is_estimated)
    }

    /// Returns whether the numbers of visitors and visits lack those of records whose client or agent is
    /// not known, because no memory was left for it.
    pub fn lacks_visitors(&self) -> bool {
        self.visitors.as_ref().is_some_and(VisitorTable::has_unattributed)
    }

    /// Returns the first and the last time of a group, in nanoseconds since 1970.
    pub fn times_ns(&self, group: u32) -> Option<(i64, i64)> {
        self.times_ns.get(group as usize).copied().filter(|range_ns| *range_ns != NO_TIME)
    }

    /// Returns the memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes()
            + self.tallies.as_ref().map_or(0, TopList::memory_bytes)
            + self.sums.iter().flatten().map(NumberSums::memory_bytes).sum::<usize>()
            + self.distributions.iter().flatten().map(Distribution::memory_bytes).sum::<usize>()
            + self.distinct.as_ref().map_or(0, DistinctEntries::memory_bytes)
            + self.visitors.as_ref().map_or(0, VisitorTable::memory_bytes)
            + self.times_ns.capacity() * size_of::<(i64, i64)>()
    }

    fn index_of(&self, column: ColumnId) -> Option<usize> {
        self.grouping.numbers.iter().position(|number| number.column == column)
    }
}

/// Returns the number of groups: of derived values if they are the only key, or of combinations.
fn ids_of(grouping: &Grouping, keys: &KeyTable) -> usize {
    match (&grouping.keys[..], &grouping.derived) {
        ([GroupKey::Derived], Some(derived)) => derived.dictionary().ids(),
        ([GroupKey::Span], _) => {
            FIRST_ID as usize + grouping.spans.as_ref().map_or(0, TimeSpans::len)
        }
        _ => keys.ids(),
    }
}

/// Replaces `ids` by the ids of a key in the selected rows.
fn key_ids(
    key: GroupKey,
    segment: &Segment,
    selection: &Selection,
    classes: &StatusClasses,
    ids: &mut Vec<u32>,
) {
    let column = match key {
        GroupKey::Column(column) => column,
        GroupKey::StatusClass => Field::Status.column(),
        // Without its values, no record has it.
        GroupKey::Derived | GroupKey::Span => {
            ids.clear();
            return ids.resize(selection.len(), ABSENT);
        }
    };
    let Some(codes) = segment.text(column) else {
        ids.clear();
        ids.resize(selection.len(), ABSENT);
        return;
    };
    match key {
        GroupKey::Column(_) => gather(codes, selection, ids, |id| id as u32),
        GroupKey::StatusClass | GroupKey::Derived | GroupKey::Span => {
            gather(codes, selection, ids, |id| match id as u32 {
                ABSENT => ABSENT,
                _ => FIRST_ID + u32::from(classes.class(id)),
            });
        }
    }
}

/// Returns the groups of the selected rows as a column; other rows are in no group.
fn codes_of_rows(groups: &[u32], selection: &Selection, rows: usize) -> Codes {
    match selection {
        Selection::All(_) => Codes::U32(groups.into()),
        Selection::Rows(selected) => {
            let mut codes = vec![ABSENT; rows];
            for (row, group) in selected.iter().zip(groups) {
                codes[*row as usize] = *group;
            }
            Codes::U32(codes.into())
        }
    }
}

/// Widens the time range of a group.
fn widen(times_ns: &mut Vec<(i64, i64)>, group: u32, (first_ns, last_ns): (i64, i64)) {
    let place = group as usize;
    if times_ns.len() <= place {
        times_ns.resize(place + 1, NO_TIME);
    }
    let range = &mut times_ns[place];
    *range = (range.0.min(first_ns), range.1.max(last_ns));
}
