//! Data sets that were saved, and are named in place of logs.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use weir_core::{Fold, SnapshotSegment, TimeBounds, Zone};
use weir_ingest::{DataSet, Input, Retention, StoreError, is_stored};

use crate::display::safe;
use crate::outcome::Failure;
use crate::sources;

/// Returns the saved data set among the inputs, if there is one.
///
/// # Errors
/// If other inputs are beside it.
pub(crate) fn among(inputs: &[Input]) -> Result<Option<PathBuf>, Failure> {
    let paths = inputs.iter().filter_map(|input| match input {
        Input::File(path) => Some(path.to_path_buf()),
        Input::Stdin(_) => None,
    });
    let Some(saved) = paths.into_iter().find(|path| is_saved(path)) else { return Ok(None) };
    if inputs.len() > 1 {
        return Err(Failure::new(format_args!(
            "{}: is a saved data set, which is shown alone; name it without other files, or name the \
             logs that it was made of",
            safe(&saved.to_string_lossy())
        )));
    }
    Ok(Some(saved))
}

/// Whether a file is a saved data set, of whatever version.
pub(crate) fn is_saved(path: &Path) -> bool {
    // Opening a FIFO would block.
    let mut head = Vec::new();
    path.is_file()
        && File::open(path).and_then(|file| file.take(8).read_to_end(&mut head)).is_ok()
        && is_stored(&head)
}

/// Reads a saved data set.
///
/// # Errors
/// If it cannot be read, is damaged, or does not fit in the memory.
pub(crate) fn open(path: &Path, memory_bytes_max: usize) -> Result<Arc<DataSet>, Failure> {
    let data = DataSet::new(Retention::Segments, memory_bytes_max, &[]);
    load(path, &data)?;
    Ok(data)
}

/// Fills an empty data set with a saved one.
///
/// # Errors
/// If it cannot be read, is damaged, or does not fit in the memory.
pub(crate) fn load(path: &Path, data: &DataSet) -> Result<(), Failure> {
    let name = safe(&path.to_string_lossy());
    let file = File::open(path).map_err(|error| {
        Failure::new(format_args!("{name}: {}", sources::cannot_open(path, &error)))
    })?;
    data.load(file).map_err(|error| match error {
        StoreError::Io(error) => {
            Failure::new(format_args!("{name}: {}", sources::cannot_read(&error)))
        }
        error => Failure::new(format_args!("{name}: {error}")),
    })
}

/// The zone of the first record with a time; UTC if there is none.
pub(crate) fn zone(data: &DataSet) -> Zone {
    data.values().first_offset_s().map_or_else(Zone::utc, Zone::fixed)
}

/// Folds all segments of a data set to which nothing is added, on several threads.
///
/// # Errors
/// If only a part of the rows of some segment counts.
pub(crate) fn fold<F: Fold + Clone + Send + Sync>(
    data: &DataSet,
    threads: usize,
    fold: &F,
) -> Result<F, Failure> {
    let snapshot = data.snapshot();
    let segments: Vec<&SnapshotSegment> = snapshot.segments.iter().collect();
    if segments.iter().any(|segment| segment.bounds != TimeBounds::ALL) {
        return Err(Failure::new(
            "the data set is the window of a live feed, from which rows have expired one by one; show it \
             on the page with weir FILE",
        ));
    }
    let run = |part: &[&SnapshotSegment]| {
        let mut fold = fold.clone();
        fold.refresh(&data.values());
        part.iter().for_each(|segment| fold.update(&segment.segment));
        fold
    };
    let run = &run;
    let length = segments.len().div_ceil(threads.max(1)).max(1);
    let (first, others) = segments.split_at(length.min(segments.len()));
    Ok(thread::scope(|scope| {
        let others: Vec<_> =
            others.chunks(length).map(|part| scope.spawn(move || run(part))).collect();
        let mut whole = run(first);
        for other in others {
            whole.merge(&other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        whole
    }))
}
