//! Finds the limits of rows of a data set, once per distinct value instead of once per row.
//!
//! The limits of a request depend on its path, and most keys depend on a single field. A data set
//! has a dense id for each distinct value of a field. So the limit set of a path and the number of
//! a key are cached by id. Only the first row with a value computes them, as [`LimitObserver`] does
//! for each record. A row then costs a few array reads, and no text is copied or compared.
//! The observer handles rules that need more than that, such as several servers distinguished by
//! host, or a key of two fields.

use std::sync::Arc;

use weir_core::{
    ABSENT, ColumnId, Field, Numbers, REMAINDER, Record, RowReader, Segment, Selection, Times,
    Values,
};

use super::Limit;
use crate::arrivals::NO_KEY;
use crate::keys::Interner;
use crate::nginx::configuration::Configuration;
use crate::nginx::key::KeySource;
use crate::nginx::observer::LimitObserver;

/// A value that is not in the cache yet. Cached numbers are stored plus two.
const NOT_KNOWN: u32 = 0;

/// A path without limits, or a value without a key.
const NONE: u32 = 1;

/// The limits and keys of rows, by the ids of their values.
///
/// # Memory
///
/// 4 bytes for each distinct path, and for each distinct value of the field of a key.
#[derive(Debug)]
pub(super) struct LimitColumns {
    rows: RowReader,
    observer: LimitObserver<Limit>,
    /// By path id: the cached number of the limit set.
    limit_sets: Vec<u32>,
    /// The keys by zone.
    zones: Vec<KeyColumn>,
    /// The columns that are only checked for dropped values.
    others: Vec<ColumnId>,
    buffers: Buffers,
}

/// The keys of a zone.
#[derive(Debug, Default)]
struct KeyColumn {
    /// `None` for a key that is the same for all requests.
    column: Option<ColumnId>,
    /// By value id in the column: the cached number of the key.
    numbers: Vec<u32>,
    /// The ids of the rows of the present segment.
    ids: Vec<u32>,
}

/// The values of the selected rows of a segment.
#[derive(Debug, Default)]
struct Buffers {
    requests: Vec<u32>,
    /// The ids of paths, later replaced by their cached limit sets.
    paths: Vec<u32>,
    times_ns: Vec<Option<i64>>,
    durations_ns: Vec<Option<u64>>,
    /// Whether a row has a dropped value; empty if no row has one.
    unknown: Vec<bool>,
    key_text: Vec<u8>,
}

/// A row that has limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitedRow<'k> {
    pub(super) line: u64,
    pub(super) time_ns: Option<i64>,
    pub(super) duration_ns: u64,
    /// The number of its limit set.
    pub(super) set: u32,
    /// The keys of its limits; empty if the row has no time.
    pub(super) keys: &'k [u32],
}

impl LimitColumns {
    /// Resolves the columns of a configuration; `None` if its limits or keys need more than one
    /// field.
    pub(super) fn new(configuration: &Arc<Configuration<Limit>>, rows: &RowReader) -> Option<Self> {
        let observer = LimitObserver::of_log(configuration, rows.fields()).ok()?;
        let mut zones = Vec::new();
        for zone in 0..configuration.zones.len() {
            let column = match &observer.key_sources(zone)[..] {
                [] => None,
                [KeySource::Field(field)] => Some(rows.text_column(*field)?),
                _ => return None,
            };
            zones.push(KeyColumn { column, ..KeyColumn::default() });
        }
        if !observer.has_same_limits() {
            return None;
        }
        let is_other = |column: &ColumnId| {
            let of_limits = [Field::Request.column(), Field::Path.column()];
            !of_limits.contains(column) && zones.iter().all(|zone| zone.column != Some(*column))
        };
        let others = rows.text_columns().filter(is_other).collect();
        let (limit_sets, buffers) = Default::default();
        Some(Self { rows: rows.clone(), observer, limit_sets, zones, others, buffers })
    }

    /// Calls `each` with the selected rows that have limits, in order. Keys are numbered in that
    /// order, by zone. Returns the number of rows with dropped values, which are skipped.
    pub(super) fn each(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        values: &Values,
        numbers: &mut [Interner],
        mut take: impl FnMut(LimitedRow<'_>),
    ) -> u64 {
        self.read(segment, selection);
        self.find_limits(selection.len(), values);
        let (mut row_number, mut unknown, mut keys) = (0, 0, Vec::new());
        selection.for_each(|row| {
            let index = row_number;
            row_number += 1;
            if self.buffers.unknown.get(index) == Some(&true) {
                unknown += 1;
                return;
            }
            // nginx refuses an invalid request line before it applies limits.
            if self.buffers.requests.get(index).is_some_and(|request| *request != ABSENT) {
                return;
            }
            let Some(set) = self.buffers.paths[index].checked_sub(NONE + 1) else { return };
            let time_ns = self.buffers.times_ns.get(index).copied().flatten();
            let has_time = time_ns.is_some();
            if !self.find_keys(set, index, values, has_time.then_some(&mut *numbers), &mut keys) {
                return;
            }
            let duration_ns = self.buffers.durations_ns.get(index).copied().flatten();
            take(LimitedRow {
                line: segment.line_offset(row),
                time_ns,
                duration_ns: duration_ns.unwrap_or(0),
                set,
                keys: &keys,
            });
        });
        unknown
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let of_keys: usize = self.zones.iter().map(|zone| zone.numbers.capacity()).sum();
        (self.limit_sets.capacity() + of_keys) * size_of::<u32>()
    }

    /// Reads the values of the rows of a segment.
    fn read(&mut self, segment: &Segment, selection: &Selection) {
        let Self { others, zones, buffers, .. } = self;
        let Buffers { requests, paths, unknown, .. } = buffers;
        unknown.clear();
        let mut read = |column, into: &mut Vec<u32>| {
            read_ids(segment, selection, column, into);
            note_unknown(into, unknown);
        };
        others.iter().for_each(|column| read(*column, paths));
        read(Field::Request.column(), requests);
        read(Field::Path.column(), paths);
        for zone in zones {
            match zone.column {
                Some(column) => read(column, &mut zone.ids),
                None => zone.ids.clear(),
            }
        }
        let times = segment.times().map(Times::instants);
        read_numbers(times, selection, &mut buffers.times_ns, Times::decode_instant);
        let durations = if self.observer.time_is_arrival() {
            None
        } else {
            segment.numbers(Field::RequestTime.column())
        };
        read_numbers(durations, selection, &mut buffers.durations_ns, |number| number);
    }

    /// Replaces the path ids of the rows by their cached limit sets.
    ///
    /// The ids access the table in random order. A loop that does nothing else lets the processor
    /// fetch many entries in parallel.
    fn find_limits(&mut self, rows: usize, values: &Values) {
        let mut paths = std::mem::take(&mut self.buffers.paths);
        paths.resize(rows, ABSENT);
        for path in &mut paths {
            let known = self.limit_sets.get(*path as usize).copied().unwrap_or(NOT_KNOWN);
            *path = if known == NOT_KNOWN { self.look_up_limits(*path, values) } else { known };
        }
        self.buffers.paths = paths;
    }

    #[cold]
    fn look_up_limits(&mut self, id: u32, values: &Values) -> u32 {
        let mut record = Record::new();
        self.rows.read_value(Field::Path.column(), id, values, &mut record);
        let found = self.observer.limits_of_path(&record);
        let known = found.map_or(NONE, |set| set as u32 + NONE + 1);
        put(&mut self.limit_sets, id, known, values.dictionary(Field::Path.column()).ids());
        known
    }

    /// Finds the keys of the limits of a row, and interns new ones in `numbers`, if given. Returns
    /// whether the row has a key.
    #[inline]
    fn find_keys(
        &mut self,
        set: u32,
        index: usize,
        values: &Values,
        mut numbers: Option<&mut [Interner]>,
        keys: &mut Vec<u32>,
    ) -> bool {
        keys.clear();
        let mut has_key = false;
        for position in 0.. {
            let Some(zone_number) = self.observer.zone_of_limit(set, position) else { break };
            let zone = &self.zones[zone_number];
            let id = zone.ids.get(index).copied().unwrap_or(ABSENT);
            let known = zone.numbers.get(id as usize).copied().unwrap_or(NOT_KNOWN);
            let key = match (known, &mut numbers) {
                (NOT_KNOWN, Some(numbers)) => {
                    self.look_up_key(zone_number, id, values, &mut numbers[zone_number])
                }
                (NOT_KNOWN, None) => {
                    has_key |= !self.key_text(zone_number, id, values).is_empty();
                    continue;
                }
                (known, _) => known.checked_sub(NONE + 1).unwrap_or(NO_KEY),
            };
            has_key |= key != NO_KEY;
            keys.push(key);
        }
        has_key
    }

    #[cold]
    fn look_up_key(
        &mut self,
        zone: usize,
        id: u32,
        values: &Values,
        numbers: &mut Interner,
    ) -> u32 {
        let number = match self.key_text(zone, id, values) {
            b"" => None,
            text => numbers.number(text),
        };
        let KeyColumn { column, numbers, .. } = &mut self.zones[zone];
        let ids = column.map_or(1, |column| values.dictionary(column).ids());
        put(numbers, id, number.map_or(NONE, |number| number + NONE + 1), ids);
        number.unwrap_or(NO_KEY)
    }

    /// Computes the key in a zone of the rows with a value.
    fn key_text(&mut self, zone: usize, id: u32, values: &Values) -> &[u8] {
        let mut record = Record::new();
        if let Some(column) = self.zones[zone].column {
            self.rows.read_value(column, id, values, &mut record);
        }
        self.observer.write_key_of(zone, &record, &mut self.buffers.key_text);
        &self.buffers.key_text
    }
}

/// Reads the ids of the rows of a column; `into` is empty if no row has a value.
fn read_ids(segment: &Segment, selection: &Selection, column: ColumnId, into: &mut Vec<u32>) {
    into.clear();
    if let Some(codes) = segment.text(column) {
        codes.for_each(selection, |id| into.push(id as u32));
    }
}

/// Marks the rows whose value was dropped.
fn note_unknown(ids: &[u32], unknown: &mut Vec<bool>) {
    if ids.contains(&REMAINDER) {
        unknown.resize(ids.len(), false);
        for (unknown, id) in unknown.iter_mut().zip(ids) {
            *unknown |= *id == REMAINDER;
        }
    }
}

/// Reads the numbers of the rows of a column; `into` is empty without one.
fn read_numbers<T>(
    numbers: Option<&Numbers>,
    selection: &Selection,
    into: &mut Vec<Option<T>>,
    decode: impl Fn(u64) -> T,
) {
    into.clear();
    if let Some(numbers) = numbers {
        numbers.for_each(selection, |number| into.push(number.map(&decode)));
    }
}

/// Stores the entry of a value in a table, which is extended to the number of ids.
fn put(table: &mut Vec<u32>, id: u32, known: u32, ids: usize) {
    let index = id as usize;
    if index >= table.len() {
        table.resize(ids.max(index + 1), NOT_KNOWN);
    }
    table[index] = known;
}
