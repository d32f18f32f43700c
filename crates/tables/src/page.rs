//! Finds the pages of a column and reads them.

use std::cell::{Cell, RefCell};
use std::io::{Read, Seek, SeekFrom};

use crate::compact::Compact;
use crate::compression::unpack;
use crate::error::TableError;
use crate::footer::Chunk;

/// The largest page that is read. Writers make pages of 1 MiB, and DuckDB of up to 100 MB.
pub(crate) const PAGE_BYTES_MAX: u64 = 128 << 20;

/// The most memory that the pages of all columns take at the same time.
const MEMORY_MAX: usize = 512 << 20;

/// The first size of a read for the header of a page, and the largest. Headers of long texts have
/// their minimum and maximum.
const HEADER_BYTES: u64 = 256;
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// A file whose columns are read in turn.
#[derive(Debug)]
pub(crate) struct PageFile<R> {
    file: RefCell<R>,
    /// The end of the pages, which is the place of the footer.
    end: u64,
    /// The memory that pages take now.
    memory: Cell<usize>,
    /// The bytes that were read.
    pub(crate) bytes_read: Cell<u64>,
}

/// How the values of a page are written, and how many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    kind: i64,
    unpacked_bytes: u64,
    packed_bytes: u64,
    /// The number of rows, or of texts of a dictionary.
    pub(crate) values: u64,
    pub(crate) encoding: i64,
    /// Whether the levels have their lengths in the header and are never packed.
    pub(crate) is_second_version: bool,
    pub(crate) level_bytes: u64,
    repetition_bytes: u64,
    is_plain: bool,
}

const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_SECOND_VERSION: i64 = 3;

/// A page, unpacked.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) header: PageHeader,
    pub(crate) bytes: Vec<u8>,
}

impl PageHeader {
    pub(crate) fn is_dictionary(&self) -> bool {
        self.kind == DICTIONARY
    }

    pub(crate) fn is_data(&self) -> bool {
        matches!(self.kind, DATA | DATA_SECOND_VERSION)
    }

    /// Reads a header. Returns its length too.
    fn read(bytes: &[u8]) -> Result<(Self, u64), TableError> {
        let mut header = Self::default();
        let mut compact = Compact::new(bytes);
        compact.fields(|compact, field| {
            match field.id {
                1 => header.kind = compact.integer()?,
                2 => header.unpacked_bytes = compact.size()?,
                3 => header.packed_bytes = compact.size()?,
                5 | 7 => header.read_values(compact)?,
                8 => header.read_second_version(compact)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok((header, compact.position() as u64))
    }

    fn read_values(&mut self, compact: &mut Compact<'_>) -> Result<(), TableError> {
        compact.fields(|compact, field| {
            match field.id {
                1 => self.values = compact.size()?,
                2 => self.encoding = compact.integer()?,
                _ => return Ok(false),
            }
            Ok(true)
        })
    }

    fn read_second_version(&mut self, compact: &mut Compact<'_>) -> Result<(), TableError> {
        self.is_second_version = true;
        compact.fields(|compact, field| {
            match field.id {
                1 => self.values = compact.size()?,
                4 => self.encoding = compact.integer()?,
                5 => self.level_bytes = compact.size()?,
                6 => self.repetition_bytes = compact.size()?,
                7 => {
                    self.is_plain = field.kind == crate::compact::kind::FALSE;
                    return Ok(false);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })
    }
}

impl<R: Read + Seek> PageFile<R> {
    pub(crate) fn new(file: R, end: u64) -> Self {
        Self { file: RefCell::new(file), end, memory: Cell::new(0), bytes_read: Cell::new(0) }
    }

    /// Reads the page at the start of a chunk, and removes it from the chunk. `None` after the last
    /// one.
    pub(crate) fn next_page(&self, chunk: &mut Chunk) -> Result<Option<Page>, TableError> {
        if chunk.bytes == 0 {
            return Ok(None);
        }
        let (header, length) = self.header(chunk)?;
        let behind = length.saturating_add(header.packed_bytes);
        if behind > chunk.bytes {
            return Err(TableError::damaged("a page goes beyond its column"));
        }
        if header.unpacked_bytes > PAGE_BYTES_MAX {
            return Err(TableError::refused(format_args!(
                "has a page of {} MiB, which is more than the {} MiB that Weir reads at once; write it \
                 again with smaller pages",
                header.unpacked_bytes >> 20,
                PAGE_BYTES_MAX >> 20
            )));
        }
        let packed = self.read(chunk.start + length, header.packed_bytes)?;
        chunk.start += behind;
        chunk.bytes -= behind;
        Ok(Some(Page { bytes: header.unpack(chunk.codec, packed)?, header }))
    }

    fn header(&self, chunk: &Chunk) -> Result<(PageHeader, u64), TableError> {
        let mut size = HEADER_BYTES;
        loop {
            let bytes = self.read(chunk.start, size.min(chunk.bytes))?;
            match PageHeader::read(&bytes) {
                Ok(header) => return Ok(header),
                Err(error) if size >= chunk.bytes.min(HEADER_BYTES_MAX) => return Err(error),
                Err(_) => size *= 16,
            }
        }
    }

    /// Reads bytes before the footer.
    fn read(&self, start: u64, length: u64) -> Result<Vec<u8>, TableError> {
        if start.checked_add(length).is_none_or(|end| end > self.end) {
            return Err(TableError::damaged("a column goes beyond the file"));
        }
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        (&mut *file).take(length).read_to_end(&mut bytes)?;
        self.bytes_read.set(self.bytes_read.get() + length);
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(TableError::damaged("it ends too early")),
        }
    }

    /// Replaces the memory of a page by that of another.
    pub(crate) fn set_memory(&self, old: usize, new: usize) -> Result<(), TableError> {
        let memory = (self.memory.get() - old).saturating_add(new);
        if memory > MEMORY_MAX {
            return Err(TableError::refused(format_args!(
                "has pages that take more than {} MiB together with those of the other columns; write \
                 the file again with smaller pages or row groups",
                MEMORY_MAX >> 20
            )));
        }
        self.memory.set(memory);
        Ok(())
    }
}

impl PageHeader {
    /// Unpacks the bytes of the page. Levels of the second version stand before what is packed.
    fn unpack(&self, codec: i64, mut packed: Vec<u8>) -> Result<Vec<u8>, TableError> {
        let size = self.unpacked_bytes as usize;
        if !self.is_second_version {
            return unpack(codec, packed, size);
        }
        let levels = self.level_bytes.saturating_add(self.repetition_bytes);
        let levels = usize::try_from(levels).ok().filter(|it| *it <= packed.len().min(size));
        let levels = levels.ok_or_else(|| TableError::damaged("the levels of a page are cut"))?;
        if self.repetition_bytes > 0 {
            return Err(TableError::damaged("a column without lists has levels of lists"));
        }
        if self.is_plain || packed.len() == levels {
            return unpack(0, packed, size);
        }
        let values = packed.split_off(levels);
        packed.extend(unpack(codec, values, size - levels)?);
        Ok(packed)
    }
}
