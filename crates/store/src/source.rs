//! What is stored of a source, and of the data set as a whole.

use std::sync::Arc;

use weir_core::{Format, OffsetDays, ReadCounts};

use crate::code::{Decoder, Encoder};
use crate::format_table::FormatTable;

/// A source as plain data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredSource {
    /// Its name.
    pub name: String,
    /// Its size, if it was known.
    pub bytes_total: Option<u64>,
    /// The bytes taken of a compressed source; `None` if it is not compressed.
    pub bytes_taken: Option<u64>,
    /// What was read of it.
    pub counts: ReadCounts,
    /// Its format, and the share of the first lines that matched it.
    pub format: Option<(FormatRef, Option<f64>)>,
    /// The records by format.
    pub by_format: Vec<(FormatRef, u64)>,
    /// How many formats its first block had.
    pub first_formats: u32,
    /// All formats that it was read in.
    pub formats: Vec<FormatRef>,
    /// The block with its first time, and the zone offset of that in seconds.
    pub first_offset: Option<(u64, i32)>,
    /// The zone offsets of its times by day.
    pub offset_days: OffsetDays,
    /// The first lines that did not match.
    pub samples: Vec<StoredSample>,
    /// How it ended.
    pub end: SourceEndKind,
    /// Notes about it.
    pub note: Option<String>,
    /// A note about its format.
    pub format_note: Option<String>,
    /// How often it was truncated, and for how many milliseconds it was not read before at most.
    pub truncations: Option<(u64, u64)>,
    /// Whether it was removed from the data set.
    pub is_removed: bool,
    /// Where its last lines were read from.
    pub places: Vec<StoredPlace>,
}

/// A shared format, compared by what it is.
#[derive(Debug, Clone)]
pub struct FormatRef(pub Arc<Format>);

impl PartialEq for FormatRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.description() == other.0.description()
    }
}

/// A line that did not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSample {
    /// The number of the line, from 1.
    pub line: u64,
    /// The column at which it stops matching, from 1.
    pub column: u64,
    /// Why it does not match.
    pub reason: String,
    /// The line.
    pub text: Vec<u8>,
}

/// How a source ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SourceEndKind {
    /// It goes on.
    #[default]
    Open,
    /// It was read to its end.
    Done,
    /// It was cancelled.
    Cancelled,
    /// It failed, for this reason.
    Failed(String),
}

/// A file that a source was read from, and how far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredPlace {
    /// Its path, as bytes.
    pub path: Vec<u8>,
    /// The device and the number of the file on it.
    pub id: (u64, u64),
    /// The offset in the source of the part that was read last.
    pub source_start: u64,
    /// The offset in the file at which that part begins.
    pub file_start: u64,
    /// The offset in the file after the last line that was counted.
    pub position: u64,
    /// The number of bytes before the position that were summed, and their checksum.
    pub tail: (u32, u64),
    /// The number of bytes at the beginning of the file that were summed, and their checksum.
    pub head: (u32, u64),
}

/// What is stored of a data set beside its segments, values and sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The zone offset of the first time, in seconds.
    pub first_offset_s: Option<i32>,
    /// The zone offsets by day, if there are several.
    pub value_days: Option<OffsetDays>,
    /// The zone offsets of all sources by day.
    pub offset_days: OffsetDays,
    /// Whether the zone offset is still to be found.
    pub lacks_offset: bool,
    /// The number of blocks that were appended.
    pub blocks: u64,
}

fn encode_days(encoder: &mut Encoder, days: &OffsetDays) {
    encoder.bool(days.is_partial());
    encoder.list(days.entries(), |encoder, entry| entry.into_iter().for_each(|it| encoder.i64(it)));
}

fn decode_days(decoder: &mut Decoder<'_>) -> Option<OffsetDays> {
    let is_partial = decoder.bool()?;
    let entry = |decoder: &mut Decoder<'_>| {
        Some([decoder.i64()?, decoder.i64()?, decoder.i64()?, decoder.i64()?])
    };
    let entries = decoder.list(entry)?;
    Some(OffsetDays::of_entries(entries.into_iter(), is_partial))
}

fn encode_offset(encoder: &mut Encoder, offset_s: i32) {
    encoder.i64(offset_s.into());
}

/// A zone offset of less than a day.
fn decode_offset(decoder: &mut Decoder<'_>) -> Option<i32> {
    let offset_s = i32::try_from(decoder.i64()?).ok()?;
    (-86_400..=86_400).contains(&offset_s).then_some(offset_s)
}

impl Summary {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.option(self.first_offset_s, encode_offset);
        encoder.option(self.value_days.as_ref(), encode_days);
        encode_days(encoder, &self.offset_days);
        encoder.bool(self.lacks_offset);
        encoder.u64(self.blocks);
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            first_offset_s: decoder.option(decode_offset)?,
            value_days: decoder.option(decode_days)?,
            offset_days: decode_days(decoder)?,
            lacks_offset: decoder.bool()?,
            blocks: decoder.u64()?,
        })
    }
}

impl StoredSource {
    pub(crate) fn encode(&self, encoder: &mut Encoder, formats: &mut FormatTable) {
        let text = |encoder: &mut Encoder, text: &String| encoder.text(text.as_bytes());
        let u64 = |encoder: &mut Encoder, number: u64| encoder.u64(number);
        text(encoder, &self.name);
        encoder.option(self.bytes_total, u64);
        encoder.option(self.bytes_taken, u64);
        let counts = &self.counts;
        for count in [
            counts.lines,
            counts.records,
            counts.empty_lines,
            counts.unparsed_lines,
            counts.too_long_lines,
            counts.bytes_read,
        ] {
            encoder.u64(count);
        }
        encoder.option(self.format.as_ref(), |encoder, (format, share)| {
            encoder.u32(formats.number(&format.0));
            encoder.option(*share, |encoder, share| encoder.u64(share.to_bits()));
        });
        encoder.list(self.by_format.iter(), |encoder, (format, records)| {
            encoder.u32(formats.number(&format.0));
            encoder.u64(*records);
        });
        encoder.u32(self.first_formats);
        encoder.list(self.formats.iter(), |encoder, format| encoder.u32(formats.number(&format.0)));
        encoder.option(self.first_offset, |encoder, (block, offset_s)| {
            encoder.u64(block);
            encode_offset(encoder, offset_s);
        });
        encode_days(encoder, &self.offset_days);
        encoder.list(self.samples.iter(), |encoder, sample| {
            encoder.u64(sample.line);
            encoder.u64(sample.column);
            encoder.text(sample.reason.as_bytes());
            encoder.text(&sample.text);
        });
        let (end, reason) = match &self.end {
            SourceEndKind::Open => (0, None),
            SourceEndKind::Done => (1, None),
            SourceEndKind::Cancelled => (2, None),
            SourceEndKind::Failed(reason) => (3, Some(reason)),
        };
        encoder.u8(end);
        encoder.option(reason, text);
        encoder.option(self.note.as_ref(), text);
        encoder.option(self.format_note.as_ref(), text);
        encoder.option(self.truncations, |encoder, (count, ms)| {
            encoder.u64(count);
            encoder.u64(ms);
        });
        encoder.bool(self.is_removed);
        encoder.list(self.places.iter(), |encoder, place| place.encode(encoder));
    }

    pub(crate) fn decode(decoder: &mut Decoder<'_>, formats: &[Arc<Format>]) -> Option<Self> {
        let format = |decoder: &mut Decoder<'_>| {
            let number = usize::try_from(decoder.u32()?).ok()?;
            formats.get(number).cloned().map(FormatRef)
        };
        let name = decoder.string()?;
        let (bytes_total, bytes_taken) =
            (decoder.option(Decoder::u64)?, decoder.option(Decoder::u64)?);
        let counts = ReadCounts {
            lines: decoder.u64()?,
            records: decoder.u64()?,
            empty_lines: decoder.u64()?,
            unparsed_lines: decoder.u64()?,
            too_long_lines: decoder.u64()?,
            bytes_read: decoder.u64()?,
        };
        let share = |decoder: &mut Decoder<'_>| {
            let share = f64::from_bits(decoder.u64()?);
            (0.0..=1.0).contains(&share).then_some(share)
        };
        Some(Self {
            name,
            bytes_total,
            bytes_taken,
            counts,
            format: decoder.option(|decoder| Some((format(decoder)?, decoder.option(share)?)))?,
            by_format: decoder.list(|decoder| Some((format(decoder)?, decoder.u64()?)))?,
            first_formats: decoder.u32()?,
            formats: decoder.list(format)?,
            first_offset: decoder
                .option(|decoder| Some((decoder.u64()?, decode_offset(decoder)?)))?,
            offset_days: decode_days(decoder)?,
            samples: decoder.list(StoredSample::decode)?,
            end: match (decoder.u8()?, decoder.option(Decoder::string)?) {
                (0, None) => SourceEndKind::Open,
                (1, None) => SourceEndKind::Done,
                (2, None) => SourceEndKind::Cancelled,
                (3, Some(reason)) => SourceEndKind::Failed(reason),
                _ => return None,
            },
            note: decoder.option(Decoder::string)?,
            format_note: decoder.option(Decoder::string)?,
            truncations: decoder.option(|decoder| Some((decoder.u64()?, decoder.u64()?)))?,
            is_removed: decoder.bool()?,
            places: decoder.list(StoredPlace::decode)?,
        })
    }

    /// Whether sums of the counts of many such sources fit in 64 bits. No log has an exabyte.
    pub(crate) fn is_possible(&self) -> bool {
        const MAX: u64 = 1 << 50;
        let counts = &self.counts;
        let lines = [counts.lines, counts.records, counts.empty_lines, counts.unparsed_lines];
        let bytes = [Some(counts.bytes_read), self.bytes_total, self.bytes_taken];
        let by_format = self.by_format.iter().map(|(_, records)| *records);
        let samples = self.samples.iter().flat_map(|sample| [sample.line, sample.column]);
        let others = [counts.too_long_lines, self.truncations.map_or(0, |(_, ms)| ms)];
        let all = lines.into_iter().chain(bytes.into_iter().flatten()).chain(by_format);
        all.chain(samples).chain(others).all(|count| count < MAX)
    }
}

impl StoredSample {
    fn decode(decoder: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            line: decoder.u64()?,
            column: decoder.u64()?,
            reason: decoder.string()?,
            text: decoder.text()?.to_vec(),
        })
    }
}

impl StoredPlace {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.text(&self.path);
        for number in [self.id.0, self.id.1, self.source_start, self.file_start, self.position] {
            encoder.u64(number);
        }
        for (bytes, sum) in [self.tail, self.head] {
            encoder.u32(bytes);
            encoder.u64(sum);
        }
    }

    fn decode(decoder: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            path: decoder.text()?.to_vec(),
            id: (decoder.u64()?, decoder.u64()?),
            source_start: decoder.u64()?,
            file_start: decoder.u64()?,
            position: decoder.u64()?,
            tail: (decoder.u32()?, decoder.u64()?),
            head: (decoder.u32()?, decoder.u64()?),
        })
    }
}
