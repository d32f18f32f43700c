//! The places of the lines that a query selects, for an export of the lines themselves.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Field, Record, Snapshot, Snapshots, Values};

use super::row_cursor::RowCursor;
use crate::export::ExportError;
use crate::question::ParsedQuery;

/// The maximum number of places that are returned at once.
const PLACES_MAX: usize = 4_096;

/// The place of a record's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePlace {
    /// The number of the source.
    pub source: u32,
    /// The offset of the line in the source, in bytes.
    pub offset: u64,
    /// The record's client, which the line must contain.
    pub client: Option<String>,
}

/// Finds the lines of the records that a query selects, in the order of the sources, and within a
/// source in the order of its lines. Records that expire before they are found are left out.
///
/// # Locks
/// The values are locked for reading during a call of [`Self::next_places`].
///
/// # Memory
/// 4,096 places, 16 bytes for each row of a few segments, and a snapshot: segments that expire
/// during an export are freed after it.
pub struct LinePlaces<D> {
    data: Arc<D>,
    cursor: RowCursor,
}

impl<D: Snapshots> LinePlaces<D> {
    /// Begins with the rows of a snapshot. If its ids are stale, it begins with the rows that the
    /// data set holds now, except those added after the snapshot. The work of its filter ends when
    /// `should_stop` becomes true.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data, or the work was stopped.
    pub fn new(
        data: Arc<D>,
        snapshot: &Snapshot<D::Source>,
        query: ParsedQuery,
        should_stop: Arc<AtomicBool>,
    ) -> Result<Self, ExportError> {
        let cursor = RowCursor::new(&*data, snapshot, query, should_stop)?;
        Ok(Self { data, cursor })
    }

    /// Returns the next places, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the query is no longer valid, or the work was stopped.
    pub fn next_places(&mut self) -> Result<Option<Vec<LinePlace>>, ExportError> {
        let data = self.data.clone();
        loop {
            let values = self.cursor.values(&*data)?;
            let places = self.take_places(&values);
            drop(values);
            if !places.is_empty() {
                return Ok(Some(places));
            }
            if self.cursor.rows().is_empty() && self.cursor.enter_next_group().is_none() {
                return Ok(None);
            }
        }
    }

    /// Takes the next rows of the group, and returns the places of those that are new.
    fn take_places(&mut self, values: &Values) -> Vec<LinePlace> {
        let reader = self.cursor.reader().clone().only(&[Field::Client.name().to_owned()]);
        let rows = self.cursor.rows();
        let rows = &rows[..rows.len().min(PLACES_MAX)];
        let mut record = Record::new();
        let mut places = Vec::new();
        for (index, row) in rows.iter().filter(|row| self.cursor.is_new(**row)) {
            reader.read(&self.cursor.segments()[*index], *row, values, &mut record);
            let client = record.text(Field::Client);
            let client = client.map(|client| String::from_utf8_lossy(client).into_owned());
            let (source, offset) = self.cursor.place((*index, *row));
            places.push(LinePlace { source, offset, client });
        }
        let passed = rows.len();
        self.cursor.pass(passed);
        places
    }
}
