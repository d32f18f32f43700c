//! The values of a column in a row group, row by row.

use std::io::{Read, Seek};

use crate::error::TableError;
use crate::footer::{Chunk, ColumnType};
use crate::hybrid::Hybrid;
use crate::page::{Page, PageFile};
use crate::values::{Dictionary, Value, Values, damaged};

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
        while self.rows == 0 {
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

    /// Frees the pages.
    pub(crate) fn end<R: Read + Seek>(self, file: &PageFile<R>) {
        // Less memory is never too much.
        let _ = file.set_memory(self.memory, 0);
    }

    #[cold]
    fn next_page<R: Read + Seek>(&mut self, file: &PageFile<R>) -> Result<(), TableError> {
        self.page = Page::default();
        let page = file.next_page(&mut self.chunk)?;
        let page =
            page.ok_or_else(|| TableError::damaged("it has fewer rows than its row group"))?;
        if page.header.is_dictionary() {
            self.dictionary = Some(Dictionary::read(page, self.kind.physical)?);
        } else if page.header.is_data() {
            self.begin(page)?;
        }
        let dictionary = self.dictionary.as_ref().map_or(0, Dictionary::memory_bytes);
        let memory = dictionary + self.page.bytes.capacity();
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
