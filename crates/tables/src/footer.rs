//! The footer of a Parquet file: its columns, and where the pages of each are.

use crate::compact::{Compact, kind};
use crate::error::TableError;

/// The physical type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Physical {
    Boolean,
    Int32,
    Int64,
    Int96,
    Float,
    Double,
    Bytes,
    /// Bytes of one length.
    Fixed(usize),
}

/// The unit of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

/// What the values of a column mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing is stated, or it is that of the physical type.
    Plain,
    /// Texts.
    Text,
    /// Unsigned integers.
    Unsigned,
    Timestamp(TimeUnit),
    Decimal,
    /// Something that no field has. The name is that of the specification.
    Other(&'static str),
}

/// A column that is not nested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnType {
    pub(crate) name: String,
    /// The index among all columns with values.
    pub(crate) leaf: usize,
    pub(crate) physical: Physical,
    pub(crate) meaning: Meaning,
    /// Whether rows may lack a value.
    pub(crate) is_optional: bool,
    /// Whether the file states that no row has a value.
    pub(crate) is_empty: bool,
}

/// Where the pages of a column in a row group are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) codec: i64,
    /// Whether the statistics state that no row has a value.
    pub(crate) is_empty: bool,
}

/// Rows that follow each other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RowGroup {
    pub(crate) rows: u64,
    /// By leaf. `None` if the column is encrypted, or in another file.
    pub(crate) chunks: Vec<Option<Chunk>>,
}

/// The footer.
#[derive(Debug, Default)]
pub(crate) struct Footer {
    pub(crate) columns: Vec<ColumnType>,
    /// The number of columns inside other columns, or with lists.
    pub(crate) nested: usize,
    pub(crate) groups: Vec<RowGroup>,
    /// What Weir states that the records are, and their times.
    pub(crate) records: Option<String>,
    pub(crate) times: Option<String>,
}

/// The most columns of a file, with those inside others.
const COLUMNS_MAX: usize = 10_000;

/// The most row groups, and the most columns of all of them together. With those, the largest footer
/// that is read takes about 80 MiB.
const GROUPS_MAX: usize = 1 << 18;
const CHUNKS_MAX: usize = 1 << 21;

/// The longest name that is kept. Names of fields are shorter.
const NAME_BYTES_MAX: usize = 256;

/// The keys with which Weir states what the records of a file and their times are.
const RECORDS: &[u8] = b"weir.records";
const TIMES: &[u8] = b"weir.times";

/// An element of the schema, which is a tree in the order of its leaves.
#[derive(Debug, Default)]
struct SchemaElement {
    physical: Option<i64>,
    length: u64,
    repetition: i64,
    name: String,
    children: u64,
    converted: Option<i64>,
    meaning: Option<Meaning>,
}

const OPTIONAL: i64 = 1;
const REPEATED: i64 = 2;

impl Footer {
    /// Reads the footer, without the magic bytes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, TableError> {
        let (mut footer, mut elements) = (Self::default(), Vec::new());
        let (mut is_encrypted, mut chunks) = (false, 0);
        Compact::new(bytes).fields(|compact, field| {
            match field.id {
                2 => compact.list(|compact, _| {
                    elements.push(SchemaElement::read(compact)?);
                    limit(elements.len(), COLUMNS_MAX, "columns")
                })?,
                4 => compact.list(|compact, _| {
                    footer.groups.push(RowGroup::read(compact, &mut chunks)?);
                    limit(footer.groups.len(), GROUPS_MAX, "row groups")
                })?,
                5 => compact.list(|compact, _| footer.read_metadata(compact))?,
                8 => {
                    is_encrypted = true;
                    return Ok(false);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        footer.set_columns(&elements)?;
        let is_missing = |group: &RowGroup| group.chunks.iter().any(Option::is_none);
        if is_encrypted && footer.groups.iter().any(is_missing) {
            return Err(TableError::refused(
                "has encrypted columns; write it again without encryption",
            ));
        }
        Ok(footer)
    }

    fn read_metadata(&mut self, compact: &mut Compact<'_>) -> Result<(), TableError> {
        let (mut key, mut value) = (&[][..], &[][..]);
        compact.fields(|compact, field| {
            match field.id {
                1 => key = compact.binary()?,
                2 => value = compact.binary()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match key {
            RECORDS => self.records = Some(name_of(value)),
            TIMES => self.times = Some(name_of(value)),
            _ => {}
        }
        Ok(())
    }

    /// Finds the columns that are not nested.
    fn set_columns(&mut self, elements: &[SchemaElement]) -> Result<(), TableError> {
        let Some((root, rest)) = elements.split_first() else {
            return Err(TableError::damaged("it has no schema"));
        };
        let (mut rest, mut leaf) = (rest.iter(), 0);
        for _ in 0..root.children {
            let element = rest.next().ok_or_else(|| TableError::damaged("its schema is cut"))?;
            let first = leaf;
            match element.children {
                0 => leaf += 1,
                children => leaf += leaves(&mut rest, children)?,
            }
            if element.children > 0 || element.repetition == REPEATED {
                self.nested += 1;
                continue;
            }
            self.columns.push(element.column(first)?);
        }
        if self.groups.iter().any(|group| group.chunks.len() != leaf) {
            return Err(TableError::damaged("a row group has other columns than the schema"));
        }
        let Self { columns, groups, .. } = self;
        for column in columns {
            let is_empty =
                |group: &RowGroup| group.chunks[column.leaf].is_some_and(|it| it.is_empty);
            column.is_empty = !groups.is_empty() && groups.iter().all(is_empty);
        }
        Ok(())
    }
}

/// Refuses a file that has more of something than is read.
fn limit(count: usize, max: usize, what: &str) -> Result<(), TableError> {
    match count <= max {
        true => Ok(()),
        false => Err(TableError::refused(format_args!(
            "has more than {max} {what}, which Weir does not read; write it again with fewer"
        ))),
    }
}

/// A name as text. Long ones are cut, and end in an ellipsis.
fn name_of(bytes: &[u8]) -> String {
    match bytes.len() > NAME_BYTES_MAX {
        true => String::from_utf8_lossy(&bytes[..NAME_BYTES_MAX]).into_owned() + "…",
        false => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Counts the leaves of so many children and their children.
fn leaves(
    rest: &mut std::slice::Iter<'_, SchemaElement>,
    children: u64,
) -> Result<usize, TableError> {
    let (mut open, mut leaves) = (children, 0);
    while open > 0 {
        let element = rest.next().ok_or_else(|| TableError::damaged("its schema is cut"))?;
        leaves += usize::from(element.children == 0);
        open = (open - 1).checked_add(element.children).ok_or_else(|| {
            TableError::damaged("a column of its schema has too many columns in it")
        })?;
    }
    Ok(leaves)
}

impl SchemaElement {
    fn read(compact: &mut Compact<'_>) -> Result<Self, TableError> {
        let mut element = Self::default();
        compact.fields(|compact, field| {
            match field.id {
                1 => element.physical = Some(compact.integer()?),
                2 => element.length = compact.size()?,
                3 => element.repetition = compact.integer()?,
                4 => element.name = name_of(compact.binary()?),
                5 => element.children = compact.size()?,
                6 => element.converted = Some(compact.integer()?),
                10 if field.kind == kind::STRUCT => element.meaning = Some(read_meaning(compact)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(element)
    }

    fn column(&self, leaf: usize) -> Result<ColumnType, TableError> {
        let physical = match self.physical {
            Some(0) => Physical::Boolean,
            Some(1) => Physical::Int32,
            Some(2) => Physical::Int64,
            Some(3) => Physical::Int96,
            Some(4) => Physical::Float,
            Some(5) => Physical::Double,
            Some(6) => Physical::Bytes,
            Some(7) => Physical::Fixed(usize::try_from(self.length).unwrap_or(usize::MAX)),
            _ => return Err(TableError::damaged("a column has no known type")),
        };
        let meaning = self.meaning.unwrap_or_else(|| converted(self.converted));
        let (name, is_optional) = (self.name.clone(), self.repetition == OPTIONAL);
        Ok(ColumnType { name, leaf, physical, meaning, is_optional, is_empty: false })
    }
}

/// The meaning that old writers state.
fn converted(kind: Option<i64>) -> Meaning {
    match kind {
        Some(0 | 4 | 19) => Meaning::Text,
        Some(5) => Meaning::Decimal,
        Some(6) => Meaning::Other("DATE"),
        Some(7 | 8) => Meaning::Other("TIME"),
        Some(9) => Meaning::Timestamp(TimeUnit::Milliseconds),
        Some(10) => Meaning::Timestamp(TimeUnit::Microseconds),
        Some(11..=14) => Meaning::Unsigned,
        Some(20) => Meaning::Other("BSON"),
        Some(21) => Meaning::Other("INTERVAL"),
        _ => Meaning::Plain,
    }
}

/// Reads a logical type.
fn read_meaning(compact: &mut Compact<'_>) -> Result<Meaning, TableError> {
    let mut meaning = Meaning::Plain;
    compact.fields(|compact, field| {
        meaning = match field.id {
            1 | 4 | 12 => Meaning::Text,
            5 => Meaning::Decimal,
            6 => Meaning::Other("DATE"),
            7 => Meaning::Other("TIME"),
            8 => {
                meaning = Meaning::Timestamp(read_unit(compact)?);
                return Ok(true);
            }
            10 => {
                if !read_is_signed(compact)? {
                    meaning = Meaning::Unsigned;
                }
                return Ok(true);
            }
            13 => Meaning::Other("BSON"),
            14 => Meaning::Other("UUID"),
            15 => Meaning::Other("FLOAT16"),
            _ => Meaning::Plain,
        };
        Ok(false)
    })?;
    Ok(meaning)
}

fn read_unit(compact: &mut Compact<'_>) -> Result<TimeUnit, TableError> {
    let mut unit = TimeUnit::Milliseconds;
    compact.fields(|compact, field| {
        if field.id != 2 {
            return Ok(false);
        }
        compact.fields(|_, field| {
            unit = match field.id {
                2 => TimeUnit::Microseconds,
                3 => TimeUnit::Nanoseconds,
                _ => TimeUnit::Milliseconds,
            };
            Ok(false)
        })?;
        Ok(true)
    })?;
    Ok(unit)
}

fn read_is_signed(compact: &mut Compact<'_>) -> Result<bool, TableError> {
    let mut is_signed = true;
    compact.fields(|_, field| {
        if field.id == 2 {
            is_signed = field.kind == kind::TRUE;
        }
        Ok(false)
    })?;
    Ok(is_signed)
}

impl RowGroup {
    /// Reads a row group, and adds its columns to those of all groups.
    fn read(compact: &mut Compact<'_>, chunks: &mut usize) -> Result<Self, TableError> {
        let mut group = Self::default();
        compact.fields(|compact, field| {
            match field.id {
                1 => compact.list(|compact, _| {
                    group.chunks.push(read_chunk(compact)?);
                    *chunks += 1;
                    limit(*chunks, CHUNKS_MAX, "columns in all row groups")
                })?,
                3 => group.rows = compact.size()?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(group)
    }
}

fn read_chunk(compact: &mut Compact<'_>) -> Result<Option<Chunk>, TableError> {
    let (mut chunk, mut is_elsewhere) = (None, false);
    compact.fields(|compact, field| {
        match field.id {
            3 => chunk = Some(read_chunk_metadata(compact)?),
            1 | 8 => {
                is_elsewhere = true;
                return Ok(false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(chunk.filter(|_| !is_elsewhere))
}

/// Reads the number of rows without a value, if the statistics of a column have it.
fn read_nulls(compact: &mut Compact<'_>) -> Result<Option<u64>, TableError> {
    let mut nulls = None;
    compact.fields(|compact, field| {
        if field.id == 3 {
            nulls = u64::try_from(compact.integer()?).ok();
        }
        Ok(field.id == 3)
    })?;
    Ok(nulls)
}

fn read_chunk_metadata(compact: &mut Compact<'_>) -> Result<Chunk, TableError> {
    let mut chunk = Chunk { start: 0, bytes: 0, codec: 0, is_empty: false };
    let (mut dictionary, mut values, mut nulls) = (None, 0, None);
    compact.fields(|compact, field| {
        match field.id {
            4 => chunk.codec = compact.integer()?,
            5 => values = compact.size()?,
            7 => chunk.bytes = compact.size()?,
            9 => chunk.start = compact.size()?,
            11 => dictionary = Some(compact.size()?),
            12 if field.kind == kind::STRUCT => nulls = read_nulls(compact)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    chunk.is_empty = nulls == Some(values);
    // Some writers set the offset of a dictionary that is not there to zero.
    let before = dictionary.filter(|dictionary| (4..chunk.start).contains(dictionary));
    chunk.start = before.unwrap_or(chunk.start);
    Ok(chunk)
}
