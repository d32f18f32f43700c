//! The distinct values of a data set as plain data, and back.
//!
//! Ids stay as they are, because segments refer to them. Hashes do not: each process has its own.

use super::dictionary::StoredValueError;
use super::late_values::LateValues;
use super::store::{RESERVE_SHARE, RESERVE_SHARE_OF_COLUMN, Values};
use crate::column::{OffsetDays, Segment, SegmentParts};
use crate::schema::ColumnId;

/// What is stored of a column beside its values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnState {
    /// See [`Values::is_estimated`].
    pub is_estimated: bool,
    /// The records whose value came when the memory was used up, and the largest number of them
    /// that one value without an id has.
    pub late: Option<(u64, u64)>,
    /// The ids of values that have more records than are counted under them, and how many more at
    /// most.
    pub uncounted_max: Vec<(u32, u64)>,
}

impl Segment {
    /// Returns the segment that consists of these parts; `None` if they do not fit each other, or if
    /// an id of a text is not one of the values.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Codes, ColumnParts, Field, RecordKind, Segment, SegmentParts, Values};
    ///
    /// let mut values = Values::new(1 << 20);
    /// let id = values.intern(Field::Path.column(), b"/");
    /// let parts = |id: u32| SegmentParts {
    ///     kind: RecordKind::Request,
    ///     source: 0,
    ///     block_offset: 100,
    ///     rows: 2,
    ///     line_starts: Codes::pack([0u64, 17].into_iter()),
    ///     columns: vec![(
    ///         Field::Path.column().index(),
    ///         ColumnParts::Text(Codes::Constant { code: id.into(), rows: 2 }),
    ///     )],
    /// };
    /// assert_eq!(Segment::of_parts(parts(id), &values).unwrap().line_offset(1), 117);
    /// assert!(Segment::of_parts(parts(id + 1), &values).is_none());
    /// ```
    pub fn of_parts(parts: SegmentParts, values: &Values) -> Option<Self> {
        Self::of_known_parts(parts, |index| {
            let (id, column) = values.schema().columns().nth(index)?;
            Some((id, column.kind, values.dictionary(id).ids()))
        })
    }
}

impl Values {
    /// Returns what is to be stored of a column beside its values.
    pub fn column_state(&self, column: ColumnId) -> ColumnState {
        let own = &self.columns[column.index()];
        ColumnState {
            is_estimated: own.folded,
            late: own.late.as_ref().map(|late| (late.records(), late.records_max())),
            uncounted_max: own.dictionary.uncounted_entries().collect(),
        }
    }

    /// Sets what was stored of a column. Ids without a value are left out.
    ///
    /// Which values were frequent among those without an id is not stored, so the bound of each of
    /// them is that of the most frequent one.
    pub fn set_column_state(&mut self, column: ColumnId, state: &ColumnState) {
        let bytes = self.memory_bytes_max / RESERVE_SHARE / RESERVE_SHARE_OF_COLUMN;
        let Some(own) = self.columns.get_mut(column.index()) else { return };
        own.folded = state.is_estimated;
        own.late = state
            .late
            .filter(|_| state.is_estimated)
            .and_then(|(records, records_max)| LateValues::restored(bytes, records, records_max));
        for (id, records) in &state.uncounted_max {
            own.dictionary.restore_uncounted_max(*id, *records);
        }
        self.measure();
    }

    /// Adds values with ids from `first_id` on: `None` is an id that no value has. Ids that are left out
    /// are free.
    ///
    /// # Errors
    /// If an id has a value already, or if the values take more memory than allowed. Some of the
    /// values may have been added then.
    pub fn restore<'a>(
        &mut self,
        column: ColumnId,
        first_id: u32,
        values: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    ) -> Result<(), StoredValueError> {
        let room = self.memory_bytes_max.saturating_sub(self.memory_bytes());
        let own = self.columns.get_mut(column.index()).ok_or(StoredValueError::Id)?;
        let added = own.dictionary.restore(first_id, values, room);
        self.measure();
        added
    }

    /// Returns whether some id has no value, for instance because its value was evicted.
    pub fn has_free_ids(&self) -> bool {
        self.columns.iter().any(|column| !column.dictionary.free_ids().is_empty())
    }

    /// Sets the offset of the first time of the log.
    pub fn restore_offsets(&mut self, first_offset_s: Option<i32>, days: Option<OffsetDays>) {
        self.replace_first_offset_s(first_offset_s);
        self.replace_offset_days(days);
    }
}

#[cfg(test)]
mod tests {
    use super::{StoredValueError, Values};
    use crate::column::REMAINDER;
    use crate::field::Field;

    const PATH: crate::ColumnId = Field::Path.column();

    /// Values with the same content, made from what is stored of them.
    fn restored(values: &Values, memory_bytes_max: usize) -> Values {
        let mut again = Values::new(memory_bytes_max);
        let ids = 2..values.dictionary(PATH).ids() as u32;
        let texts: Vec<_> = ids.map(|id| values.dictionary(PATH).value(id)).collect();
        again.restore(PATH, 2, texts.into_iter()).expect("they fit");
        again.set_column_state(PATH, &values.column_state(PATH));
        again
    }

    #[test]
    fn restored_values_keep_their_ids_and_go_on() {
        let mut values = Values::new(1 << 20);
        for number in 0..1_000 {
            values.intern(PATH, format!("/{number}").as_bytes());
        }
        let mut again = restored(&values, 1 << 20);
        assert_eq!(again.memory_bytes(), values.memory_bytes());
        for number in 0..1_100 {
            let text = format!("/{number}");
            assert_eq!(again.intern(PATH, text.as_bytes()), values.intern(PATH, text.as_bytes()));
        }
    }

    #[test]
    fn free_ids_are_used_again_in_order() {
        let mut values = Values::new(1 << 20);
        let texts = [Some(&b"a"[..]), None, Some(b"b"), None, Some(b"")];
        values.restore(PATH, 2, texts.into_iter()).expect("they fit");
        assert_eq!(values.dictionary(PATH).find(b"b"), Some(4));
        assert_eq!(values.dictionary(PATH).value(6), Some(&b""[..]));
        assert_eq!(
            values.restore(PATH, 4, [Some(&b"x"[..])].into_iter()),
            Err(StoredValueError::Id)
        );
        values.restore(PATH, 5, [Some(&b"f"[..]), None].into_iter()).expect("it is free");
        assert_eq!(values.dictionary(PATH).value(6), Some(&b""[..]));
        assert_eq!(["c", "f", "e"].map(|text| values.intern(PATH, text.as_bytes())), [3, 5, 7]);
    }

    #[test]
    fn what_is_estimated_stays_estimated() {
        let mut values = Values::new(100_000);
        for number in 0..20_000u32 {
            let text = format!("/{}", if number % 3 == 0 { number } else { number % 5_000 });
            if values.intern(PATH, text.as_bytes()) == REMAINDER {
                values.intern_late(PATH, text.as_bytes(), 1);
            }
        }
        let again = restored(&values, 100_000);
        assert!(again.is_estimated(PATH) && values.unlisted_max(PATH) > Some(0));
        assert_eq!(again.unlisted_max(PATH), values.unlisted_max(PATH));
        for id in 0..values.dictionary(PATH).ids() as u32 {
            let own = values.dictionary(PATH).uncounted_max(id);
            assert_eq!(again.dictionary(PATH).uncounted_max(id), own);
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let mut values = Values::new(10_000);
        let text = [b'x'; 600];
        let texts = |count: usize| vec![Some(&text[..]); count].into_iter();
        assert_eq!(values.restore(PATH, 2, texts(20)), Err(StoredValueError::Memory));
        let mut values = Values::new(10_000);
        assert_eq!(values.restore(PATH, 1, texts(1)), Err(StoredValueError::Id));
        assert_eq!(values.restore(PATH, u32::MAX, texts(1)), Err(StoredValueError::Id));
        assert_eq!(values.restore(PATH, 1 << 30, texts(1)), Err(StoredValueError::Memory));
        assert_eq!(values.restore(PATH, 2, texts(2)), Ok(()));
        assert_eq!(values.restore(PATH, 3, texts(1)), Err(StoredValueError::Id));
        assert_eq!(values.restore(PATH, 6, texts(1)), Ok(()), "4 and 5 are free");
        assert_eq!([&b"a"[..], b"b", b"c"].map(|text| values.intern(PATH, text)), [4, 5, 7]);
    }
}
