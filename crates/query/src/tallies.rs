//! The counts of each value of a field.

use std::ops::Range;

use weir_core::{
    ABSENT, ColumnId, Dictionary, Evaluation, Field, GroupTable, REMAINDER, STATUS_CLASS,
    STATUS_CLASSES, TopList, Values, status_class,
};
use weir_view::{GroupRow, NO_VALUE, PeriodTally, REMAINDER_VALUE, RowValue, Tally, from_hex};

/// The first id of a value, both in a dictionary and among the status classes.
const FIRST_ID: usize = REMAINDER as usize + 1;

/// The values of a field by id: *absent* and the remainder come first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FieldValues<'a> {
    /// The values of a text column.
    Column(ColumnId, &'a Dictionary),
    /// The classes of the statuses in this dictionary.
    StatusClasses(&'a Dictionary),
    /// The values of a derived field, by which an answer has groups.
    Derived(&'a Dictionary),
}

impl<'a> FieldValues<'a> {
    /// Returns the values of the field with this name, if there is one.
    pub(crate) fn of(field: &str, values: &'a Values) -> Option<Self> {
        if field == STATUS_CLASS {
            return Some(Self::StatusClasses(values.dictionary(Field::Status.column())));
        }
        let column = values.schema().text_column_by_name(field)?;
        Some(Self::Column(column, values.dictionary(column)))
    }

    /// Returns the value of an id.
    pub(crate) fn value(&self, id: usize) -> &'a [u8] {
        let value = match (self, id as u32) {
            (_, ABSENT) => Some(NO_VALUE.as_bytes()),
            (_, REMAINDER) => None,
            (Self::Column(_, dictionary) | Self::Derived(dictionary), id) => dictionary.value(id),
            (Self::StatusClasses(_), _) => {
                STATUS_CLASSES.get(id - FIRST_ID).map(|name| name.as_bytes())
            }
        };
        value.unwrap_or(REMAINDER_VALUE.as_bytes())
    }

    /// Returns the counts of an answer by id. Records without the field count as *absent*.
    pub(crate) fn tallies(&self, answer: &Evaluation) -> Vec<Tally> {
        let mut tallies = match self {
            Self::Column(column, dictionary) => listed(answer, *column, dictionary),
            Self::StatusClasses(statuses) => {
                by_class(&listed(answer, Field::Status.column(), statuses), statuses)
            }
            Self::Derived(dictionary) => {
                let table = answer.group_table().map(GroupTable::tallies).unwrap_or_default();
                let mut tallies: Vec<Tally> = table.into_iter().map(Tally::from).collect();
                let ids = FIRST_ID.max(dictionary.ids()).max(tallies.len());
                tallies.resize(ids, Tally::default());
                tallies
            }
        };
        let totals = answer.totals();
        tallies[ABSENT as usize] = Tally::default();
        let present = sum(&tallies);
        tallies[ABSENT as usize] = Tally {
            count: totals.records.saturating_sub(present.count),
            bytes_sent: totals.bytes_sent.saturating_sub(present.bytes_sent),
            errors: totals.errors.saturating_sub(present.errors),
        };
        tallies
    }

    /// Returns the ids of values, of which there are so many.
    pub(crate) fn numbers(count: usize) -> Range<usize> {
        FIRST_ID..FIRST_ID + count
    }

    /// Returns the ids of the values of rows.
    pub(crate) fn ids_of(&self, rows: &[GroupRow]) -> Vec<u32> {
        rows.iter().map(|row| self.id_of(&row.value)).collect()
    }

    fn id_of(&self, value: &RowValue) -> u32 {
        if value.is_absent {
            return ABSENT;
        }
        let bytes = match &value.hex {
            Some(hex) => from_hex(hex).unwrap_or_default(),
            None => value.text.clone().into_bytes(),
        };
        let found = match self {
            Self::Column(_, dictionary) | Self::Derived(dictionary) => dictionary.find(&bytes),
            Self::StatusClasses(_) => None,
        };
        found.filter(|_| !value.is_remainder).unwrap_or(REMAINDER)
    }

    /// Returns the number of values that an answer has, without *absent* and the remainder.
    pub(crate) fn distinct(&self, answer: &Evaluation) -> u64 {
        let values = self.tallies(answer).into_iter().skip(FIRST_ID);
        values.filter(|tally| tally.count > 0).count() as u64
    }

    /// Returns how many records of a value may be counted in the remainder instead. `hidden_max` is
    /// the number of records that may be missing in all values together, see [`hidden_max`].
    pub(crate) fn uncounted_max(&self, id: usize, hidden_max: u64) -> u64 {
        match self {
            Self::Column(_, dictionary) => dictionary.uncounted_max(id as u32).min(hidden_max),
            Self::StatusClasses(_) => 0,
            // Any of the values that are not known may have it.
            Self::Derived(_) => hidden_max,
        }
    }

    /// Returns the value of an id as it is shown.
    pub(crate) fn row_value(&self, id: usize) -> RowValue {
        match id as u32 {
            ABSENT => RowValue::absent(),
            id => RowValue::new(self.value(id as usize), id == REMAINDER),
        }
    }

    /// Returns the row of a value. At most `uncounted_max` of its records are not counted.
    pub(crate) fn row(&self, id: usize, tally: PeriodTally, uncounted_max: u64) -> GroupRow {
        let value = self.row_value(id);
        let value = value.with_uncounted_max(uncounted_max);
        GroupRow { value, tally, ..GroupRow::default() }
    }
}

/// Returns the counts of a column's values by id.
fn listed(answer: &Evaluation, column: ColumnId, dictionary: &Dictionary) -> Vec<Tally> {
    // Merging into an empty list puts all counts in one place.
    let mut list = TopList::default();
    if let Some(counted) = answer.top_list(column) {
        list.merge(counted);
    }
    let ids = FIRST_ID.max(dictionary.ids()) as u32;
    (0..ids).map(|id| list.tally(id).into()).collect()
}

/// Returns how many records may be missing in the counts by value of an answer, given its
/// [tallies](FieldValues::tallies). This is the remainder, or unknown (`u64::MAX`) if the filter
/// could not be decided for some records.
pub(crate) fn hidden_max(answer: &Evaluation, tallies: &[Tally], values: &Values) -> u64 {
    if answer.is_filter_estimated(values) { u64::MAX } else { tallies[REMAINDER as usize].count }
}

/// Adds up the counts of statuses by status class.
fn by_class(by_id: &[Tally], statuses: &Dictionary) -> Vec<Tally> {
    let mut classes = vec![Tally::default(); FIRST_ID + STATUS_CLASSES.len()];
    for (id, tally) in by_id.iter().enumerate().skip(REMAINDER as usize) {
        let class = FIRST_ID + statuses.value(id as u32).map_or(0, status_class);
        classes[class] = plus(classes[class], *tally);
    }
    classes
}

/// Returns the sum of some counts.
pub(crate) fn sum<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    tallies.into_iter().fold(Tally::default(), |sum, tally| plus(sum, *tally))
}

/// Adds two counts, and saturates.
fn plus(one: Tally, other: Tally) -> Tally {
    Tally {
        count: one.count.saturating_add(other.count),
        bytes_sent: one.bytes_sent.saturating_add(other.bytes_sent),
        errors: one.errors.saturating_add(other.errors),
    }
}

/// Returns the first `top` ids in the order of a key, and the others in any order.
pub(crate) fn first_by<K: Ord>(
    mut ids: Vec<usize>,
    top: usize,
    key: impl Fn(usize) -> K,
) -> (Vec<usize>, Vec<usize>) {
    // A partial sort: millions of values need not be sorted for the first ten.
    if ids.len() > top && top > 0 {
        ids.select_nth_unstable_by_key(top - 1, |id| key(*id));
    }
    let others = ids.split_off(top.min(ids.len()));
    ids.sort_by_key(|id| key(*id));
    (ids, others)
}
