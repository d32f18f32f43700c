//! The dictionaries of a data set, with the memory they may take.

use super::dictionary::Dictionary;
use super::sweep::Sweep;
use crate::column::{Generations, REMAINDER};
use crate::field::Field;
use crate::schema::ColumnId;

/// The text columns of a data set: their names and their dictionaries.
#[derive(Debug, Clone)]
pub struct Values {
    pub(super) columns: Vec<Column>,
    pub(super) memory_bytes: usize,
    /// Of these, what ids take that were given up and wait for values.
    pub(super) free_bytes: usize,
    memory_bytes_max: usize,
    /// The offset of the first record that had a time, in seconds east of UTC.
    first_offset_s: Option<i32>,
    pub(crate) generations: Generations,
    pub(super) sweep: Option<Sweep>,
    pub(super) reuses: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    name: String,
    pub(super) dictionary: Dictionary,
    /// True once a value was folded into the remainder.
    pub(super) folded: bool,
}

impl Values {
    /// The most columns: far more than servers log, few enough that hostile files of ever
    /// other field names cost little.
    pub const COLUMNS_MAX: usize = 1_024;

    /// The known columns, with so much memory for their distinct values.
    pub fn new(memory_bytes_max: usize) -> Self {
        let columns = Field::TEXT.iter().map(|field| Column::new(field.name())).collect();
        Self {
            columns,
            memory_bytes: 0,
            free_bytes: 0,
            memory_bytes_max,
            first_offset_s: None,
            generations: Generations::default(),
            sweep: None,
            reuses: 0,
        }
    }

    /// The column of a known text field.
    pub fn column(field: Field) -> Option<ColumnId> {
        field.text_index().map(|index| ColumnId(index as u16))
    }

    /// The column of that name.
    pub fn column_by_name(&self, name: &str) -> Option<ColumnId> {
        if let Some(field) = Field::by_name(name) {
            return Self::column(field);
        }
        self.position(name)
    }

    /// The column of an extra field, made if there is none of that name. Behind
    /// [`Self::COLUMNS_MAX`] columns all further names have the last one together.
    pub fn add_column(&mut self, name: &str) -> ColumnId {
        let is_room = self.columns.len() + 1 < Self::COLUMNS_MAX;
        let known = self.position(name);
        let name = if is_room { name } else { "further_fields" };
        known.or_else(|| self.position(name)).unwrap_or_else(|| {
            self.columns.push(Column::new(name));
            ColumnId(self.columns.len() as u16 - 1)
        })
    }

    /// The columns' names, in order.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The distinct values of a column.
    ///
    /// # Panics
    /// Where this data set has no such column.
    pub fn dictionary(&self, column: ColumnId) -> &Dictionary {
        &self.columns[usize::from(column.0)].dictionary
    }

    /// True where values of the column were folded into the remainder.
    pub fn is_estimated(&self, column: ColumnId) -> bool {
        self.columns[usize::from(column.0)].folded
    }

    /// The id of a value. Where the memory is spent, a new value gets [`REMAINDER`].
    ///
    /// # Panics
    /// Where this data set has no such column.
    pub fn intern(&mut self, column: ColumnId, value: &[u8]) -> u32 {
        let column = &mut self.columns[usize::from(column.0)];
        if let Some(id) = column.dictionary.revive(value) {
            return id;
        }
        let cost = Dictionary::cost_bytes(value.len());
        if self.memory_bytes - self.free_bytes + cost > self.memory_bytes_max {
            column.folded = true;
            column.dictionary.keep_id(REMAINDER);
            return REMAINDER;
        }
        let free = column.dictionary.free_bytes();
        self.memory_bytes += cost - free.min(cost - value.len());
        self.free_bytes -= free.min(cost - value.len());
        column.dictionary.intern(value)
    }

    /// Memory that the distinct values take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The part of [`Self::memory_bytes`] that holds values, in bytes: the rest is for values to
    /// come.
    pub fn used_bytes(&self) -> usize {
        self.memory_bytes - self.free_bytes
    }

    /// The zone offset of the first record, in seconds east of UTC.
    pub fn first_offset_s(&self) -> Option<i32> {
        self.first_offset_s
    }

    pub(crate) fn note_offset(&mut self, offset_s: Option<i32>) {
        self.first_offset_s = self.first_offset_s.or(offset_s);
    }

    fn position(&self, name: &str) -> Option<ColumnId> {
        let index = self.columns.iter().position(|column| column.name == name)?;
        Some(ColumnId(index as u16))
    }
}

impl Column {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), dictionary: Dictionary::new(), folded: false }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnId, REMAINDER, Values};

    #[test]
    fn folds_new_values_when_memory_is_spent() {
        let mut values = Values::new(10_000);
        let column = ColumnId(4);
        let ids: Vec<u32> =
            (0..1_000).map(|n| values.intern(column, format!("/{n}").as_bytes())).collect();
        assert_eq!(ids[0], 2);
        assert_eq!(ids[999], REMAINDER);
        assert!(values.is_estimated(column) && !values.is_estimated(ColumnId(0)));
        assert!(values.memory_bytes() <= 10_000);
        assert_eq!(values.intern(column, b"/0"), 2, "what is known stays exact");
    }

    #[test]
    fn there_is_an_end_to_columns() {
        let mut values = Values::new(1 << 20);
        let ids: Vec<ColumnId> =
            (0..3_000).map(|n| values.add_column(&format!("field_{n}"))).collect();
        assert_eq!(values.names().len(), Values::COLUMNS_MAX);
        assert_eq!(values.add_column("field_5"), ids[5], "what is known stays known");
        assert_eq!(usize::from(ids[2_999].0), Values::COLUMNS_MAX - 1);
        assert_eq!(values.names().next_back(), Some("further_fields"));
    }

    #[test]
    fn extra_columns_are_shared_by_name() {
        let mut values = Values::new(1 << 20);
        let first = values.add_column("ssl_protocol");
        assert_eq!(values.add_column("ssl_protocol"), first);
        assert_eq!(values.column_by_name("ssl_protocol"), Some(first));
        assert_eq!(values.column_by_name("remote_addr"), Some(ColumnId(0)));
        assert_eq!(values.column_by_name("bytes"), None);
    }
}
