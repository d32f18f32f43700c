//! The dictionaries of a data set and their memory limit.
//!
//! All columns share one limit, because which of them grows depends on the log: client addresses in
//! one, paths in another. Each value is charged with its bytes and a fixed cost
//! ([`Dictionary::cost_bytes`]) before it is stored, so the limit holds at every moment. A log
//! whose values fit is counted exactly, whatever its length; one whose values do not keeps its
//! totals, and the values without an id are counted together.

use std::sync::{Arc, OnceLock};

use super::dictionary::Dictionary;
use super::generation::Generations;
use super::late_values::LateValues;
use crate::column::{OffsetDays, REMAINDER};
use crate::derived::DerivedCatalog;
use crate::schema::{ColumnId, Schema};
use crate::value::Zone;

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
    pub(super) memory_bytes_max: usize,
    /// The number of ids in all columns.
    pub(super) ids: usize,
    /// See [`Values::charge_answers`].
    answer_bytes_of_each: usize,
    /// The number of columns that every data set has.
    known_columns: usize,
    /// The offset of the first record with a time, in seconds east of UTC.
    first_offset_s: Option<i32>,
    /// See [`Values::offset_days`].
    offset_days: Option<Box<OffsetDays>>,
    /// The zone of these days, once it was looked for.
    zone_of_days: OnceLock<Box<Zone>>,
    pub(crate) generations: Generations,
    pub(super) reuses: u64,
    /// The fields that are derived when a question names them.
    catalog: Option<Arc<dyn DerivedCatalog>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ColumnValues {
    pub(super) dictionary: Dictionary,
    /// Whether a value was folded into the remainder.
    pub(super) folded: bool,
    /// The values that were, if there was memory to count them.
    pub(super) late: Option<LateValues>,
}

/// The part of the memory that is reserved for late values: an eighth. See [`LateValues`].
pub(super) const RESERVE_SHARE: usize = 8;

/// The part of the memory that one column may use which a format has added: an eighth. JSON logs have
/// members with another value in each line, which would take the place of clients and paths.
const ADDED_SHARE: usize = 8;

/// The part of the reserve that one column may use: a sixteenth. Few logs have more columns with
/// many values.
pub(super) const RESERVE_SHARE_OF_COLUMN: usize = 16;

/// The number of answers that each value is charged for.
const ANSWERS_MIN: usize = 2;

/// The part of the memory that more answers may take: a quarter.
const ANSWERS_SHARE: usize = 4;

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
        let known_columns = schema.columns().len();
        Self {
            columns: vec![ColumnValues::default(); known_columns],
            known_columns,
            schema,
            memory_bytes: 0,
            free_bytes: 0,
            memory_bytes_max,
            ids: 0,
            answer_bytes_of_each: 0,
            first_offset_s: None,
            offset_days: None,
            zone_of_days: OnceLock::new(),
            generations: Generations::default(),
            reuses: 0,
            catalog: None,
        }
    }

    /// Charges `bytes_of_each` more for each value: what an answer keeps of it whose lists have a place
    /// for every value. The memory is that of two such answers, so that one can be merged with another.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Field, REMAINDER, Values};
    ///
    /// let path = Field::Path.column();
    /// let mut values = Values::new(100);
    /// values.charge_answers(40);
    /// assert_eq!(values.intern(path, b"/index.html"), REMAINDER);
    /// ```
    pub fn charge_answers(&mut self, bytes_of_each: usize) {
        self.answer_bytes_of_each = ANSWERS_MIN * bytes_of_each;
    }

    /// Returns how many answers at the same time are within the memory: at least the two that are
    /// charged for ([`Self::charge_answers`]), and more while all of them take less than a quarter of the
    /// limit.
    pub fn answers_max(&self) -> usize {
        let bytes = self.ids * self.answer_bytes_of_each / ANSWERS_MIN;
        match (self.memory_bytes_max / ANSWERS_SHARE).checked_div(bytes) {
            Some(answers) => answers.max(ANSWERS_MIN),
            None => usize::MAX,
        }
    }

    /// Lets questions name the derived fields of a catalog, besides those that are columns.
    pub fn derive_with(&mut self, catalog: Arc<dyn DerivedCatalog>) {
        self.catalog = Some(catalog);
    }

    pub(crate) fn catalog(&self) -> Option<&dyn DerivedCatalog> {
        self.catalog.as_deref()
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

    /// The text column of that name, which holds values that are derived from others.
    pub(crate) fn add_derived_column(&mut self, name: &str) -> ColumnId {
        let column = self.add_text_column(name);
        self.schema.set_derived(column);
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

    /// Returns the limit on the memory of the values, in bytes.
    pub fn memory_bytes_max(&self) -> usize {
        self.memory_bytes_max
    }

    /// Returns the id of a value. An unknown value gets [`REMAINDER`] if the memory limit is
    /// reached, except for the reserve of [`Self::intern_late`], or if the column was added by a format and
    /// takes an eighth of the memory.
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn intern(&mut self, column: ColumnId, value: &[u8]) -> u32 {
        let limit = self.memory_bytes_max - self.memory_bytes_max / RESERVE_SHARE;
        let used = self.used_bytes();
        let is_added = column.index() >= self.known_columns;
        let own = &mut self.columns[column.index()];
        if let Some(id) = own.dictionary.revive(value) {
            return id;
        }
        let cost = Dictionary::cost_bytes(value.len()) + self.answer_bytes_of_each;
        let own_bytes = || {
            let answers = own.dictionary.values() * self.answer_bytes_of_each;
            (own.dictionary.charge_bytes() + answers).saturating_sub(own.dictionary.free_bytes())
        };
        if used + cost > limit
            || is_added && own_bytes() + cost > self.memory_bytes_max / ADDED_SHARE
        {
            self.fold(column);
            return REMAINDER;
        }
        let uncounted =
            own.late.as_mut().map(|late| late.forget(own.dictionary.fingerprint(value)));
        self.insert(column, value, uncounted.unwrap_or(0))
    }

    /// Returns the id of a value for which [`Self::intern`] has returned [`REMAINDER`], now that
    /// `records` more records have it. A frequent value gets an id of its own; see [`LateValues`]
    /// and [`Dictionary::uncounted_max`].
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn intern_late(&mut self, column: ColumnId, value: &[u8], records: u64) -> u32 {
        let room = self.memory_bytes_max.saturating_sub(self.used_bytes());
        let own = &mut self.columns[column.index()];
        if let Some(id) = own.dictionary.revive(value) {
            return id;
        }
        let fingerprint = own.dictionary.fingerprint(value);
        let cost = Dictionary::late_cost_bytes(value.len()) + self.answer_bytes_of_each;
        let cost = if cost <= room { cost } else { usize::MAX };
        let late = own.late.as_mut();
        match late.and_then(|late| late.offer(fingerprint, records, cost)) {
            Some(uncounted) => self.insert(column, value, uncounted),
            None => REMAINDER,
        }
    }

    /// Notes that a value of the column has no id.
    #[cold]
    fn fold(&mut self, column: ColumnId) {
        let room = self.memory_bytes_max.saturating_sub(self.used_bytes());
        let own = &mut self.columns[column.index()];
        own.dictionary.keep_id(REMAINDER);
        if own.folded {
            return;
        }
        own.folded = true;
        let bytes = self.memory_bytes_max / RESERVE_SHARE / RESERVE_SHARE_OF_COLUMN;
        own.late = LateValues::with_memory(bytes.min(room));
        self.memory_bytes += own.late.as_ref().map_or(0, LateValues::memory_bytes);
    }

    /// Adds a value of which `uncounted` records have no id.
    fn insert(&mut self, column: ColumnId, value: &[u8], uncounted: u64) -> u32 {
        let dictionary = &mut self.columns[column.index()].dictionary;
        let cost = Dictionary::cost_bytes(value.len());
        let free = dictionary.free_bytes().min(cost - value.len());
        let id = dictionary.intern(value);
        self.memory_bytes += cost - free + dictionary.set_uncounted_max(id, uncounted);
        if free == 0 {
            self.ids += 1;
        }
        self.free_bytes -= free;
        id
    }

    /// Returns the largest number of records that a value of the column without an id can have;
    /// `None` if that is not known.
    ///
    /// # Panics
    /// If this data set has no such column.
    pub fn unlisted_max(&self, column: ColumnId) -> Option<u64> {
        match &self.columns[column.index()] {
            ColumnValues { folded: false, .. } => Some(0),
            ColumnValues { late, .. } => late.as_ref().map(LateValues::records_max),
        }
    }

    /// Returns the memory that the distinct values take, in bytes, with what is charged for answers.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes + self.ids * self.answer_bytes_of_each
    }

    /// Returns the part of [`Self::memory_bytes`] that holds values, in bytes. The rest belongs to
    /// ids that are free for new values.
    ///
    /// The limit of [`Self::new`] is on this part.
    pub fn used_bytes(&self) -> usize {
        self.memory_bytes() - self.free_bytes
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

    /// Returns the days on which requests have which offsets from UTC, if they have several offsets.
    pub fn offset_days(&self) -> Option<&OffsetDays> {
        self.offset_days.as_deref()
    }

    /// Returns the zone that `find` finds for the days of [`Self::offset_days`], if there are some. It
    /// is called once for the same days, because a search tries hundreds of zones.
    pub fn zone_of_days(&self, find: impl FnOnce(&OffsetDays) -> Zone) -> Option<Zone> {
        let days = self.offset_days()?;
        Some(self.zone_of_days.get_or_init(|| Box::new(find(days))).as_ref().clone())
    }

    /// Replaces the days of [`Self::offset_days`].
    pub fn replace_offset_days(&mut self, days: Option<OffsetDays>) {
        self.offset_days = days.map(Box::new);
        self.zone_of_days = OnceLock::new();
    }

    /// Adds further days to those of [`Self::offset_days`].
    pub fn add_offset_days(&mut self, days: &OffsetDays) {
        self.offset_days.get_or_insert_default().merge(days);
        self.zone_of_days = OnceLock::new();
    }

    pub(crate) fn note_offset(&mut self, offset_s: Option<i32>) {
        self.first_offset_s = self.first_offset_s.or(offset_s);
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnId, LateValues, OffsetDays, REMAINDER, Schema, Values, Zone};
    use crate::field::Field;

    #[test]
    fn the_zone_of_days_is_looked_for_again_after_they_change() {
        let mut values = Values::new(1 << 20);
        assert_eq!(values.zone_of_days(|_| Zone::utc()), None);
        for offset_s in [3_600, 7_200] {
            values.add_offset_days(&OffsetDays::default());
            assert_eq!(values.zone_of_days(|_| Zone::fixed(offset_s)), Some(Zone::fixed(offset_s)));
            assert_eq!(values.zone_of_days(|_| Zone::utc()), Some(Zone::fixed(offset_s)));
        }
        values.replace_offset_days(None);
        assert_eq!(values.zone_of_days(|_| Zone::utc()), None);
    }

    #[test]
    fn folds_new_values_when_memory_is_spent() {
        let mut values = Values::new(10_000);
        let column = Field::Path.column();
        let ids: Vec<u32> =
            (0..1_000).map(|n| values.intern(column, format!("/{n}").as_bytes())).collect();
        assert_eq!(values.unlisted_max(Field::Client.column()), Some(0));
        assert_eq!(ids[0], 2);
        assert_eq!(ids[999], REMAINDER);
        assert!(values.is_estimated(column) && !values.is_estimated(Field::Client.column()));
        assert!(values.memory_bytes() <= 10_000);
        assert_eq!(values.intern(column, b"/0"), 2, "known values stay exact");
    }
    /// The id of each record's value.
    fn ids(values: &mut Values, records: impl Iterator<Item = u32>) -> Vec<u32> {
        let column = Field::Path.column();
        let mut id_of = |number: u32| {
            let value = format!("/path/{number}");
            match values.intern(column, value.as_bytes()) {
                REMAINDER => values.intern_late(column, value.as_bytes(), 1),
                id => id,
            }
        };
        records.map(&mut id_of).collect()
    }

    #[test]
    fn an_added_column_leaves_room_for_the_others() {
        let mut values = Values::new(100_000);
        let (added, path) = (values.add_text_column("request_id"), Field::Path.column());
        for number in 0..1_000 {
            values.intern(added, format!("4bf92f3577b34da6{number}").as_bytes());
        }
        assert!(values.is_estimated(added) && values.used_bytes() <= 100_000 / 4);
        let ids: Vec<u32> =
            (0..500).map(|number| values.intern(path, format!("/{number}").as_bytes())).collect();
        assert!(!ids.contains(&REMAINDER) && !values.is_estimated(path));
    }

    #[test]
    fn a_frequent_value_that_comes_late_gets_an_id() {
        let mut values = Values::new(1 << 20);
        let column = Field::Path.column();
        // Each path once, and among those that come late, one of ten is path 7,777,777.
        let frequent = |n: u32| if n > 50_000 && n.is_multiple_of(10) { 7_777_777 } else { n };
        let ids = ids(&mut values, (0..100_000).map(frequent));
        let dictionary = values.dictionary(column);
        let id = dictionary.find(b"/path/7777777").expect("it has an id");
        let counted = ids.iter().filter(|other| **other == id).count() as u64;
        let uncounted =
            (50_001u32..100_000).filter(|n| n.is_multiple_of(10)).count() as u64 - counted;
        assert!(uncounted <= dictionary.uncounted_max(id));
        assert!(counted > 0 && !dictionary.is_complete(b"/path/7777777"));
        assert!(dictionary.is_complete(b"/path/0") && !dictionary.is_complete(b"/path/99999"));
        let remainder = ids.iter().filter(|id| **id == REMAINDER).count() as u64;
        let unlisted_max = values.unlisted_max(column).expect("there is memory to count them");
        assert!((1..remainder / 10).contains(&unlisted_max), "{unlisted_max} of {remainder}");
        assert!(values.memory_bytes() <= 1 << 20);
    }

    #[test]
    fn a_hostile_log_takes_no_more_memory_than_allowed() {
        let mut values = Values::new(1 << 20);
        let value = |length: usize, n: u32| format!("{n}{}", "x".repeat(length)).into_bytes();
        for (column, _) in Schema::new().text_columns() {
            for n in 0..3_000 {
                let value = value(1 << (n % 16), n / 3);
                if values.intern(column, &value) == REMAINDER {
                    values.intern_late(column, &value, u64::from(n));
                }
            }
        }
        let held = |(column, _): (ColumnId, &str)| values.dictionary(column).charge_bytes();
        let late: usize =
            values.columns.iter().flat_map(|own| &own.late).map(LateValues::memory_bytes).sum();
        let held = values.schema().text_columns().map(held).sum::<usize>() + late;
        assert_eq!(values.memory_bytes(), held);
        assert!(held <= 1 << 20, "{held}");
    }
}
