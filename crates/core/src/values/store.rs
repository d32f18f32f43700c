//! The dictionaries of a data set and their memory limit.
//!
//! All columns share one limit, because which of them grows depends on the log: client addresses in
//! one, paths in another. Each value is charged with its bytes and a fixed cost
//! ([`Dictionary::cost_bytes`]) before it is stored, so the limit holds at every moment. A log
//! whose values fit is counted exactly, whatever its length; one whose values do not keeps its
//! totals, and the values without an id are counted together.

use super::dictionary::Dictionary;
use super::generation::Generations;
use crate::column::REMAINDER;
use crate::schema::{ColumnId, Schema};

/// The distinct values of a data set: its schema, a dictionary for each text column, and a limit on
/// the memory that the dictionaries take.
///
/// One data set has one `Values`, which all its segments share. It grows while the log is read; its
/// ids never change their meaning, except by a sweep ([`Values::reuses`]).
///
/// # Examples
///
/// ```
/// use weir_core::{Field, Values};
///
/// let mut values = Values::new(1 << 20);
/// let path = Field::Path.column();
/// let id = values.intern(path, b"/index.html");
/// assert_eq!(values.intern(path, b"/index.html"), id);
/// assert_eq!(values.dictionary(path).value(id), Some(&b"/index.html"[..]));
/// ```
///
/// # Access
///
/// Reading needs shared access, interning exclusive access; the type has no lock of its own. Ids
/// are never taken back while a reader may use them, so a thread that looks a value up may use the
/// id after it has released the values.
#[derive(Debug, Clone)]
pub struct Values {
    schema: Schema,
    /// By [`ColumnId`]. Columns of numbers and times have an empty dictionary.
    pub(super) columns: Vec<ColumnValues>,
    pub(super) memory_bytes: usize,
    /// The part of `memory_bytes` that belongs to free ids.
    pub(super) free_bytes: usize,
    memory_bytes_max: usize,
    /// The offset of the first record with a time, in seconds east of UTC.
    first_offset_s: Option<i32>,
    pub(crate) generations: Generations,
    pub(super) reuses: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ColumnValues {
    pub(super) dictionary: Dictionary,
    /// Whether a value was folded into the remainder.
    pub(super) folded: bool,
}

impl Values {
    /// Returns a data set without values, with the columns of the known fields. The values may take
    /// at most `memory_bytes_max` bytes.
    ///
    /// With 0, every value gets the remainder, and totals and times are still exact:
    ///
    /// ```
    /// use weir_core::{Field, REMAINDER, Values};
    ///
    /// let mut values = Values::new(0);
    /// let path = Field::Path.column();
    /// assert!(!values.is_estimated(path));
    /// assert_eq!(values.intern(path, b"/"), REMAINDER);
    /// assert!(values.is_estimated(path));
    /// ```
    pub fn new(memory_bytes_max: usize) -> Self {
        let schema = Schema::new();
        Self {
            columns: schema.columns().map(|_| ColumnValues::default()).collect(),
            schema,
            memory_bytes: 0,
            free_bytes: 0,
            memory_bytes_max,
            first_offset_s: None,
            generations: Generations::default(),
            reuses: 0,
        }
    }

    /// Returns the columns of the data set.
    ///
    /// It grows with the formats whose records are read.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the text column with this name, and adds it if it does not exist; see
    /// [`Schema::add_text_column`].
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::Values;
    ///
    /// let mut values = Values::new(1 << 20);
    /// let trace = values.add_text_column("http_x_trace");
    /// let id = values.intern(trace, b"4bf92f35");
    /// assert_eq!(values.dictionary(trace).value(id), Some(&b"4bf92f35"[..]));
    /// assert_eq!(values.schema().text_column_by_name("http_x_trace"), Some(trace));
    /// ```
    pub fn add_text_column(&mut self, name: &str) -> ColumnId {
        let column = self.schema.add_text_column(name);
        self.columns.resize_with(self.schema.columns().len(), ColumnValues::default);
        column
    }

    /// Returns the distinct values of a column. A column of numbers or times has none.
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn dictionary(&self, column: ColumnId) -> &Dictionary {
        &self.columns[column.index()].dictionary
    }

    /// Returns whether values of the column were folded into the remainder.
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn is_estimated(&self, column: ColumnId) -> bool {
        self.columns[column.index()].folded
    }

    /// Returns the id of a value. An unknown value gets [`REMAINDER`] if the memory limit is
    /// reached.
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn intern(&mut self, column: ColumnId, value: &[u8]) -> u32 {
        let column = &mut self.columns[column.index()];
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

    /// Returns the memory that the distinct values take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Returns the part of [`Self::memory_bytes`] that holds values, in bytes. The rest belongs to
    /// ids that are free for new values.
    ///
    /// The limit of [`Self::new`] is on this part.
    pub fn used_bytes(&self) -> usize {
        self.memory_bytes - self.free_bytes
    }

    /// Returns the zone offset of the first record with a time, in seconds east of UTC.
    ///
    /// In the order of the log. `None` before there is such a record. It is the zone of an answer
    /// if nothing else is asked for.
    pub fn first_offset_s(&self) -> Option<i32> {
        self.first_offset_s
    }

    /// Replaces the zone offset of the first record with a time, after that record was removed.
    /// Answers in the old zone must be made anew, so [`Self::reuses`] grows.
    pub fn replace_first_offset_s(&mut self, offset_s: Option<i32>) {
        if self.first_offset_s != offset_s {
            self.first_offset_s = offset_s;
            self.reuses += 1;
        }
    }

    pub(crate) fn note_offset(&mut self, offset_s: Option<i32>) {
        self.first_offset_s = self.first_offset_s.or(offset_s);
    }
}

#[cfg(test)]
mod tests {
    use super::{REMAINDER, Values};
    use crate::field::Field;

    #[test]
    fn folds_new_values_when_memory_is_spent() {
        let mut values = Values::new(10_000);
        let column = Field::Path.column();
        let ids: Vec<u32> =
            (0..1_000).map(|n| values.intern(column, format!("/{n}").as_bytes())).collect();
        assert_eq!(ids[0], 2);
        assert_eq!(ids[999], REMAINDER);
        assert!(values.is_estimated(column) && !values.is_estimated(Field::Client.column()));
        assert!(values.memory_bytes() <= 10_000);
        assert_eq!(values.intern(column, b"/0"), 2, "known values stay exact");
    }
}
