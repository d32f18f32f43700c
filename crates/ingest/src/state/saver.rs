//! Writes a data set to the folder of its state, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::sync::Arc;

use weir_core::{ColumnId, SnapshotSegment, Values};
use weir_store::Writer;

use super::folder::Folder;
use super::moment::Moment;
use super::places;
use super::written::{Written, runs};
use crate::pipeline::DataSet;

/// The file is written whole when the changes in it are larger than that was, and than this.
const CHANGES_BYTES_MIN: u64 = 16 << 20;

/// The bytes of changes after which they are written out although there are more.
const PART_BYTES: usize = 4 << 20;

/// What a file has, and where it ends.
struct Kept {
    file: File,
    writer: Writer,
    written: Written,
    /// The size of the file.
    bytes: u64,
    /// The size that it had when it was written whole.
    whole_bytes: u64,
}

/// Keeps the file of a data set up to date.
pub(super) struct Saver {
    data: Arc<DataSet>,
    folder: Folder,
    /// `None` if the file has to be written whole.
    kept: Option<Kept>,
}

impl Saver {
    /// A saver that writes the file whole at first. Until then, the file is as it was.
    pub(super) fn new(data: Arc<DataSet>, folder: Folder) -> Self {
        Self { data, folder, kept: None }
    }

    /// Goes on after what was read, which the data set has. `numbers` are the segments of the file.
    pub(super) fn after(
        mut self,
        writer: Writer,
        bytes: u64,
        numbers: BTreeSet<u64>,
    ) -> io::Result<Self> {
        let mut written = Written { segments: numbers, ..Written::default() };
        let moment = self.moment(&written);
        written.epoch = moment.epoch;
        let mut new = BTreeMap::new();
        for segment in moment.segments.iter() {
            written.add_values(&segment.segment, &mut new);
        }
        let file = self.folder.append(bytes)?;
        self.kept = Some(Kept { file, writer, written, bytes, whole_bytes: bytes / 2 });
        Ok(self)
    }

    fn moment(&self, written: &Written) -> Moment {
        let mut moment = self.data.moment(|number, revision| {
            written.revisions.get(number as usize).is_none_or(|known| *known != Some(revision))
        });
        for (number, stored) in &mut moment.sources {
            if let Some(source) = self.data.source(*number).filter(|source| source.is_kept()) {
                stored.places = places::of(&source, stored.counts.bytes_read);
            }
        }
        moment
    }

    /// Writes what has changed.
    ///
    /// # Errors
    /// If it cannot be written. The next call writes everything.
    pub(super) fn save(&mut self) -> io::Result<()> {
        let Some(mut kept) = self.kept.take() else { return self.save_whole() };
        let moment = self.moment(&kept.written);
        let is_large = kept.bytes - kept.whole_bytes > kept.whole_bytes.max(CHANGES_BYTES_MIN);
        if is_large || moment.epoch != kept.written.epoch || kept.must_name(&moment) {
            return self.save_whole();
        }
        if !self.add(&mut kept.writer, &mut kept.written, &moment, &mut io::sink(), false)? {
            return self.save_whole();
        }
        match kept.writer.commit(&mut kept.file) {
            Ok(bytes) => {
                kept.bytes += bytes;
                self.kept = Some(kept);
                Ok(())
            }
            Err(error) => {
                // Half a record is not read, but nothing could follow it.
                let _ = kept.file.set_len(kept.bytes);
                Err(error)
            }
        }
    }

    /// Makes what was written last through a loss of power.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.kept.as_ref().map_or(Ok(()), |kept| kept.file.sync_data())
    }

    /// Writes the file whole.
    fn save_whole(&mut self) -> io::Result<()> {
        for _ in 0..WHOLE_TRIES {
            let mut output = BufWriter::new(self.folder.begin()?);
            let mut writer = Writer::begin(&mut output)?;
            let mut written = Written::default();
            let moment = self.moment(&written);
            written.epoch = moment.epoch;
            // Ids may have got another meaning while values were copied.
            if !self.add(&mut writer, &mut written, &moment, &mut output, true)? {
                continue;
            }
            writer.commit(&mut output)?;
            let mut file = output.into_inner().map_err(io::IntoInnerError::into_error)?;
            self.folder.replace(&file)?;
            let bytes = file.stream_position()?;
            self.kept = Some(Kept { file, writer, written, bytes, whole_bytes: bytes });
            return Ok(());
        }
        Ok(())
    }

    /// Adds what has changed since it was written. Returns false if ids have another meaning now.
    fn add(
        &self,
        writer: &mut Writer,
        written: &mut Written,
        moment: &Moment,
        output: &mut impl Write,
        in_parts: bool,
    ) -> io::Result<bool> {
        let is_kept = |segment: &&SnapshotSegment| {
            moment.are_kept.get(segment.segment.source() as usize).copied().unwrap_or(false)
        };
        let kept: Vec<&SnapshotSegment> = moment.segments.iter().filter(is_kept).collect();
        let present: BTreeSet<u64> = kept.iter().map(|segment| segment.number).collect();
        let gone: Vec<u64> = written.segments.difference(&present).copied().collect();
        let added: Vec<&SnapshotSegment> = kept
            .into_iter()
            .filter(|segment| !written.segments.contains(&segment.number))
            .collect();
        self.add_columns(writer, written, &added);
        let mut new = BTreeMap::new();
        added.iter().for_each(|segment| written.add_values(&segment.segment, &mut new));
        for (column, ids) in new {
            if !self.add_values(writer, moment.epoch, column, &ids, (output, in_parts))? {
                return Ok(false);
            }
        }
        for SnapshotSegment { number, segment, bounds } in added {
            writer.segment(*number, segment, *bounds);
            if in_parts {
                writer.write_part(output)?;
            }
        }
        writer.remove(&gone);
        writer.column_states(&self.data.values());
        writer.summary(&moment.sources, &moment.formats, &moment.summary);
        written.segments = present;
        written.revisions.resize(moment.are_kept.len(), None);
        for ((number, _), revision) in moment.sources.iter().zip(&moment.revisions) {
            written.revisions[*number as usize] = Some(*revision);
        }
        Ok(true)
    }

    /// Adds the columns that the schema has got. The name of one that no kept source has is left out:
    /// it may come from an upload.
    fn add_columns(
        &self,
        writer: &mut Writer,
        written: &mut Written,
        segments: &[&SnapshotSegment],
    ) {
        let values = self.data.values();
        let used: BTreeSet<usize> = segments
            .iter()
            .flat_map(|segment| segment.segment.columns().map(|(id, _)| id.index()))
            .collect();
        let start = writer.written_columns();
        let names: Vec<String> = values
            .schema()
            .columns()
            .skip(start)
            .map(|(id, column)| {
                if column.field.is_some()
                    || id.index() < start_of_added()
                    || used.contains(&id.index())
                {
                    return column.name.clone();
                }
                written.hidden.insert(id.index());
                format!("unused_{}", id.index())
            })
            .collect();
        writer.columns(names.iter().map(String::as_str));
    }

    /// Adds values. Returns false if ids have another meaning now.
    fn add_values(
        &self,
        writer: &mut Writer,
        epoch: u64,
        column: ColumnId,
        ids: &BTreeSet<u32>,
        (output, in_parts): (&mut impl Write, bool),
    ) -> io::Result<bool> {
        let mut runs = runs(ids).into_iter().peekable();
        while runs.peek().is_some() {
            // Parsers wait while this is held.
            let values: &Values = &self.data.values();
            if values.reuses() != epoch {
                return Ok(false);
            }
            while let Some((first, end)) = runs.next_if(|_| writer.pending_bytes() < PART_BYTES) {
                let mut next = first as usize;
                while next < end as usize {
                    next = writer.values(values, column, next, end as usize);
                }
            }
            if in_parts {
                writer.write_part(output)?;
            } else if writer.pending_bytes() >= PART_BYTES {
                // Too much for one change.
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// How often the file is begun again because values were evicted meanwhile.
const WHOLE_TRIES: usize = 10;

/// The number of columns that every data set has.
fn start_of_added() -> usize {
    weir_core::Schema::new().columns().len()
}

impl Kept {
    /// Whether a segment has a column whose name was left out.
    fn must_name(&self, moment: &Moment) -> bool {
        let is_new = |it: &&SnapshotSegment| !self.written.segments.contains(&it.number);
        let is_hidden = |it: &SnapshotSegment| {
            it.segment.columns().any(|(id, _)| self.written.hidden.contains(&id.index()))
        };
        !self.written.hidden.is_empty() && moment.segments.iter().filter(is_new).any(is_hidden)
    }
}
