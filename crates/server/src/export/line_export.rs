//! Exports the lines of records, which are read from their files again.
//!
//! A data set stores only the offsets of lines. The lines of plain files on the server's disk can
//! be read again; those of uploads, streams and compressed files cannot.

use std::collections::HashMap;
use std::sync::Arc;

use weir_core::{BlockLimits, Snapshot};
use weir_ingest::{DataSet, LineFile, PlainFile, SourceProgress, SourceSnapshot};
use weir_query::{LinePlace, LinePlaces};

use super::sending::PartSource;
use crate::read_back::{may_belong_to, unreadable_reason};
use crate::refusal::Refusal;

/// The size in bytes at which a part is complete.
const PART_BYTES: usize = 64 << 10;

/// The lines of the records that a query selects.
pub(super) struct LineExport {
    places: LinePlaces<DataSet>,
    /// The places that were found and not read yet.
    found: std::vec::IntoIter<LinePlace>,
    sources: SourceLines,
}

impl LineExport {
    pub(super) fn new(places: LinePlaces<DataSet>, data: Arc<DataSet>) -> Self {
        Self { places, found: Vec::new().into_iter(), sources: SourceLines::new(data) }
    }
}

impl PartSource for LineExport {
    fn next_part(&mut self) -> Result<Option<Vec<u8>>, Refusal> {
        let mut part = Vec::with_capacity(PART_BYTES);
        while part.len() < PART_BYTES {
            let Some(place) = self.found.next() else {
                match self.places.next_places()? {
                    Some(found) => self.found = found.into_iter(),
                    None if part.is_empty() => return Ok(None),
                    None => break,
                }
                continue;
            };
            part.extend(self.sources.line(&place)?);
            part.push(b'\n');
        }
        Ok(Some(part))
    }
}

/// Checks that the lines of all sources can be read again: the last line of each segment, so that a
/// file that was truncated is noticed.
///
/// # Errors
/// Names the first source whose lines cannot be read.
pub(super) fn check(
    data: &Arc<DataSet>,
    snapshot: &Snapshot<SourceSnapshot>,
) -> Result<(), Refusal> {
    let mut sources = SourceLines::new(data.clone());
    for segment in snapshot.segments.iter().map(|it| &it.segment) {
        let Some(last) = segment.rows().checked_sub(1) else { continue };
        let (source, offset) = (segment.source(), segment.line_offset(last));
        sources.line(&LinePlace { source, offset, client: None })?;
    }
    Ok(())
}

/// Reads lines of the sources of a data set. The file of the last line stays open.
struct SourceLines {
    data: Arc<DataSet>,
    progress: HashMap<u32, Arc<SourceProgress>>,
    file: Option<(PlainFile, LineFile)>,
}

impl SourceLines {
    fn new(data: Arc<DataSet>) -> Self {
        Self { data, progress: HashMap::new(), file: None }
    }

    /// Reads a line, without its end.
    fn line(&mut self, place: &LinePlace) -> Result<&[u8], Refusal> {
        let progress = match self.progress.get(&place.source) {
            Some(progress) => progress.clone(),
            None => {
                let found = self.data.source(place.source).ok_or(Refusal::UnknownSource)?;
                self.progress.insert(place.source, found.clone());
                found
            }
        };
        let failed = |error: &dyn std::fmt::Display| {
            Refusal::NoLines(format!("{} cannot be read again: {error}", progress.name()))
        };
        let Some(found) = progress.file_place(place.offset) else {
            return Err(Refusal::NoLines(unreadable_reason(&progress)));
        };
        if self.file.as_ref().is_none_or(|(open, _)| *open != found.file) {
            let file = found.file.open().map_err(|error| failed(&error))?;
            self.file = Some((found.file.clone(), file));
        }
        let Some((_, file)) = &mut self.file else { return Err(Refusal::UnknownSource) };
        let line =
            file.line(&found, BlockLimits::LINE_BYTES_MAX).map_err(|error| failed(&error))?;
        match may_belong_to(place.client.as_deref(), line.bytes) && !line.is_cut {
            true => Ok(line.bytes),
            false => Err(failed(&weir_ingest::ReadBackError::Changed)),
        }
    }
}
