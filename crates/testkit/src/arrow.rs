//! A naive reader of [Arrow streams](https://arrow.apache.org/docs/format/Columnar.html), for the
//! types that Weir writes. It checks what the format requires, and panics at the first difference.

use std::collections::HashMap;

/// A stream that was read to its end.
#[derive(Debug, PartialEq)]
pub struct ArrowStream {
    /// The columns in their order.
    pub columns: Vec<ArrowColumn>,
    /// The entries of the schema's metadata.
    pub metadata: Vec<(String, String)>,
    /// The rows of all record batches, each with a cell for each column.
    pub rows: Vec<Vec<ArrowCell>>,
    /// The number of rows of each record batch.
    pub batches: Vec<usize>,
    /// The dictionaries in their order: the number of the column, and the texts.
    pub dictionaries: Vec<(usize, Vec<String>)>,
}

/// A column of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowColumn {
    /// The name.
    pub name: String,
    /// The type of its cells.
    pub kind: ArrowType,
}

/// The types that the reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowType {
    /// Large UTF-8 in a dictionary with indices of 32 bits.
    Text,
    /// Signed integers of 64 bits.
    Long,
    /// Signed integers of 32 bits.
    Int,
    /// Floating-point numbers of 64 bits.
    Double,
    /// Microseconds since 1970, UTC.
    Instant,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrowCell {
    /// There is no value.
    Null,
    /// A text.
    Text(String),
    /// An integer, or an instant in microseconds.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
}

impl ArrowStream {
    /// Reads a stream.
    ///
    /// # Panics
    /// If it is not a whole stream of the types above.
    pub fn read(mut stream: &[u8]) -> Self {
        let mut this = Self {
            columns: Vec::new(),
            metadata: Vec::new(),
            rows: Vec::new(),
            batches: Vec::new(),
            dictionaries: Vec::new(),
        };
        let mut current: HashMap<usize, Vec<String>> = HashMap::new();
        let mut is_first = true;
        while let Some((message, body)) = next_message(&mut stream) {
            assert_eq!(message.short(0), 4, "the version of the metadata is 5");
            let header = message.table(2).expect("a header");
            match message.byte(1) {
                1 if is_first => this.read_schema(header),
                2 if !is_first => {
                    let (column, texts) = dictionary(header, body);
                    current.insert(column, texts.clone());
                    this.dictionaries.push((column, texts));
                }
                3 if !is_first => this.read_rows(header, body, &current),
                kind => panic!("a message of kind {kind} is out of place"),
            }
            is_first = false;
        }
        assert!(!is_first, "a stream has a schema");
        this
    }

    /// The cell of a row in the column of that name.
    ///
    /// # Panics
    /// If there is none.
    pub fn cell(&self, row: usize, name: &str) -> &ArrowCell {
        let column = self.columns.iter().position(|column| column.name == name);
        &self.rows[row][column.expect("a column of this name")]
    }

    fn read_schema(&mut self, schema: Table<'_>) {
        assert_eq!(schema.short(0), 0, "numbers are little-endian");
        self.columns = schema.tables(1).into_iter().enumerate().map(column).collect();
        let entry = |entry: Table<'_>| (entry.text(0), entry.text(1));
        self.metadata = schema.tables(2).into_iter().map(entry).collect();
        assert_eq!(schema.longs(3), [1], "the stream replaces dictionaries");
    }

    fn read_rows(&mut self, header: Table<'_>, body: &[u8], texts: &HashMap<usize, Vec<String>>) {
        let RecordBatch { rows, columns, buffers } = record_batch(header, body);
        assert_eq!(columns.len(), self.columns.len());
        assert_eq!(buffers.len(), 2 * columns.len());
        let first = self.rows.len();
        self.rows.resize(first + rows, Vec::new());
        for (number, (length, nulls)) in columns.into_iter().enumerate() {
            assert_eq!(length as usize, rows);
            let (valid, values) = (buffers[2 * number], buffers[2 * number + 1]);
            let kind = self.columns[number].kind;
            assert_eq!(values.len(), rows * kind.bytes());
            let mut known_nulls = 0;
            for row in 0..rows {
                // Without NULLs the bits may be left out.
                let is_valid = nulls == 0 || valid[row / 8] >> (row % 8) & 1 == 1;
                known_nulls += i64::from(!is_valid);
                let bytes = &values[row * kind.bytes()..][..kind.bytes()];
                let dictionary = texts.get(&number);
                let cell = if is_valid { kind.cell(bytes, dictionary) } else { ArrowCell::Null };
                self.rows[first + row].push(cell);
            }
            assert_eq!(known_nulls, nulls);
        }
        self.batches.push(rows);
    }
}

impl ArrowType {
    fn bytes(self) -> usize {
        match self {
            Self::Text | Self::Int => 4,
            Self::Long | Self::Double | Self::Instant => 8,
        }
    }

    fn cell(self, bytes: &[u8], dictionary: Option<&Vec<String>>) -> ArrowCell {
        match self {
            Self::Text => {
                let index = int(bytes, 0) as usize;
                ArrowCell::Text(dictionary.expect("a dictionary before the rows")[index].clone())
            }
            Self::Int => ArrowCell::Integer(i64::from(int(bytes, 0))),
            Self::Long | Self::Instant => ArrowCell::Integer(long(bytes, 0)),
            Self::Double => ArrowCell::Double(f64::from_bits(long(bytes, 0).cast_unsigned())),
        }
    }
}

/// The metadata and the body of the next message; `None` at the end of the stream.
fn next_message<'a>(stream: &mut &'a [u8]) -> Option<(Table<'a>, &'a [u8])> {
    assert_eq!(stream[..4], [0xFF; 4], "a message begins here");
    let metadata_bytes = int(stream, 4) as usize;
    let rest = &stream[8..];
    if metadata_bytes == 0 {
        assert!(rest.is_empty(), "nothing follows the end");
        return None;
    }
    assert_eq!(metadata_bytes % 8, 0, "the body is aligned");
    let (metadata, rest) = rest.split_at(metadata_bytes);
    let message = Table { buffer: metadata, at: int(metadata, 0) as usize };
    let body_bytes = message.field(3).map_or(0, |at| long(metadata, at)) as usize;
    assert_eq!(body_bytes % 8, 0, "the next message is aligned");
    let (body, rest) = rest.split_at(body_bytes);
    *stream = rest;
    Some((message, body))
}

fn column((number, field): (usize, Table<'_>)) -> ArrowColumn {
    assert_eq!(field.byte(1), 1, "every column may have NULLs");
    assert!(field.tables(5).is_empty(), "no column has others in it");
    let kind = field.table(3).expect("a type");
    let int = |table: Table<'_>| (table.field(0).map(|at| int(table.buffer, at)), table.byte(1));
    let kind = match field.byte(2) {
        20 => {
            let encoding = field.table(4).expect("a dictionary");
            assert_eq!(encoding.field(0).map(|at| long(encoding.buffer, at)), Some(number as i64));
            assert_eq!(encoding.table(1).map(int), Some((Some(32), 1)), "indices");
            ArrowType::Text
        }
        2 if int(kind) == (Some(64), 1) => ArrowType::Long,
        2 if int(kind) == (Some(32), 1) => ArrowType::Int,
        3 if kind.short(0) == 2 => ArrowType::Double,
        10 if (kind.short(0), kind.text(1).as_str()) == (2, "UTC") => ArrowType::Instant,
        other => panic!("a type with the number {other}"),
    };
    ArrowColumn { name: field.text(0), kind }
}

/// A column and its texts.
fn dictionary(header: Table<'_>, body: &[u8]) -> (usize, Vec<String>) {
    assert_eq!(header.byte(2), 0, "no dictionary adds to another one");
    let column = header.field(0).map_or(0, |at| long(header.buffer, at));
    let texts = record_batch(header.table(1).expect("texts"), body);
    let RecordBatch { rows: count, columns, buffers } = texts;
    assert_eq!(columns, [(count as i64, 0)]);
    let [validity, ends, bytes] = buffers[..] else { panic!("{} buffers", buffers.len()) };
    assert!(validity.is_empty());
    assert_eq!(ends.len(), 8 * (count + 1));
    let end = |index: usize| long(ends, 8 * index) as usize;
    assert_eq!((end(0), end(count)), (0, bytes.len()));
    let text = |index| String::from_utf8(bytes[end(index)..end(index + 1)].to_vec());
    (column as usize, (0..count).map(|index| text(index).expect("UTF-8")).collect())
}

/// The rows of a message.
struct RecordBatch<'a> {
    rows: usize,
    /// The length and the number of NULLs of each column.
    columns: Vec<(i64, i64)>,
    buffers: Vec<&'a [u8]>,
}

fn record_batch<'a>(batch: Table<'_>, body: &'a [u8]) -> RecordBatch<'a> {
    let rows = batch.field(0).map_or(0, |at| long(batch.buffer, at)) as usize;
    let mut end = 0;
    let buffer = |(start, length): (i64, i64)| {
        let (start, length) = (start as usize, length as usize);
        assert!(start % 8 == 0 && start >= end, "buffers are aligned and do not overlap");
        end = start + length;
        &body[start..end]
    };
    let buffers = batch.pairs(2).into_iter().map(buffer).collect();
    RecordBatch { rows, columns: batch.pairs(1), buffers }
}

/// A table of a [flat buffer](https://flatbuffers.dev/internals/).
#[derive(Debug, Clone, Copy)]
struct Table<'a> {
    buffer: &'a [u8],
    at: usize,
}

impl<'a> Table<'a> {
    /// The position of a field; `None` if it is absent.
    fn field(self, number: usize) -> Option<usize> {
        let positions = self.at - int(self.buffer, self.at) as usize;
        let position = 4 + 2 * number;
        if position >= usize::from(short(self.buffer, positions).cast_unsigned()) {
            return None;
        }
        let position = short(self.buffer, positions + position) as usize;
        (position > 0).then(|| self.at + position)
    }

    fn byte(self, number: usize) -> u8 {
        self.field(number).map_or(0, |at| self.buffer[at])
    }

    fn short(self, number: usize) -> i16 {
        self.field(number).map_or(0, |at| short(self.buffer, at))
    }

    fn reference(self, number: usize) -> Option<usize> {
        self.field(number).map(|at| at + int(self.buffer, at) as usize)
    }

    fn table(self, number: usize) -> Option<Self> {
        self.reference(number).map(|at| Self { at, ..self })
    }

    fn text(self, number: usize) -> String {
        let at = self.reference(number).expect("a text");
        let length = int(self.buffer, at) as usize;
        assert_eq!(self.buffer[at + 4 + length], 0, "a text ends with NUL");
        String::from_utf8(self.buffer[at + 4..][..length].to_vec()).expect("UTF-8")
    }

    /// The position of each element of a vector.
    fn elements(self, number: usize, bytes: usize) -> impl Iterator<Item = usize> {
        let vector = self.reference(number);
        let count = vector.map_or(0, |at| int(self.buffer, at) as usize);
        (0..count).filter_map(move |index| Some(vector? + 4 + bytes * index))
    }

    fn tables(self, number: usize) -> Vec<Self> {
        let table = |at| Self { at: at + int(self.buffer, at) as usize, ..self };
        self.elements(number, 4).map(table).collect()
    }

    fn longs(self, number: usize) -> Vec<i64> {
        self.elements(number, 8).map(|at| long(self.buffer, at)).collect()
    }

    fn pairs(self, number: usize) -> Vec<(i64, i64)> {
        let pair = |at| (long(self.buffer, at), long(self.buffer, at + 8));
        self.elements(number, 16).map(pair).collect()
    }
}

fn short(bytes: &[u8], at: usize) -> i16 {
    i16::from_le_bytes(number(bytes, at))
}

fn int(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(number(bytes, at))
}

fn long(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(number(bytes, at))
}

/// The bytes of a number, which is aligned to its own size.
fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    assert_eq!(at % N, 0, "a number is aligned");
    bytes[at..at + N].try_into().expect("a number")
}
