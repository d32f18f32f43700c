//! Finds the pages of a column and reads them.

use std::cell::{Cell, RefCell};
use std::io::{Read, Seek, SeekFrom};

use crate::compact::Compact;
use crate::compression::{PLAIN, unpack};
use crate::error::TableError;
use crate::footer::Chunk;

/// The largest page that is read. Writers make pages of 1 MiB, and DuckDB of up to 100 MB.
pub(crate) const PAGE_BYTES_MAX: u64 = 128 << 20;

/// The most memory that the pages of all columns take at the same time.
const MEMORY_MAX: usize = 512 << 20;

/// How many bytes are unpacked, searched or packed again before the caller has to be asked whether to
/// go on, and how many a row counts.
const WORK_MAX: u64 = 64 << 20;
pub(crate) const ROW_WORK: u64 = 1 << 10;

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
    /// The work since the caller was asked last; see [`WORK_MAX`].
    work: Cell<u64>,
    /// The bytes that were read.
    pub(crate) bytes_read: Cell<u64>,
}

/// How the values of a page are written, and how many there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// The place of what is packed.
    start: u64,
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

    /// Whether the page has rows.
    pub(crate) fn has_rows(&self) -> bool {
        matches!(self.kind, DATA | DATA_SECOND_VERSION) && self.values > 0
    }

    /// The memory that the page takes when it is unpacked, and while it is.
    pub(crate) fn memory_bytes(&self, codec: i64) -> (usize, usize) {
        let packed = if codec == PLAIN { 0 } else { self.packed_bytes };
        (self.unpacked_bytes as usize, (self.unpacked_bytes + packed) as usize)
    }

    /// Checks the sizes, before memory is taken for them.
    fn check(&self, codec: i64) -> Result<(), TableError> {
        if self.unpacked_bytes > PAGE_BYTES_MAX {
            return Err(TableError::refused(format_args!(
                "has a page of {} MiB, which is more than the {} MiB that Weir reads at once; write \
                 it again with smaller pages",
                self.unpacked_bytes >> 20,
                PAGE_BYTES_MAX >> 20
            )));
        }
        let packed_bytes_max = match codec {
            PLAIN => self.unpacked_bytes,
            // What cannot be packed grows a little.
            _ => self.unpacked_bytes + self.unpacked_bytes / 4 + 1024,
        };
        match self.packed_bytes <= packed_bytes_max {
            true => Ok(()),
            false => Err(TableError::damaged("a page is larger packed than unpacked")),
        }
    }

    /// Reads a header. Returns its length too.
    fn read(bytes: &[u8]) -> Result<(Self, u64), TableError> {
        let mut header = Self::default();
        let mut compact = Compact::new(bytes);
        compact.fields(|compact, field| {
            match field.id {
                1 => header.kind = compact.integer()?,
                2 => header.unpacked_bytes = compact.small_size()?,
                3 => header.packed_bytes = compact.small_size()?,
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
                1 => self.values = compact.small_size()?,
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
                1 => self.values = compact.small_size()?,
                4 => self.encoding = compact.integer()?,
                5 => self.level_bytes = compact.small_size()?,
                6 => self.repetition_bytes = compact.small_size()?,
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
        let file = RefCell::new(file);
        Self { file, end, memory: Cell::new(0), work: Cell::new(0), bytes_read: Cell::new(0) }
    }

    /// Reads the header of the page at the start of a chunk, and removes the page from the chunk.
    /// `None` after the last one.
    pub(crate) fn next_header(&self, chunk: &mut Chunk) -> Result<Option<PageHeader>, TableError> {
        if chunk.bytes == 0 {
            return Ok(None);
        }
        let (mut header, length) = self.header(chunk)?;
        header.start = chunk.start + length;
        let page_bytes = length.saturating_add(header.packed_bytes);
        if page_bytes > chunk.bytes {
            return Err(TableError::damaged("a page goes beyond its column"));
        }
        chunk.start += page_bytes;
        chunk.bytes -= page_bytes;
        header.check(chunk.codec)?;
        Ok(Some(header))
    }

    /// Reads and unpacks a page.
    pub(crate) fn page(&self, header: PageHeader, codec: i64) -> Result<Page, TableError> {
        self.add_work(header.packed_bytes + header.unpacked_bytes);
        let packed = self.read(header.start, header.packed_bytes)?;
        Ok(Page { bytes: header.unpack(codec, packed)?, header })
    }

    /// Counts work on so many bytes.
    #[inline]
    pub(crate) fn add_work(&self, bytes: u64) {
        self.work.set(self.work.get().saturating_add(bytes));
    }

    /// Whether there was so much work that the caller has to be asked whether to go on.
    #[inline]
    pub(crate) fn is_work_done(&self) -> bool {
        self.work.get() >= WORK_MAX
    }

    /// Begins to count work again.
    pub(crate) fn begin_work(&self) {
        self.work.set(0);
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
        let mut bytes = Vec::with_capacity(length as usize);
        (&mut *file).take(length).read_to_end(&mut bytes)?;
        self.bytes_read.set(self.bytes_read.get() + length);
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(TableError::damaged("it ends too early")),
        }
    }

    /// Frees the memory of all pages.
    pub(crate) fn free_memory(&self) {
        self.memory.set(0);
    }

    /// Replaces the memory of a page by that of another, before it is taken.
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
    fn unpack(&self, codec: i64, packed: Vec<u8>) -> Result<Vec<u8>, TableError> {
        let size = self.unpacked_bytes as usize;
        let levels = match self.is_second_version {
            true => self.levels(packed.len().min(size))?,
            false => 0,
        };
        let is_plain = self.is_second_version && (self.is_plain || packed.len() == levels);
        if is_plain || codec == PLAIN {
            return match packed.len() == size {
                true => Ok(packed),
                false => Err(TableError::damaged("a page has another size than it states")),
            };
        }
        let mut page = vec![0; size];
        page[..levels].copy_from_slice(&packed[..levels]);
        unpack(codec, &packed[levels..], &mut page[levels..])?;
        Ok(page)
    }

    /// The number of bytes of the levels.
    fn levels(&self, bytes_max: usize) -> Result<usize, TableError> {
        if self.repetition_bytes > 0 {
            return Err(TableError::damaged("a column without lists has levels of lists"));
        }
        match self.level_bytes as usize <= bytes_max {
            true => Ok(self.level_bytes as usize),
            false => Err(TableError::damaged("the levels of a page are cut")),
        }
    }
}
