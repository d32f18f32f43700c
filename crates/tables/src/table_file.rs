//! A Parquet file as blocks of packed records.

use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use weir_core::{Record, RecordKind, RecordLayout};

use crate::column::Column;
use crate::error::TableError;
use crate::footer::{ColumnType, Footer};
use crate::page::{PageFile, ROW_WORK};
use crate::role::{Role, Roles};
use crate::row::{RECORD_BYTES_MAX, RowColumn};

/// The first and the last bytes of a Parquet file.
const MAGIC: &[u8; 4] = b"PAR1";

/// The last bytes of a file with an encrypted footer.
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";

/// The largest footer. One of 10,000 row groups with 40 columns has 40 MB.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// The size of a block of packed records, after which it is passed on.
const BLOCK_BYTES: usize = 1 << 20;

/// The most rows for each byte of a file. A file of 64 million equal rows, which is the largest row
/// group of pyarrow, has a third of it.
const ROWS_OF_BYTE_MAX: u64 = 1 << 18;

/// A Parquet file that is read as records.
///
/// # Memory
/// One page and one dictionary of each column, up to 512 MiB together with what unpacks them, one
/// block of records, and what the footer says, up to 144 MiB while it is read.
#[derive(Debug)]
pub struct TableFile<R> {
    file: PageFile<R>,
    footer: Footer,
    roles: Roles,
    layout: RecordLayout,
}

/// Whether a file with these first bytes is a Parquet file.
///
/// ```
/// assert!(weir_tables::is_table(b"PAR1\x15\x04"));
/// assert!(!weir_tables::is_table(b"192.0.2.7 - -"));
/// ```
pub fn is_table(head: &[u8]) -> bool {
    head.starts_with(MAGIC) || head.starts_with(MAGIC_ENCRYPTED)
}

impl<R: Read + Seek> TableFile<R> {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// If the file is damaged or encrypted, no column has the name of a field, or one has a type that
    /// the field cannot have.
    pub fn open(mut file: R) -> Result<Self, TableError> {
        let length = file.seek(SeekFrom::End(0))?;
        let Some(end) = length.checked_sub(8).filter(|end| *end >= 4) else {
            return Err(TableError::damaged("it is too short"));
        };
        file.seek(SeekFrom::Start(end))?;
        let mut tail = [0; 8];
        file.read_exact(&mut tail)?;
        let [a, b, c, d, magic @ ..] = tail;
        if magic == *MAGIC_ENCRYPTED {
            return Err(TableError::refused(
                "is an encrypted Parquet file; write it again without encryption",
            ));
        }
        if magic != *MAGIC {
            return Err(TableError::damaged("its end is missing"));
        }
        let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
        if footer_bytes > FOOTER_BYTES_MAX {
            return Err(TableError::refused(format_args!(
                "has a footer of {} MiB, which is more than the {} MiB that Weir reads; write it again \
                 with larger row groups",
                footer_bytes >> 20,
                FOOTER_BYTES_MAX >> 20
            )));
        }
        let Some(start) = end.checked_sub(footer_bytes).filter(|start| *start >= 4) else {
            return Err(TableError::damaged("its footer is longer than the file"));
        };
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; footer_bytes as usize];
        file.read_exact(&mut bytes)?;
        let footer = Footer::read(&bytes)?;
        let roles = Roles::of(&footer.columns)?;
        let layout = RecordLayout::of_table(
            "PARQUET",
            roles.fields.clone(),
            roles.extra_fields.clone(),
            footer.records.as_deref().map_or(RecordKind::Request, kind_of),
            footer.times.as_deref() == Some(ARRIVAL),
        );
        let table = Self { file: PageFile::new(file, start), footer, roles, layout };
        if table.rows() / ROWS_OF_BYTE_MAX > length {
            return Err(TableError::damaged(format_args!(
                "it states {} rows, but has {length} bytes",
                table.rows()
            )));
        }
        Ok(table)
    }

    /// The layout of the records.
    pub fn layout(&self) -> &RecordLayout {
        &self.layout
    }

    /// The number of rows that the file states.
    pub fn rows(&self) -> u64 {
        self.footer.groups.iter().fold(0, |rows, group| rows.saturating_add(group.rows))
    }

    /// The number of bytes that were read of the columns.
    pub fn bytes_read(&self) -> u64 {
        self.file.bytes_read.get()
    }

    /// What of the file is left out, as sentences, if something is.
    pub fn note(&self) -> Option<String> {
        self.roles.note(self.footer.nested)
    }

    /// Reads all rows, in their order. `take` gets blocks of packed records, each with the number of
    /// rows before it that are too long and left out, and breaks to stop; `spare` returns an empty
    /// buffer. A block may be empty: however much there is to read for few records, `take` is called
    /// often enough to stop soon.
    ///
    /// # Errors
    /// If the file is damaged. The rows before were taken.
    pub fn read(
        &self,
        spare: &mut dyn FnMut() -> Vec<u8>,
        take: &mut dyn FnMut(Rows) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let mut rows = Rows { packed: spare(), too_long: 0 };
        let mut flow = ControlFlow::Continue(());
        let mut result = Ok(());
        for group in 0..self.footer.groups.len() {
            result = self.read_group(group, &mut rows, &mut |rows| {
                let next = Rows { packed: spare(), too_long: 0 };
                flow = take(std::mem::replace(rows, next));
                flow
            });
            if result.is_err() || flow.is_break() {
                break;
            }
        }
        let is_empty = rows.packed.is_empty() && rows.too_long == 0;
        if flow.is_continue() && !is_empty {
            // It was the last block in any case.
            let _ = take(rows);
        }
        result
    }

    fn read_group(
        &self,
        group: usize,
        rows: &mut Rows,
        pass: &mut dyn FnMut(&mut Rows) -> ControlFlow<()>,
    ) -> Result<(), TableError> {
        let mut columns = Vec::with_capacity(self.roles.columns.len());
        let mut escaped = None;
        for (index, role) in &self.roles.columns {
            let kind = &self.footer.columns[*index];
            let column = self.column(group, kind, *role)?;
            match role {
                Role::EscapedColumns => escaped = Some(column),
                _ => columns.push(column),
            }
        }
        self.file.free_memory();
        let names_bytes_max: usize = self.footer.columns.iter().map(|it| it.name.len() + 1).sum();
        // The offset belongs to a time.
        columns.sort_by_key(|column| column.role() == Role::ZoneOffset);
        for _ in 0..self.footer.groups[group].rows {
            let names = match &mut escaped {
                Some(column) => column.next_text(&self.file, names_bytes_max)?,
                None => None,
            };
            let mut record = Record::with_extra_fields(self.layout.extra_fields().len());
            for column in &mut columns {
                column.put(&self.file, names, &mut record)?;
            }
            if !rows.pack(&self.layout, &record) {
                // So the rows that are left out are before those of a block, and each has its number.
                if !rows.packed.is_empty() && pass(rows).is_break() {
                    break;
                }
                rows.too_long += 1;
            }
            self.file.add_work(ROW_WORK);
            if rows.packed.len() >= BLOCK_BYTES || self.file.is_work_done() {
                self.file.begin_work();
                if pass(rows).is_break() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn column<'f>(
        &self,
        group: usize,
        kind: &'f ColumnType,
        role: Role,
    ) -> Result<RowColumn<'f>, TableError> {
        let chunk = self.footer.groups[group].chunks.get(kind.leaf).copied().flatten();
        let chunk = chunk.ok_or_else(|| {
            let sentence = "is encrypted, or in another file; write the table again as one file";
            TableError::refused(sentence).of_column(&kind.name)
        })?;
        Ok(RowColumn::new(kind, role, Column::new(kind, chunk)))
    }
}

/// Packed records of consecutive rows.
#[derive(Debug, Default)]
pub struct Rows {
    /// The records, packed by the layout of the table.
    pub packed: Vec<u8>,
    /// The number of rows of more than a mebibyte, which are not among the records.
    pub too_long: u64,
}

impl Rows {
    /// Adds a record, unless it is too long. Returns whether it was added.
    fn pack(&mut self, layout: &RecordLayout, record: &Record<'_>) -> bool {
        layout.pack_up_to(record, RECORD_BYTES_MAX, &mut self.packed)
    }
}

/// What Weir states if times are those at which requests arrived.
const ARRIVAL: &str = "arrival";

fn kind_of(name: &str) -> RecordKind {
    match name {
        "error_log_lines" => RecordKind::ErrorLogLine,
        "firewall_events" => RecordKind::FirewallEvent,
        _ => RecordKind::Request,
    }
}
