//! The values of a column in a row group, row by row.

use std::io::{Read, Seek};

use crate::error::TableError;
use crate::footer::{Chunk, ColumnType};
use crate::hybrid::Hybrid;
use crate::page::{Page, PageFile, PageHeader};
use crate::values::{Dictionary, Value, Values, damaged};

/// The most pages without rows that follow each other. Writers have a dictionary, and seldom an index.
const PAGES_WITHOUT_ROWS_MAX: usize = 100;

/// Reads the rows of a column.
#[derive(Debug)]
pub(crate) struct Column<'f> {
    kind: &'f ColumnType,
    chunk: Chunk,
    dictionary: Option<Dictionary>,
    page: Page,
    /// The rows that are left in the page.
    rows: u64,
    /// Which rows have a value; `None` if all do.
    levels: Option<Hybrid>,
    values: Values,
    /// The memory of the page and the dictionary.
    memory: usize,
}

impl<'f> Column<'f> {
    /// A column at the start of its chunk.
    pub(crate) fn new(kind: &'f ColumnType, chunk: Chunk) -> Self {
        Self {
            kind,
            chunk,
            dictionary: None,
            page: Page::default(),
            rows: 0,
            levels: None,
            values: Values::Plain { at: 0 },
            memory: 0,
        }
    }

    /// Returns the value of the next row; `None` if it has none.
    #[inline]
    pub(crate) fn next<R: Read + Seek>(
        &mut self,
        file: &PageFile<R>,
    ) -> Result<Option<Value<'_>>, TableError> {
        if self.rows == 0 {
            self.next_page(file)?;
        }
        self.rows -= 1;
        if let Some(levels) = &mut self.levels
            && levels.next(&self.page.bytes).ok_or_else(damaged)? == 0
        {
            return Ok(None);
        }
        const NONE: &Dictionary = &Dictionary::EMPTY;
        let dictionary = self.dictionary.as_ref().unwrap_or(NONE);
        let value = self.values.next(&self.page.bytes, dictionary, self.kind.physical);
        value.map(Some).ok_or_else(damaged)
    }

    #[cold]
    fn next_page<R: Read + Seek>(&mut self, file: &PageFile<R>) -> Result<(), TableError> {
        self.page = Page::default();
        self.values = Values::Plain { at: 0 };
        for _ in 0..PAGES_WITHOUT_ROWS_MAX {
            let header = file.next_header(&mut self.chunk)?;
            let header = header
                .ok_or_else(|| TableError::damaged("it has fewer rows than its row group"))?;
            if header.is_dictionary() {
                self.read_dictionary(file, header)?;
            } else if header.has_rows() {
                return self.read_values(file, header);
            }
        }
        Err(TableError::damaged("it has many pages without rows"))
    }

    fn read_dictionary<R: Read + Seek>(
        &mut self,
        file: &PageFile<R>,
        header: PageHeader,
    ) -> Result<(), TableError> {
        if self.dictionary.is_some() {
            return Err(TableError::damaged("it has two dictionaries in a row group"));
        }
        let (_, while_unpacked) = header.memory_bytes(self.chunk.codec);
        self.set_memory(file, while_unpacked)?;
        let page = file.page(header, self.chunk.codec)?;
        let memory = page.bytes.len() + Dictionary::ranges_bytes(&page, self.kind.physical)?;
        self.set_memory(file, memory)?;
        self.dictionary = Some(Dictionary::read(page, self.kind.physical)?);
        Ok(())
    }

    fn read_values<R: Read + Seek>(
        &mut self,
        file: &PageFile<R>,
        header: PageHeader,
    ) -> Result<(), TableError> {
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::memory_bytes);
        let (unpacked, while_unpacked) = header.memory_bytes(self.chunk.codec);
        self.set_memory(file, dictionary + while_unpacked)?;
        let page = file.page(header, self.chunk.codec)?;
        self.set_memory(file, dictionary + unpacked + Values::text_bytes_max(&page))?;
        self.begin(page)
    }

    /// Replaces the memory of the column, before it is taken.
    fn set_memory<R: Read + Seek>(
        &mut self,
        file: &PageFile<R>,
        memory: usize,
    ) -> Result<(), TableError> {
        file.set_memory(self.memory, memory)?;
        self.memory = memory;
        Ok(())
    }

    fn begin(&mut self, page: Page) -> Result<(), TableError> {
        let mut at = 0;
        self.levels = None;
        if self.kind.is_optional {
            let length = match page.header.is_second_version {
                true => page.header.level_bytes as usize,
                false => {
                    at = 4;
                    let length = page.bytes.first_chunk().ok_or_else(damaged)?;
                    u32::from_le_bytes(*length) as usize
                }
            };
            let end = at + length;
            if end > page.bytes.len() {
                return Err(damaged());
            }
            self.levels = Some(Hybrid::new(at, end, 1));
            at = end;
        }
        let has_dictionary = self.dictionary.is_some();
        self.values = Values::new(&page, at, self.kind.physical, has_dictionary)?;
        self.rows = page.header.values;
        self.page = page;
        Ok(())
    }
}
