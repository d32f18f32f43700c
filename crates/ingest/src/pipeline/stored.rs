//! Data sets that are saved, and made again from what was saved.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_core::{Column, ColumnId, SnapshotSegment, Values};
use weir_store::{Reader, StoreError, StoredData, StoredSource, Summary, Writer};

use super::data_set::DataSet;
use crate::progress::SourceProgress;

impl DataSet {
    /// Writes the data set, from which [`Self::load`] makes it again: its records, values, formats
    /// and sources. Lines are not in it.
    ///
    /// Nothing should be read into the data set meanwhile.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, output: &mut impl Write) -> io::Result<()> {
        let mut writer = Writer::begin(output)?;
        let snapshot = self.snapshot();
        let values = self.values();
        writer.columns(values.schema().columns().map(|(_, column)| column.name.as_str()));
        let columns: Vec<ColumnId> = values.schema().text_columns().map(|(id, _)| id).collect();
        for column in columns {
            let (mut next, end) = (2, values.dictionary(column).ids());
            while next < end {
                next = writer.values(&values, column, next, end);
                writer.write_part(output)?;
            }
        }
        for SnapshotSegment { number, segment, bounds } in snapshot.segments.iter() {
            writer.segment(*number, segment, *bounds);
            writer.write_part(output)?;
        }
        writer.column_states(&values);
        let sources: Vec<(u32, StoredSource)> =
            self.all_sources().iter().map(|source| (source.number(), source.stored())).collect();
        writer.summary(&sources, &self.formats(), &self.summary(&values));
        writer.commit(output).map(|_| ())
    }

    /// What is stored of the data set beside its parts.
    fn summary(&self, values: &Values) -> Summary {
        Summary {
            first_offset_s: values.first_offset_s(),
            value_days: values.offset_days().cloned(),
            offset_days: self.offset_days.lock().clone(),
            lacks_offset: self.lacks_offset.load(Ordering::Relaxed),
            blocks: self.blocks.load(Ordering::Relaxed),
        }
    }

    /// Fills the data set, which must be empty, with one that [`Self::save`] has written.
    ///
    /// # Errors
    /// If the input is not a whole data set of this version, or does not fit in the memory of this
    /// one. The data set is then as it was.
    pub fn load(&self, input: impl Read + Send) -> Result<(), StoreError> {
        let value_bytes_max = self.retention().values_bytes_max(self.memory_bytes_max());
        let segment_bytes_max = self.memory_bytes_max() - value_bytes_max;
        let stored = Reader::new(input, value_bytes_max, segment_bytes_max)?.read()?;
        match stored.torn {
            None => self.restore(stored),
            Some(reason) => {
                return Err(StoreError::Damaged { offset: stored.committed_bytes, reason });
            }
        }
        Ok(())
    }

    /// Fills the data set, which must be empty.
    pub(crate) fn restore(&self, stored: StoredData) {
        let StoredData { values, segments, sources, formats, summary, .. } = stored;
        let is_added = |column: &&Column| column.field.is_none();
        let columns: Vec<String> = (self.values().schema().columns().map(|(_, column)| column))
            .filter(is_added)
            .map(|column| column.name.clone())
            .collect();
        *self.values_mut() = values;
        // Columns that questions have named are in the stored data set, or are added again.
        self.add_columns(&columns);
        let segments = segments.into_iter().map(|(number, stored)| SnapshotSegment {
            number,
            segment: stored.segment,
            bounds: stored.bounds,
        });
        self.policy.restore(segments.collect());
        *self.offset_days.lock() = summary.offset_days;
        self.lacks_offset.store(summary.lacks_offset, Ordering::Relaxed);
        self.blocks.store(summary.blocks, Ordering::Relaxed);
        *self.formats.write() = formats;
        for source in sources {
            self.add_source(&Arc::new(SourceProgress::restored(source)));
        }
        self.report_memory();
        self.touch();
    }
}
