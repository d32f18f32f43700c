//! Parquet files that no writer writes, piece by piece.

use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// Structures of Thrift's compact protocol.
#[derive(Debug, Default)]
pub(crate) struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

impl Structure {
    fn field(mut self, id: u8, kind: u8) -> Self {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
        self
    }

    pub(crate) fn integer(self, id: u8, number: u64) -> Self {
        let mut structure = self.field(id, 6);
        structure.bytes.extend(varint(u128::from(number) << 1));
        structure
    }

    pub(crate) fn text(self, id: u8, text: &[u8]) -> Self {
        let mut structure = self.field(id, 8);
        structure.bytes.extend(varint(text.len() as u128));
        structure.bytes.extend(text);
        structure
    }

    pub(crate) fn structure(self, id: u8, other: &[u8]) -> Self {
        let mut structure = self.field(id, 12);
        structure.bytes.extend(other);
        structure
    }

    pub(crate) fn list(self, id: u8, elements: &[Vec<u8>]) -> Self {
        self.list_of(id, elements.len(), &elements.concat())
    }

    /// A list of so many structures, which these bytes are.
    pub(crate) fn list_of(self, id: u8, count: usize, bytes: &[u8]) -> Self {
        let mut structure = self.field(id, 9);
        structure.bytes.push(0xFC);
        structure.bytes.extend(varint(count as u128));
        structure.bytes.extend(bytes);
        structure
    }

    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A number in groups of seven bits.
pub(crate) fn varint(mut number: u128) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The physical types of texts, and of times that are no field of their own.
pub(crate) const TEXT: u64 = 6;
pub(crate) const OLD_TIME: u64 = 3;

pub(crate) const PLAIN: u64 = 0;
pub(crate) const DELTA_LENGTHS: u64 = 6;
pub(crate) const DICTIONARY: u64 = 8;

/// Texts behind their lengths.
pub(crate) fn plain_texts(texts: &[&[u8]]) -> Vec<u8> {
    let text = |text: &&[u8]| [&(text.len() as u32).to_le_bytes()[..], text].concat();
    texts.iter().flat_map(text).collect()
}

/// A run of a number below 256.
pub(crate) fn run(length: u64, number: u8) -> Vec<u8> {
    [varint(u128::from(length) << 1), vec![number]].concat()
}

/// What a page states, and what stands in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BuiltPage {
    pub(crate) is_dictionary: bool,
    pub(crate) values: u64,
    pub(crate) encoding: u64,
    pub(crate) bytes: Vec<u8>,
    /// The sizes, if not those of the bytes.
    pub(crate) unpacked: Option<u64>,
    pub(crate) packed: Option<u64>,
}

impl BuiltPage {
    fn build(&self) -> Vec<u8> {
        let values = Structure::default().integer(1, self.values).integer(2, self.encoding);
        let size = self.bytes.len() as u64;
        let header = Structure::default()
            .integer(1, if self.is_dictionary { 2 } else { 0 })
            .integer(2, self.unpacked.unwrap_or(size))
            .integer(3, self.packed.unwrap_or(size))
            .structure(if self.is_dictionary { 7 } else { 5 }, &values.end());
        [header.end(), self.bytes.clone()].concat()
    }
}

/// A column with its pages in one row group.
#[derive(Debug, Clone)]
pub(crate) struct BuiltColumn {
    pub(crate) name: String,
    pub(crate) physical: u64,
    pub(crate) is_optional: bool,
    pub(crate) codec: u64,
    pub(crate) pages: Vec<BuiltPage>,
    /// The zeros that follow the pages.
    pub(crate) hole: u64,
}

impl BuiltColumn {
    pub(crate) fn of_texts(name: &str, pages: Vec<BuiltPage>) -> Self {
        Self { name: name.to_owned(), physical: TEXT, is_optional: false, codec: 0, pages, hole: 0 }
    }

    fn element(&self) -> Vec<u8> {
        let element =
            Structure::default().integer(1, self.physical).integer(3, self.is_optional.into());
        element.text(4, self.name.as_bytes()).end()
    }
}

/// A file of these columns and one row group. The last column may have a hole.
pub(crate) fn file_of(columns: &[BuiltColumn], rows: u64) -> SparseFile {
    let mut head = b"PAR1".to_vec();
    let mut chunks = Vec::new();
    let root = Structure::default().text(4, b"root").integer(5, columns.len() as u64);
    let mut schema = vec![root.end()];
    let mut hole = 0;
    for column in columns {
        assert_eq!(hole, 0, "only the last column has a hole");
        let start = head.len();
        column.pages.iter().for_each(|page| head.extend(page.build()));
        hole = column.hole;
        let bytes = (head.len() - start) as u64 + hole;
        let metadata = Structure::default().integer(4, column.codec).integer(7, bytes);
        let metadata = metadata.integer(9, start as u64).end();
        chunks.push(Structure::default().structure(3, &metadata).end());
        schema.push(column.element());
    }
    let group = Structure::default().list(1, &chunks).integer(3, rows).end();
    let footer = Structure::default().integer(1, 2).list(2, &schema).list(4, &[group]).end();
    SparseFile::new(head, hole, with_end(footer))
}

/// A file without pages.
pub(crate) fn file_with_footer(footer: Vec<u8>) -> SparseFile {
    SparseFile::new(b"PAR1".to_vec(), 0, with_end(footer))
}

fn with_end(mut footer: Vec<u8>) -> Vec<u8> {
    let length = footer.len() as u32;
    footer.extend(length.to_le_bytes());
    footer.extend(b"PAR1");
    footer
}

/// A file with a hole, which reads as zeros.
#[derive(Debug)]
pub(crate) struct SparseFile {
    head: Vec<u8>,
    hole: u64,
    tail: Vec<u8>,
    at: u64,
}

impl SparseFile {
    fn new(head: Vec<u8>, hole: u64, tail: Vec<u8>) -> Self {
        Self { head, hole, tail, at: 0 }
    }

    fn length(&self) -> u64 {
        (self.head.len() + self.tail.len()) as u64 + self.hole
    }
}

impl Read for SparseFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let tail = self.head.len() as u64 + self.hole;
        let read = if self.at < self.head.len() as u64 {
            (&self.head[self.at as usize..]).read(buffer)?
        } else if self.at < tail {
            io::repeat(0).take(tail - self.at).read(buffer)?
        } else {
            let mut rest = Cursor::new(&self.tail);
            rest.set_position(self.at - tail);
            rest.read(buffer)?
        };
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for SparseFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(offset) => self.length().saturating_add_signed(offset),
            SeekFrom::Current(offset) => self.at.saturating_add_signed(offset),
        };
        Ok(self.at)
    }
}
