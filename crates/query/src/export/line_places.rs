//! The places of the lines that a query selects, for an export of the lines themselves.

use std::collections::HashMap;
use std::sync::Arc;

use weir_core::{Field, Record, Snapshot, Snapshots, Values};
use weir_view::RecordKind;

use super::row_export::{SnapshotCursor, kind_of, last_lines};
use crate::question::{ParsedQuery, QueryError};

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
    query: ParsedQuery,
    kind: RecordKind,
    /// The offset of the last line of each source in the first snapshot.
    last_lines: HashMap<u32, u64>,
    /// The last place that was returned.
    passed: Option<(u32, u64)>,
    cursor: SnapshotCursor,
}

impl<D: Snapshots> LinePlaces<D> {
    /// Begins with the rows of a snapshot. If its ids are stale, it begins with the rows that the
    /// data set holds now, except those added after the snapshot.
    ///
    /// # Errors
    /// Fails if the query is not valid for this data.
    pub fn new(
        data: Arc<D>,
        snapshot: &Snapshot<D::Source>,
        query: ParsedQuery,
    ) -> Result<Self, QueryError> {
        let kind = query.kind.unwrap_or_else(|| kind_of(snapshot));
        let cursor = match SnapshotCursor::new(&*data, snapshot, &query, kind)? {
            Some(cursor) => cursor,
            None => SnapshotCursor::of_current(&*data, &query, kind)?,
        };
        Ok(Self { data, query, kind, last_lines: last_lines(snapshot), passed: None, cursor })
    }

    /// Returns the next places, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the query is no longer valid.
    pub fn next_places(&mut self) -> Result<Option<Vec<LinePlace>>, QueryError> {
        let data = self.data.clone();
        loop {
            let values = data.values();
            if values.reuses() != self.cursor.epoch {
                drop(values);
                // Ids of the old snapshot may have been reused.
                self.cursor = SnapshotCursor::of_current(&*data, &self.query, self.kind)?;
                continue;
            }
            let places = self.take_places(&values);
            drop(values);
            if !places.is_empty() {
                return Ok(Some(places));
            }
            if self.cursor.rows.as_slice().is_empty()
                && self.cursor.enter_next_group(&self.last_lines).is_none()
            {
                return Ok(None);
            }
        }
    }

    /// Takes the next rows of the group, and returns the places of those that are exported.
    fn take_places(&mut self, values: &Values) -> Vec<LinePlace> {
        let reader = self.cursor.reader.clone().only(&[Field::Client.name().to_owned()]);
        let rows: Vec<_> = self.cursor.rows.by_ref().take(PLACES_MAX).collect();
        let mut record = Record::new();
        let mut places = Vec::new();
        for (index, row) in rows {
            let place = self.cursor.place(index, row);
            if !self.cursor.is_exported(place, self.passed) {
                continue;
            }
            self.passed = Some(place);
            reader.read(&self.cursor.segments[index], row, values, &mut record);
            let client = record.text(Field::Client);
            let client = client.map(|client| String::from_utf8_lossy(client).into_owned());
            places.push(LinePlace { source: place.0, offset: place.1, client });
        }
        places
    }
}
