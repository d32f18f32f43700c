//! The values that groups of records stand for.

use std::borrow::Cow;
use std::cmp::Ordering;

use weir_core::{ABSENT, DerivedValues, Evaluation, GroupTable, REMAINDER, Values};
use weir_view::{GroupRow, PeriodTally, RowValue, Tally};

use crate::comparison::share_change;
use crate::measures::Rank;
use crate::question::GroupQuestion;
use crate::tallies::{FieldValues, hidden_max, sum};

/// The groups of an answer by number, and their records, bytes and errors.
pub(crate) struct GroupValues<'a> {
    names: Vec<FieldValues<'a>>,
    /// The combinations; `None` for the values of one field, whose numbers are their ids.
    combinations: Option<Cow<'a, GroupTable>>,
    pub(crate) now: Vec<Tally>,
    /// `None` if nothing is compared.
    pub(crate) before: Option<Vec<Tally>>,
    /// The numbers of the groups in the answer about the previous period; empty if they are the same.
    numbers_before: Vec<u32>,
    /// The number of records that may be missing in all groups together.
    hidden: u64,
}

impl<'a> GroupValues<'a> {
    /// Returns the groups of an answer, with those of the previous period. `None` if the data has no
    /// such field, or if the answer has no such groups.
    pub(crate) fn of(
        question: &GroupQuestion,
        values: &'a Values,
        (now, before): (&'a Evaluation, Option<&Evaluation>),
        derived: Option<&'a DerivedValues>,
    ) -> Option<Self> {
        if let Some(derived) = derived {
            let field = FieldValues::Derived(derived.dictionary());
            return Some(Self::of_field(field, values, now, before));
        }
        let names = question.fields.iter().map(|field| FieldValues::of(field, values));
        let names: Vec<FieldValues<'_>> = names.collect::<Option<_>>()?;
        match names[..] {
            [field] => Some(Self::of_field(field, values, now, before)),
            _ => Self::of_combinations(names, values, now, before),
        }
    }

    /// Returns the groups that are the values of a field.
    pub(crate) fn of_field(
        field: FieldValues<'a>,
        values: &Values,
        now: &Evaluation,
        before: Option<&Evaluation>,
    ) -> Self {
        let (answer, now) = (now, field.tallies(now));
        let mut hidden = hidden_max(answer, &now, values);
        let before = before.map(|answer| {
            let tallies = field.tallies(answer);
            hidden = hidden.saturating_add(hidden_max(answer, &tallies, values));
            tallies
        });
        let (names, numbers_before) = (vec![field], Vec::new());
        Self { names, combinations: None, now, before, numbers_before, hidden }
    }

    fn of_combinations(
        names: Vec<FieldValues<'a>>,
        values: &Values,
        now: &'a Evaluation,
        before: Option<&Evaluation>,
    ) -> Option<Self> {
        let is_estimated = [Some(now), before].into_iter().flatten();
        let is_estimated =
            is_estimated.into_iter().any(|answer| answer.is_filter_estimated(values));
        let (mut table, mut numbers_before) = (Cow::Borrowed(now.group_table()?), Vec::new());
        let before = match before {
            None => None,
            Some(before) => {
                let before = before.group_table()?;
                let numbers = table.to_mut().adopt_keys(before)?;
                let mut tallies = vec![Tally::default(); table.groups()];
                numbers_before = vec![ABSENT; table.groups()];
                for ((other, number), tally) in (0..).zip(numbers).zip(before.tallies()) {
                    numbers_before[number as usize] = other;
                    let own = &mut tallies[number as usize];
                    own.count += tally.count;
                    own.bytes_sent = own.bytes_sent.saturating_add(tally.bytes_sent);
                    own.errors += tally.errors;
                }
                Some(tallies)
            }
        };
        let mut now: Vec<Tally> = table.tallies().into_iter().map(Tally::from).collect();
        now.resize(table.groups(), Tally::default());
        let left_out = |tallies: &Vec<Tally>| tallies[REMAINDER as usize].count;
        let hidden = match is_estimated {
            true => u64::MAX,
            false => left_out(&now) + before.as_ref().map_or(0, left_out),
        };
        Some(Self { names, combinations: Some(table), now, before, numbers_before, hidden })
    }

    /// Returns the numbers of the groups with a record.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        (0..self.now.len()).filter(|number| self.count(*number) > 0).collect()
    }

    /// Returns some groups as the answer counts them: by their numbers in it, with their records.
    pub(crate) fn counted(&self, numbers: &[usize]) -> Vec<(u32, Tally)> {
        numbers.iter().map(|number| (*number as u32, self.now[*number])).collect()
    }

    /// Returns some groups as the answer about the previous period counts them; `None` if nothing is
    /// compared. No record has the number of a group that this answer lacks.
    pub(crate) fn counted_before(&self, numbers: &[usize]) -> Option<Vec<(u32, Tally)>> {
        let before = self.before.as_ref()?;
        let counted = |number: &usize| {
            let own = self.numbers_before.get(*number).copied().unwrap_or(*number as u32);
            (own, before[*number])
        };
        Some(numbers.iter().map(counted).collect())
    }

    /// Returns the number of records of a group in both periods.
    fn count(&self, number: usize) -> u64 {
        self.now[number].count + self.count_before(number)
    }

    pub(crate) fn count_before(&self, number: usize) -> u64 {
        self.before.as_ref().map_or(0, |before| before[number].count)
    }

    /// Returns the ranks of some groups by their change from the previous period: new values and those that
    /// are gone first, then the largest changes of share.
    pub(crate) fn changes(&self, numbers: &[usize]) -> Vec<Rank> {
        let totals = [Some(&self.now), self.before.as_ref()];
        let totals = totals.map(|tallies| tallies.map_or(0, |tallies| sum(tallies).count));
        let rank = |number: &usize| {
            let counts = [self.now[*number].count, self.count_before(*number)];
            let is_new_or_gone = counts.contains(&0) && self.uncounted_max_of(*number) == 0;
            Rank::of_change(is_new_or_gone, share_change(counts, totals))
        };
        numbers.iter().map(rank).collect()
    }

    /// Returns how many records of a group may be counted elsewhere.
    fn uncounted_max_of(&self, number: usize) -> u64 {
        match self.combinations {
            Some(_) => self.uncounted_max(&self.path(number)),
            None => self.names[0].uncounted_max(number, self.hidden),
        }
    }

    /// Returns the sums of a group.
    pub(crate) fn tally(&self, number: usize) -> PeriodTally {
        let before = self.before.as_ref().map(|before| before[number]);
        PeriodTally::new(self.now[number], before)
    }

    /// Returns whether the value of a group of one field contains a text in lower case, however the
    /// value is written.
    pub(crate) fn contains(&self, number: usize, search: &str) -> bool {
        let value = self.names.first().map(|name| name.value(number)).unwrap_or_default();
        String::from_utf8_lossy(value).to_lowercase().contains(search)
    }

    /// Orders two groups by their values.
    pub(crate) fn order(&self, one: usize, other: usize) -> Ordering {
        if self.combinations.is_none() {
            return self.names[0].value(one).cmp(self.names[0].value(other));
        }
        let (one, other) = (self.path(one), self.path(other));
        let values =
            |path: &[u32], key: usize| path.get(key).map(|id| self.names[key].value(*id as usize));
        let orders = (0..self.names.len()).map(|key| values(&one, key).cmp(&values(&other, key)));
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// Orders two groups by the values of their first fields. Records without the field and the
    /// remainder come last.
    pub(crate) fn order_of_first(&self, fields: usize, one: usize, other: usize) -> Ordering {
        let paths = [one, other].map(|number| match self.combinations {
            Some(_) => self.path(number),
            None => vec![number as u32],
        });
        let place = |path: &[u32], key: usize| {
            let id = path.get(key).copied().unwrap_or(REMAINDER);
            (id <= REMAINDER, self.names[key].value(id as usize))
        };
        let orders = (0..fields.min(self.names.len()))
            .map(|key| place(&paths[0], key).cmp(&place(&paths[1], key)));
        orders.fold(Ordering::Equal, Ordering::then)
    }

    /// Returns the ids of the values of a combination; none for the remainder.
    fn path(&self, number: usize) -> Vec<u32> {
        let table = self.combinations.as_ref();
        table.and_then(|table| table.key(number as u32)).unwrap_or_default()
    }

    /// Returns the row of a group, without measures.
    pub(crate) fn row(&self, number: usize) -> GroupRow {
        let tally = self.tally(number);
        if self.combinations.is_none() {
            let name = &self.names[0];
            return name.row(number, tally, name.uncounted_max(number, self.hidden));
        }
        let path = self.path(number);
        let Some((first, further)) = path.split_first() else {
            let remainder = || self.names[0].row_value(REMAINDER as usize);
            let further_values = vec![remainder(); self.names.len() - 1];
            return GroupRow { value: remainder(), further_values, tally, ..GroupRow::default() };
        };
        let value = |(name, id): (&FieldValues<'_>, &u32)| name.row_value(*id as usize);
        GroupRow {
            value: value((&self.names[0], first)).with_uncounted_max(self.uncounted_max(&path)),
            further_values: self.names[1..]
                .iter()
                .zip(further)
                .map(value)
                .collect::<Vec<RowValue>>(),
            tally,
            ..GroupRow::default()
        }
    }

    /// Returns how many records of a combination may be counted elsewhere: in the remainder of the
    /// combinations, or in that of the values of a field.
    fn uncounted_max(&self, path: &[u32]) -> u64 {
        let of_value =
            |(name, id): (&FieldValues<'_>, &u32)| name.uncounted_max(*id as usize, u64::MAX);
        let of_values = self.names.iter().zip(path).map(of_value);
        of_values.fold(self.hidden, u64::saturating_add)
    }
}
