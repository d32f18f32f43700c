//! The values of a derived field in a data set that was read without it.
//!
//! A field that a question names before the log is read becomes a column (see
//! [`DerivedColumn`](crate::read)). One that is named later is derived from the distinct values of
//! another column, or from the steps of the time, and no row is stored again.

use std::collections::HashMap;

use crate::column::{ABSENT, REMAINDER, Segment, Selection, Times};
use crate::derived::{DerivedField, DerivedInputs};
use crate::value::Timestamp;
use crate::values::{DecidedIds, DerivedFrom, Dictionary, Values};

/// The memory of a remembered step of the time, in bytes, in a table that has just grown: half of its
/// places are free, and one in eight always is.
const STEP_BYTES: usize = (size_of::<((i64, i32), u32)>() + 1) * 2 * 8 / 7;

/// The values of a derived field, and the id of each by what it is derived from.
///
/// # Examples
///
/// ```
/// use weir_core::{DerivedFrom, DerivedValues, Field, Values, derived_field};
///
/// let mut values = Values::new(1 << 20);
/// let client = Field::Client.column();
/// [&b"192.0.2.7"[..], b"192.0.2.8"].map(|value| values.intern(client, value));
/// let network = derived_field("network", None)?.expect("it exists");
/// let mut networks = DerivedValues::new(network, DerivedFrom::Column(client), 1 << 20);
/// while networks.learn(&values, 100) {}
/// assert_eq!(networks.dictionary().find(b"192.0.2.0/24"), Some(2));
/// assert_eq!(networks.dictionary().ids(), 3); // absent, remainder, and the network
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone)]
pub struct DerivedValues {
    field: DerivedField,
    dictionary: Dictionary,
    /// The limit of the dictionary, and that of the steps, in bytes.
    bytes_max: usize,
    from: DerivedFrom,
    /// The ids by the ids of the column.
    by_id: Vec<u32>,
    decided: DecidedIds,
    /// The ids by the step of the time, and the offset from UTC. Times of further steps are derived one
    /// by one.
    by_step: HashMap<(i64, i32), u32>,
    /// Whether there was no room for a value.
    is_full: bool,
}

impl DerivedValues {
    /// A field that is derived from this, and no values. Values that take more than `bytes_max` bytes
    /// together become the remainder. Up to as many bytes are taken to remember the steps of times.
    pub fn new(field: DerivedField, from: DerivedFrom, bytes_max: usize) -> Self {
        Self {
            field,
            dictionary: Dictionary::new(),
            bytes_max,
            from,
            by_id: vec![ABSENT, REMAINDER],
            decided: DecidedIds::default(),
            by_step: HashMap::new(),
            is_full: false,
        }
    }

    /// Whether some values are in the remainder for lack of memory.
    pub fn is_estimated(&self) -> bool {
        self.is_full
    }

    /// The field.
    pub fn field(&self) -> &DerivedField {
        &self.field
    }

    /// What it is derived from.
    pub fn from(&self) -> DerivedFrom {
        self.from
    }

    /// The derived values.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The memory taken, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let step = size_of::<((i64, i32), u32)>() + 1;
        self.dictionary.memory_bytes()
            + self.by_id.capacity() * size_of::<u32>()
            + self.by_step.capacity() * step
    }

    /// Derives up to `count` values of the column that are new. Returns whether there are more.
    pub fn learn(&mut self, values: &Values, count: usize) -> bool {
        let DerivedFrom::Column(column) = self.from else { return false };
        let dictionary = values.dictionary(column);
        self.by_id.resize(self.by_id.len().max(dictionary.ids()), REMAINDER);
        let first_free = dictionary.first_free();
        let mut left = count;
        for range in self.decided.undecided(dictionary) {
            let some = range.start..range.end.min(range.start.saturating_add(left));
            for id in some.clone().filter(|id| *id as u32 > REMAINDER) {
                self.by_id[id] = match dictionary.value(id as u32) {
                    Some(value) => self.id_of(&DerivedInputs::of_texts(&[Some(value)])),
                    None => REMAINDER,
                };
            }
            left -= some.len();
            let is_whole = some.end == range.end;
            self.decided.accept(&some, first_free);
            if !is_whole {
                return true;
            }
        }
        false
    }

    /// Derives the values of the times of a segment.
    pub fn learn_times(&mut self, segment: &Segment) {
        let Some(times) = segment.times().filter(|_| self.from == DerivedFrom::Time) else {
            return;
        };
        let steps = times.steps(self.field.time_step_ns());
        if let Some(steps) = steps.filter(|steps| steps.len() <= segment.rows()) {
            steps.for_each(|time| self.learn_time(time));
            return;
        }
        let mut last = None;
        for row in 0..segment.rows() {
            let Some(time) = times.get(row) else { continue };
            if last != Some(self.field.time_key(time)) {
                self.learn_time(time);
            }
            last = Some(self.field.time_key(time));
        }
    }

    fn learn_time(&mut self, time: Timestamp) {
        let key = self.field.time_key(time);
        if self.by_step.contains_key(&key) {
            return;
        }
        let id = self.id_of(&DerivedInputs::default().at(self.field.rounded(time)));
        if self.by_step.len() < self.bytes_max / STEP_BYTES {
            self.by_step.insert(key, id);
        }
    }

    fn id_of(&mut self, inputs: &DerivedInputs<'_>) -> u32 {
        let mut value = Vec::new();
        if !self.field.derive(inputs, &mut value) {
            return ABSENT;
        }
        match self.dictionary.find(&value) {
            Some(id) => id,
            None if self.dictionary.memory_bytes() > self.bytes_max => {
                self.is_full = true;
                REMAINDER
            }
            None => self.dictionary.intern(&value),
        }
    }

    /// Returns the id of a time that was learnt, whose step is not remembered.
    fn learnt_id(&self, time: Timestamp) -> u32 {
        let mut value = Vec::new();
        match self.field.derive(&DerivedInputs::default().at(self.field.rounded(time)), &mut value)
        {
            true => self.dictionary.find(&value).unwrap_or(REMAINDER),
            false => ABSENT,
        }
    }

    /// Replaces `ids` by those of the selected rows. What was not learnt has the remainder.
    pub fn ids_of(&self, segment: &Segment, selection: &Selection, ids: &mut Vec<u32>) {
        ids.clear();
        match self.from {
            DerivedFrom::Column(column) => match segment.text(column) {
                Some(codes) => codes.for_each(selection, |code| {
                    ids.push(self.by_id.get(code as usize).copied().unwrap_or(REMAINDER));
                }),
                None => ids.resize(selection.len(), ABSENT),
            },
            DerivedFrom::Time => self.ids_of_times(segment.times(), selection, ids),
        }
    }

    fn ids_of_times(&self, times: Option<&Times>, selection: &Selection, ids: &mut Vec<u32>) {
        let Some(times) = times else { return ids.resize(selection.len(), ABSENT) };
        let mut last = None;
        selection.for_each(|row| {
            let Some(time) = times.get(row) else { return ids.push(ABSENT) };
            let key = self.field.time_key(time);
            let id = match last {
                Some((last, id)) if last == key => id,
                _ => self.by_step.get(&key).copied().unwrap_or_else(|| self.learnt_id(time)),
            };
            last = Some((key, id));
            ids.push(id);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{DerivedFrom, DerivedValues};
    use crate::column::Selection;
    use crate::value::{Timestamp, format_rfc3339};
    use crate::{Block, BlockLimits, BlockReader, Format, Values, derived_field};

    /// Times in 20,000 different hours, in no order.
    fn hours() -> Vec<i64> {
        (0..20_000).map(|number| 400_000 + number * 7_919 % 20_000).collect()
    }

    #[test]
    fn more_steps_than_are_remembered_have_their_values_too() {
        let stamp = |hour: &i64| {
            format_rfc3339(Timestamp { unix_ns: hour * 3_600_000_000_000, offset_s: 0 })
        };
        let lines: String = hours().iter().map(|hour| format!("[{}]\n", stamp(hour))).collect();
        let format = Arc::new(Format::parse("[$time_iso8601]").expect("a format"));
        let mut values = Values::new(1 << 20);
        let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
        let segment = reader.read_segment(&Block::new(lines.into_bytes()), 0, &mut values);
        let field = derived_field("hour", None).expect("valid").expect("it exists");
        let bytes_max = 16 << 10;
        let mut derived = DerivedValues::new(field, DerivedFrom::Time, bytes_max);
        derived.learn_times(&segment);
        assert!(derived.by_step.capacity() * 25 <= bytes_max, "{}", derived.by_step.capacity());
        assert!(derived.by_step.len() > 100 && !derived.is_estimated());
        let mut ids = Vec::new();
        derived.ids_of(&segment, &Selection::All(segment.rows()), &mut ids);
        assert_eq!(ids.len(), 20_000);
        for (id, hour) in ids.iter().zip(hours()) {
            let expected = format!("{:02}", hour % 24);
            assert_eq!(derived.dictionary().value(*id), Some(expected.as_bytes()));
        }
    }
}
