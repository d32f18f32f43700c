//! What was counted for each value of a field.

use weir_core::{
    ABSENT, ColumnId, Dictionary, Evaluation, Field, REMAINDER, STATUS_CLASS, STATUS_CLASSES,
    Tally, TopList, Values, status_class,
};

/// The field of requests without one.
const NO_VALUE: &str = "(none)";

/// Values that came when the memory for them was spent.
const REMAINDER_NAME: &str = "(all other values)";

/// The ids of values begin here, in a dictionary and for classes of the status.
const FIRST_ID: usize = REMAINDER as usize + 1;

/// The values of a field, by id.
#[derive(Debug, Clone, Copy)]
pub(super) enum Names<'a> {
    /// A column of text.
    Column(ColumnId, &'a Dictionary),
    /// The classes of the status.
    Classes(&'a Dictionary),
}

impl<'a> Names<'a> {
    /// The values of the field of that name, where there is one.
    pub(super) fn of(field: &str, values: &'a Values) -> Option<Self> {
        if field == STATUS_CLASS {
            return Some(Self::Classes(values.dictionary(Field::Status.column())));
        }
        let column = values.schema().text_column_by_name(field)?;
        Some(Self::Column(column, values.dictionary(column)))
    }

    /// The value of an id.
    pub(super) fn value(&self, id: u32) -> &'a [u8] {
        let value = match (id, self) {
            (ABSENT, _) => Some(NO_VALUE.as_bytes()),
            (REMAINDER, _) => None,
            (_, Self::Column(_, dictionary)) => dictionary.value(id),
            (_, Self::Classes(_)) => {
                STATUS_CLASSES.get(id as usize - FIRST_ID).map(|name| name.as_bytes())
            }
        };
        value.unwrap_or(REMAINDER_NAME.as_bytes())
    }

    /// What an answer has counted, by id; at that of no value, what the others lack.
    pub(super) fn tallies(&self, answer: &Evaluation) -> Vec<Tally> {
        let (column, dictionary) = match self {
            Self::Column(column, dictionary) => (*column, dictionary),
            Self::Classes(dictionary) => (Field::Status.column(), dictionary),
        };
        // A list that was merged has nothing left to be looked for in several places.
        let mut list = TopList::default();
        if let Some(counted) = answer.top_list(column) {
            list.merge(counted);
        }
        let ids = FIRST_ID.max(dictionary.ids());
        let by_value: Vec<Tally> = (0..ids).map(|id| list.tally(id as u32)).collect();
        let mut tallies = match self {
            Self::Column(..) => by_value,
            Self::Classes(dictionary) => by_class(&by_value, dictionary),
        };
        tallies[ABSENT as usize] = Tally::default();
        let known = sum(&tallies);
        let totals = answer.totals();
        tallies[ABSENT as usize] = Tally {
            count: totals.records.saturating_sub(known.count),
            bytes_sent: totals.bytes_sent.saturating_sub(known.bytes_sent),
            errors: totals.errors.saturating_sub(known.errors),
        };
        tallies
    }
}

fn by_class(by_value: &[Tally], statuses: &Dictionary) -> Vec<Tally> {
    let mut classes = vec![Tally::default(); FIRST_ID + STATUS_CLASSES.len()];
    for (id, tally) in by_value.iter().enumerate().skip(REMAINDER as usize) {
        let class = statuses.value(id as u32).map_or(0, status_class);
        classes[FIRST_ID + class] = plus(classes[FIRST_ID + class], *tally);
    }
    classes
}

/// All of them together.
pub(super) fn sum(tallies: &[Tally]) -> Tally {
    tallies.iter().fold(Tally::default(), |sum, tally| plus(sum, *tally))
}

/// Both together; more bytes than a number holds are shown as the largest there is.
fn plus(one: Tally, other: Tally) -> Tally {
    Tally {
        count: one.count.saturating_add(other.count),
        bytes_sent: one.bytes_sent.saturating_add(other.bytes_sent),
        errors: one.errors.saturating_add(other.errors),
    }
}
