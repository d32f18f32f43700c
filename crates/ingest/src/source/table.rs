//! Tables among the inputs: Parquet files, whose rows are read as packed records.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use weir_core::{Format, FormatChoice};
use weir_tables::{Rows, TableError, TableFile, is_table};

use super::input::Input;
use super::rotated_set::has_packed_name;
use crate::error::{ReadError, StopReason};
use crate::writer::RecordWriter;

/// The first bytes of a file, which tell whether it is a table.
const MAGIC_BYTES: u64 = 4;

/// What a stream of a table is refused with.
pub(super) const STREAM_REFUSAL: &str = "is a Parquet file, which is read from its end and so cannot be \
    read from a pipe, a compressed file, an archive or an upload; name the file itself";

/// What a search for lines in a table is refused with.
const LINES_REFUSAL: &str =
    "is a Parquet file, which has no lines; select its records with --where";

/// Opens an input if it is a table.
///
/// # Errors
/// If it cannot be opened or read.
pub(super) fn open_table(input: &Input) -> io::Result<Option<File>> {
    let Input::File(path) = input else { return Ok(None) };
    // Opening a FIFO would block.
    if !input.is_file() {
        return Ok(None);
    }
    let (mut file, mut head) = (File::open(path)?, Vec::new());
    (&mut file).take(MAGIC_BYTES).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(is_table(&head).then_some(file))
}

/// Whether a table has its last bytes, so that its writer has finished it. They are those at its start.
pub(super) fn is_whole(file: &mut File) -> io::Result<bool> {
    let (mut head, mut tail) = ([0; MAGIC_BYTES as usize], [0; MAGIC_BYTES as usize]);
    if file.metadata()?.len() < 2 * MAGIC_BYTES {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-(MAGIC_BYTES as i64)))?;
    file.read_exact(&mut tail)?;
    file.rewind()?;
    file.read_exact(&mut head)?;
    Ok(head == tail)
}

/// Whether the file at a path is a table whose writer has not finished it, or an empty file with the name
/// of a packed one.
pub fn is_unfinished(path: &Path) -> bool {
    let is_unfinished = |mut file: File| {
        let mut head = Vec::new();
        (&mut file).take(MAGIC_BYTES).read_to_end(&mut head)?;
        Ok::<_, io::Error>(match head.is_empty() {
            true => has_packed_name(path),
            false => is_table(&head) && !is_whole(&mut file)?,
        })
    };
    // Opening a FIFO would block.
    path.is_file() && File::open(path).and_then(is_unfinished).unwrap_or(false)
}

/// Whether an input is a table, which has no lines.
pub fn is_table_input(input: &Input) -> bool {
    matches!(open_table(input), Ok(Some(_)))
}

/// Returns how many rows a table states; `None` if the input is no table.
///
/// # Errors
/// If the table cannot be read.
pub fn table_rows(input: &Input) -> Result<Option<u64>, ReadError> {
    let file = open_table(input).map_err(ReadError::Open)?;
    file.map(|file| Ok(TableFile::open(file)?.rows())).transpose()
}

/// A table whose footer was read.
pub(super) struct Table {
    file: TableFile<File>,
    bytes_total: u64,
    format: Arc<Format>,
}

impl Table {
    /// Reads the footer. The fields that follow from others are those of `choice`.
    ///
    /// # Errors
    /// If the table cannot be read, or lines are wanted.
    pub(super) fn open(file: File, choice: &FormatChoice) -> Result<Self, ReadError> {
        if matches!(choice, FormatChoice::Unread) {
            return Err(ReadError::Refused(LINES_REFUSAL.to_owned()));
        }
        let bytes_total = file.metadata().map_err(ReadError::Open)?.len();
        let file = TableFile::open(file)?;
        let format = file.layout().format();
        let format = match choice.line_options() {
            Some(options) => format.with_line_options(&options),
            None => format,
        };
        Ok(Self { file, bytes_total, format: Arc::new(format) })
    }

    /// The format of the packed records.
    pub(super) fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// What of the table is left out, as a sentence.
    pub(super) fn note(&self) -> Option<String> {
        self.file.note()
    }

    /// Reads the first block of packed records; an empty one if there are none.
    pub(super) fn first_records(&self) -> Vec<u8> {
        let mut first = Vec::new();
        // Damage is reported when the table is read to its end.
        let _ = self.file.read(&mut Vec::new, &mut |rows| {
            first = rows.packed;
            ControlFlow::Break(())
        });
        first
    }

    /// Writes all rows.
    ///
    /// # Errors
    /// If the table is damaged, or the source has to stop. The rows before are written.
    pub(super) fn write(&self, writer: &mut RecordWriter) -> Result<(), ReadError> {
        let progress = writer.progress().clone();
        let writer = RefCell::new(writer);
        let (mut counted, mut stopped) = (0, Ok::<(), StopReason>(()));
        let mut take = |Rows { packed, too_long }: Rows| {
            // Headers of pages are read again with what follows them.
            let bytes_read = self.file.bytes_read().min(self.bytes_total);
            progress.add_compressed(bytes_read - counted);
            counted = bytes_read;
            stopped = writer.borrow_mut().submit_waiting(packed, too_long);
            match stopped {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        let read = self.file.read(&mut || writer.borrow().take_spare(), &mut take);
        stopped?;
        read?;
        // The footer, and the columns that no record has.
        progress.add_compressed(self.bytes_total - counted);
        Ok(())
    }
}

impl From<TableError> for ReadError {
    fn from(error: TableError) -> Self {
        Self::Refused(error.to_string())
    }
}
