//! Records that a program has packed instead of writing them as text.
//!
//! ```text
//! length of what follows: u32
//! time: i64 in nanoseconds since 1970 | i64::MIN for none, zone offset: i32 in seconds
//! each number of the layout: u64 | u64::MAX for none
//! each text of the layout: length: u32 | u32::MAX for none, bytes
//! ```
//!
//! All numbers are little-endian. The request target stands in place of the path and the query, so
//! that a block's reader splits each distinct one once; not so for the rows of tables, which have them
//! apart. Packed records are never stored and never leave the process, so the form may change with each
//! version.

use super::mismatch::{Mismatch, Reason};
use crate::field::Field;
use crate::line::Line;
use crate::record::Record;
use crate::schema::RecordKind;
use crate::value::Timestamp;

/// A number that is absent. It is that of packed columns too.
const ABSENT_NUMBER: u64 = u64::MAX;
const ABSENT_TIME: i64 = i64::MIN;
const ABSENT_TEXT: u32 = u32::MAX;

/// The mismatch of bytes that are no packed record.
const MALFORMED: &str = "these bytes are not a packed record";

/// Reads packed records.
#[derive(Debug, Clone)]
pub(in crate::format) struct PackedProgram {
    numbers: Vec<Field>,
    texts: Vec<Text>,
    pub(in crate::format) kind: RecordKind,
    pub(in crate::format) has_arrival_times: bool,
    /// Whether a text `-` is a value.
    pub(in crate::format) has_literal_dashes: bool,
}

/// A text of a record, in the order in which it is packed.
#[derive(Debug, Clone, Copy)]
enum Text {
    Known(Field),
    /// The path, and the query after `?`, if they are one value.
    Target,
    /// The extra field of this index.
    Extra(usize),
}

impl PackedProgram {
    /// A program for these fields and so many extra fields.
    pub(in crate::format) fn new(fields: &[Field], extra_fields: usize) -> Self {
        let text = |field: Field| match field {
            Field::Path => Some(Text::Target),
            Field::Query => None,
            field => Some(Text::Known(field)),
        };
        Self::with_texts(fields, extra_fields, text)
    }

    /// A program for the rows of a table, with path and query apart.
    pub(in crate::format) fn of_table(
        fields: &[Field],
        extra_fields: usize,
        kind: RecordKind,
        has_arrival_times: bool,
    ) -> Self {
        let program = Self::with_texts(fields, extra_fields, |field| Some(Text::Known(field)));
        Self { kind, has_arrival_times, has_literal_dashes: true, ..program }
    }

    fn with_texts(
        fields: &[Field],
        extra_fields: usize,
        text: impl Fn(Field) -> Option<Text>,
    ) -> Self {
        let has = |field: &Field| fields.contains(field);
        let known = Field::TEXT.into_iter().filter(has).filter_map(text);
        let extra = (0..extra_fields).map(Text::Extra);
        Self {
            numbers: Field::NUMBERS.into_iter().filter(has).collect(),
            texts: known.chain(extra).collect(),
            kind: RecordKind::Request,
            has_arrival_times: true,
            has_literal_dashes: false,
        }
    }

    /// What distinguishes programs of the same fields.
    pub(in crate::format) fn summary(&self) -> String {
        let times = if self.has_arrival_times { "arrival" } else { "end" };
        let target = if self.has_literal_dashes { "path and query" } else { "target" };
        format!("{:?}, times of {times}, {target}", self.kind)
    }

    /// Whether path and query are there, as one target.
    pub(in crate::format) fn has_request_target(&self) -> bool {
        self.texts.iter().any(|text| matches!(text, Text::Target))
    }

    /// The bytes of all texts of a record, without the `?` between a path and its query.
    pub(in crate::format) fn text_bytes(&self, record: &Record<'_>) -> usize {
        let bytes = |text: Option<&[u8]>| text.map_or(0, <[u8]>::len);
        let of_text = |text: &Text| match text {
            Text::Known(field) => bytes(record.text(*field)),
            Text::Extra(index) => bytes(record.extra(*index)),
            Text::Target => bytes(record.text(Field::Path)) + bytes(record.text(Field::Query)),
        };
        self.texts.iter().map(of_text).sum()
    }

    /// Packs a record behind the others in `packed`. Nothing is packed of one that is larger than 4
    /// GiB.
    pub(in crate::format) fn pack(&self, record: &Record<'_>, packed: &mut Vec<u8>) {
        let start = packed.len();
        packed.extend_from_slice(&[0; 4]);
        let time_ns = record.time.map_or(ABSENT_TIME, |time| time.unix_ns);
        packed.extend_from_slice(&time_ns.to_le_bytes());
        let offset_s = record.time.map_or(0, |time| time.offset_s);
        packed.extend_from_slice(&offset_s.to_le_bytes());
        for field in &self.numbers {
            let number = record.number(*field).unwrap_or(ABSENT_NUMBER);
            packed.extend_from_slice(&number.to_le_bytes());
        }
        for text in &self.texts {
            match text {
                Text::Known(field) => push_text(packed, record.text(*field)),
                Text::Extra(index) => push_text(packed, record.extra(*index)),
                Text::Target => push_target(packed, record),
            }
        }
        match u32::try_from(packed.len() - start - 4) {
            Ok(length) => packed[start..start + 4].copy_from_slice(&length.to_le_bytes()),
            Err(_) => packed.truncate(start),
        }
    }

    /// Reads a packed record, without its length, into an empty record.
    pub(in crate::format) fn parse<'a>(
        &self,
        bytes: &'a [u8],
        record: &mut Record<'a>,
        keeps_target: bool,
    ) -> Result<(), Mismatch> {
        let mut rest = bytes;
        let read = self.read(&mut rest, record, keeps_target);
        match (read, rest.is_empty()) {
            (Some(()), true) => Ok(()),
            _ => Err(Mismatch::new(bytes.len() - rest.len(), Reason::Form(MALFORMED))),
        }
    }

    fn read<'a>(
        &self,
        rest: &mut &'a [u8],
        record: &mut Record<'a>,
        keeps_target: bool,
    ) -> Option<()> {
        let unix_ns = i64::from_le_bytes(*take(rest)?);
        let offset_s = i32::from_le_bytes(*take(rest)?);
        record.time = (unix_ns != ABSENT_TIME).then_some(Timestamp { unix_ns, offset_s });
        for field in &self.numbers {
            let number = u64::from_le_bytes(*take(rest)?);
            record.set_number(*field, (number != ABSENT_NUMBER).then_some(number));
        }
        for text in &self.texts {
            let Some(value) = take_text(rest)? else { continue };
            match text {
                Text::Known(field) => record.set_text(*field, value),
                Text::Target => record.set_target(value, keeps_target),
                Text::Extra(index) => record.set_extra(*index, value),
            }
        }
        Some(())
    }
}

/// Packs a text, which may be absent. One that is too long is.
fn push_text(packed: &mut Vec<u8>, text: Option<&[u8]>) {
    let length = text.and_then(|text| packed_length(text.len()));
    packed.extend_from_slice(&length.unwrap_or(ABSENT_TEXT).to_le_bytes());
    if let (Some(text), Some(_)) = (text, length) {
        packed.extend_from_slice(text);
    }
}

/// Packs the path, and the query after `?`.
fn push_target(packed: &mut Vec<u8>, record: &Record<'_>) {
    let (path, query) = (record.text(Field::Path), record.text(Field::Query));
    let (Some(path), Some(query)) = (path, query) else { return push_text(packed, path) };
    let Some(length) = packed_length(path.len() + 1 + query.len()) else {
        return push_text(packed, None);
    };
    packed.extend_from_slice(&length.to_le_bytes());
    for part in [path, b"?", query] {
        packed.extend_from_slice(part);
    }
}

/// The length of a text as it is packed; `None` if it is too long.
fn packed_length(bytes: usize) -> Option<u32> {
    u32::try_from(bytes).ok().filter(|length| *length != ABSENT_TEXT)
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(first)
}

/// The next text, which may be absent. `None` if the bytes end before it.
fn take_text<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = u32::from_le_bytes(*take(rest)?);
    if length == ABSENT_TEXT {
        return Some(None);
    }
    let (value, behind) = rest.split_at_checked(length as usize)?;
    *rest = behind;
    Some(Some(value))
}

/// The packed records of a block, as lines whose bytes are the records without their lengths. What
/// follows a length that is too large is one last line.
#[derive(Debug)]
pub(crate) struct PackedRecords<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> PackedRecords<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
}

impl<'a> Iterator for PackedRecords<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let record = rest
            .split_first_chunk()
            .and_then(|(length, behind)| behind.get(..u32::from_le_bytes(*length) as usize));
        let start = self.at + 4;
        let Some(bytes) = record else {
            let line = Line { bytes: rest, start: self.at };
            self.at = self.bytes.len();
            return Some(line);
        };
        self.at = start + bytes.len();
        Some(Line { bytes, start })
    }
}
