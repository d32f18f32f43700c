//! Reads data sets.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::thread;

use weir_core::{Field, Format, LiveIds, Segment, StoredValueError, TimeBounds, Values};

use crate::code::Decoder;
use crate::error::StoreError;
use crate::read_ahead::{Record, RecordsAhead};
use crate::record::{FRAME_BYTES, HEADER_BYTES, RecordKind, Torn, read_header};
use crate::section::Tag;
use crate::segment::DecodedSegment;
use crate::source::{StoredSource, Summary};
use crate::{format_table, segment, values};

/// A data set that was read.
#[derive(Debug)]
pub struct StoredData {
    /// The distinct values.
    pub values: Values,
    /// The segments by their numbers.
    pub segments: BTreeMap<u64, StoredSegment>,
    /// The sources, in the order of their numbers.
    pub sources: Vec<StoredSource>,
    /// The formats of the data set, in their order.
    pub formats: Vec<Arc<Format>>,
    /// The rest.
    pub summary: Summary,
    /// The size of what was read up to the last commit, in bytes.
    pub committed_bytes: u64,
    /// What is wrong with the bytes after the last commit, which are not counted.
    pub torn: Option<&'static str>,
    /// All formats that something refers to.
    pub(crate) format_table: Vec<Arc<Format>>,
    /// The number in the schema of each stored column.
    columns: Vec<usize>,
}

/// A segment, and the rows of it that count.
#[derive(Debug, Clone)]
pub struct StoredSegment {
    /// The segment.
    pub segment: Arc<Segment>,
    /// The rows that count.
    pub bounds: TimeBounds,
}

impl StoredData {
    /// The number of stored columns.
    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The columns by the numbers that they were stored with. If they differ from those of the schema,
    /// changes cannot be appended.
    pub fn has_own_columns(&self) -> bool {
        self.columns.iter().enumerate().all(|(number, own)| number == *own)
    }
}

/// Reads a stored data set.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    content: Content,
}

/// What was read so far.
#[derive(Debug)]
struct Content {
    data: StoredData,
    /// The offset of the record that is being read.
    offset: u64,
    segment_bytes: usize,
    segment_bytes_max: usize,
}

/// The largest number of a segment. Others are counted on from it.
const NUMBER_MAX: u64 = 1 << 60;

/// Why a section is refused.
enum Refusal {
    Damaged(&'static str),
    Memory,
}

impl From<StoredValueError> for Refusal {
    fn from(error: StoredValueError) -> Self {
        match error {
            StoredValueError::Id => Self::Damaged("a value has an impossible id"),
            StoredValueError::Memory => Self::Memory,
        }
    }
}

impl<R: Read + Send> Reader<R> {
    /// Reads the header. Values and segments may take as much memory as is given for each.
    ///
    /// # Errors
    /// If the input is not a data set of this version.
    pub fn new(
        mut input: R,
        value_bytes_max: usize,
        segment_bytes_max: usize,
    ) -> Result<Self, StoreError> {
        read_header(&mut input)?;
        let data = StoredData {
            values: Values::new(value_bytes_max),
            segments: BTreeMap::new(),
            sources: Vec::new(),
            formats: Vec::new(),
            summary: Summary::default(),
            committed_bytes: 0,
            torn: None,
            format_table: Vec::new(),
            columns: Vec::new(),
        };
        let content = Content { data, offset: HEADER_BYTES, segment_bytes: 0, segment_bytes_max };
        Ok(Self { input, content })
    }

    /// Reads the data set up to its last commit.
    ///
    /// # Errors
    /// If there is none, or if a record is whole and not what a data set has.
    pub fn read(self) -> Result<StoredData, StoreError> {
        let Self { mut input, content } = self;
        thread::scope(|scope| content.read(RecordsAhead::begin(scope, &mut input)))
    }
}

impl Content {
    fn read(mut self, mut records: RecordsAhead) -> Result<StoredData, StoreError> {
        loop {
            let Record { kind, payload, segments } = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) if self.data.committed_bytes > 0 => return self.end(None),
                Ok(None) => return Err(self.damaged("it ends before it is complete")),
                Err(Torn::Io(error)) => return Err(error.into()),
                Err(Torn::Record(reason)) => return self.end(Some(reason)),
            };
            if kind == RecordKind::Part && self.data.committed_bytes > 0 {
                return Err(self.damaged("it goes on after it was complete"));
            }
            self.apply(&payload, segments).map_err(|refusal| match refusal {
                Refusal::Damaged(reason) => self.damaged(reason),
                Refusal::Memory => StoreError::Memory,
            })?;
            self.offset += FRAME_BYTES + payload.len() as u64;
            if kind == RecordKind::Commit {
                self.data.committed_bytes = self.offset;
            }
            records.give_back(payload);
        }
    }

    /// The data set, if it is one.
    fn end(mut self, torn: Option<&'static str>) -> Result<StoredData, StoreError> {
        if self.data.committed_bytes == 0 {
            return Err(self.damaged(torn.unwrap_or("it is empty")));
        }
        let sources = self.data.sources.len();
        let is_known = |stored: &StoredSegment| (stored.segment.source() as usize) < sources;
        if !self.data.segments.values().all(is_known) {
            return Err(self.damaged("a segment has no source"));
        }
        if self.data.values.has_free_ids() {
            let mut used = LiveIds::new(&self.data.values);
            self.data.segments.values().for_each(|stored| used.mark(&stored.segment));
            if !used.have_values(&self.data.values) {
                return Err(self.damaged("a value is missing"));
            }
        }
        let (first, days) = (self.data.summary.first_offset_s, &self.data.summary.value_days);
        self.data.values.restore_offsets(first, days.clone());
        self.data.torn = torn;
        Ok(self.data)
    }

    fn damaged(&self, reason: &'static str) -> StoreError {
        StoreError::Damaged { offset: self.offset, reason }
    }

    /// Adds the sections of a record, of which the first segments are decoded.
    fn apply(
        &mut self,
        payload: &[u8],
        segments: Vec<Option<DecodedSegment>>,
    ) -> Result<(), Refusal> {
        let (mut decoder, mut segments) = (Decoder::new(payload), segments.into_iter());
        while !decoder.is_empty() {
            let (tag, mut section) =
                decoder.section().ok_or(Refusal::Damaged("a section is of an unknown kind"))?;
            self.apply_section(tag, &mut section, &mut segments)?;
            if !section.is_empty() {
                return Err(Refusal::Damaged("a section is too long"));
            }
        }
        Ok(())
    }

    fn apply_section(
        &mut self,
        tag: Tag,
        section: &mut Decoder<'_>,
        segments: &mut impl Iterator<Item = Option<DecodedSegment>>,
    ) -> Result<(), Refusal> {
        let data = &mut self.data;
        let damaged = Refusal::Damaged;
        match tag {
            Tag::Columns => {
                let names = section.list(Decoder::string).ok_or(damaged("columns are wrong"))?;
                for name in names {
                    let number = column(&mut data.values, &name);
                    data.columns.push(number.ok_or(damaged("a column is unknown"))?);
                }
            }
            Tag::Formats => {
                let formats = format_table::decode(section);
                data.format_table.extend(formats.ok_or(damaged("a format is wrong"))?);
            }
            Tag::Values => {
                let added = values::decode(section, &data.columns, &mut data.values);
                added.ok_or(damaged("values are wrong"))??;
            }
            Tag::ColumnState => {
                values::decode_state(section, &data.columns, &mut data.values)
                    .ok_or(damaged("the state of a column is wrong"))?;
            }
            Tag::Segment => {
                let decoded = match segments.next() {
                    Some(decoded) => decoded,
                    None => segment::decode_whole(section),
                };
                self.add_segment(decoded)?;
                *section = Decoder::new(&[]);
            }
            Tag::Removed => {
                let numbers = section.list(Decoder::u64);
                for number in numbers.ok_or(damaged("the removed segments are wrong"))? {
                    if let Some(removed) = data.segments.remove(&number) {
                        self.segment_bytes -= removed.segment.memory_bytes();
                    }
                }
            }
            Tag::Sources => {
                let formats = &data.format_table;
                let source = |decoder: &mut Decoder<'_>| {
                    let number = usize::try_from(decoder.u32()?).ok()?;
                    let source = StoredSource::decode(decoder, formats)?;
                    source.is_possible().then_some((number, source))
                };
                let sources = section.list(source).ok_or(damaged("a source is wrong"))?;
                for (number, source) in sources {
                    match number.cmp(&data.sources.len()) {
                        Ordering::Less => data.sources[number] = source,
                        Ordering::Equal => data.sources.push(source),
                        Ordering::Greater => {
                            return Err(damaged("a source has an impossible number"));
                        }
                    }
                }
            }
            Tag::Summary => {
                let table = &data.format_table;
                let format = |decoder: &mut Decoder<'_>| {
                    table.get(usize::try_from(decoder.u32()?).ok()?).cloned()
                };
                data.formats = section.list(format).ok_or(damaged("a format is missing"))?;
                data.summary = Summary::decode(section).ok_or(damaged("the summary is wrong"))?;
            }
        }
        Ok(())
    }

    /// Adds a segment; `None` if it could not be decoded.
    fn add_segment(&mut self, decoded: Option<DecodedSegment>) -> Result<(), Refusal> {
        let wrong = Refusal::Damaged("a segment is wrong");
        let Some(decoded) = decoded else { return Err(wrong) };
        let (number, bounds) = (decoded.number, decoded.bounds);
        let parts = decoded.into_parts(&self.data.columns).ok_or(wrong)?;
        let segment = Segment::of_parts(parts, &self.data.values)
            .ok_or(Refusal::Damaged("the columns of a segment do not fit each other"))?;
        self.segment_bytes += segment.memory_bytes();
        if self.segment_bytes > self.segment_bytes_max {
            return Err(Refusal::Memory);
        }
        if number > NUMBER_MAX {
            return Err(Refusal::Damaged("a segment has an impossible number"));
        }
        let stored = StoredSegment { segment: Arc::new(segment), bounds };
        match self.data.segments.insert(number, stored) {
            None => Ok(()),
            Some(_) => Err(Refusal::Damaged("two segments have the same number")),
        }
    }
}

/// The number in the schema of a column with this name, which is added if it is unknown.
fn column(values: &mut Values, name: &str) -> Option<usize> {
    // A name of another spelling would be added, and then shadowed by the known field.
    let field = Field::by_name(name);
    match field {
        Some(field) if field.name() == name => Some(field.column().index()),
        Some(_) => None,
        None => Some(values.add_text_column(name).index()),
    }
}
