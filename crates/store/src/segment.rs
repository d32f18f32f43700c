//! Segments as bytes.

use weir_core::{ColumnParts, ColumnRef, RecordKind, Segment, SegmentParts, TimeBounds, Times};

use crate::code::{Decoder, Encoder};

pub(crate) fn encode_kind(kind: RecordKind) -> u8 {
    kind as u8
}

pub(crate) fn decode_kind(byte: u8) -> Option<RecordKind> {
    RecordKind::ALL.get(usize::from(byte)).copied()
}

/// Writes a segment with its number, and the rows that count.
pub(crate) fn encode(encoder: &mut Encoder, number: u64, segment: &Segment, bounds: TimeBounds) {
    encoder.u64(number);
    encoder.i64(bounds.first_ns);
    encoder.i64(bounds.last_ns);
    encoder.bool(bounds.untimed);
    encoder.u8(encode_kind(segment.kind()));
    encoder.u32(segment.source());
    encoder.u64(segment.block_offset());
    encoder.u64(segment.rows() as u64);
    encoder.codes(segment.line_starts());
    encoder.list(segment.columns(), |encoder, (id, column)| {
        encoder.count(id.index());
        match column {
            ColumnRef::Text(codes) => {
                encoder.u8(0);
                encoder.codes(codes);
            }
            ColumnRef::Number(numbers) => {
                encoder.u8(1);
                encoder.numbers(numbers);
            }
            ColumnRef::Time(times) => {
                encoder.u8(2);
                encoder.numbers(times.instants());
                encoder.numbers(times.offsets());
            }
        }
    });
}

/// A segment as it is stored.
#[derive(Debug)]
pub(crate) struct DecodedSegment {
    pub(crate) number: u64,
    /// The columns have the numbers that they were stored with.
    parts: SegmentParts,
    pub(crate) bounds: TimeBounds,
}

impl DecodedSegment {
    /// The parts of the segment. `columns` are the numbers that the stored columns have here.
    pub(crate) fn into_parts(mut self, columns: &[usize]) -> Option<SegmentParts> {
        for (index, _) in &mut self.parts.columns {
            *index = *columns.get(*index)?;
        }
        // Another version may have the known columns in another order.
        self.parts.columns.sort_by_key(|(index, _)| *index);
        Some(self.parts)
    }
}

/// Reads what [`encode`] has written, if nothing follows it.
pub(crate) fn decode_whole(decoder: &mut Decoder<'_>) -> Option<DecodedSegment> {
    decode(decoder).filter(|_| decoder.is_empty())
}

fn decode(decoder: &mut Decoder<'_>) -> Option<DecodedSegment> {
    let number = decoder.u64()?;
    let bounds =
        TimeBounds { first_ns: decoder.i64()?, last_ns: decoder.i64()?, untimed: decoder.bool()? };
    let kind = decode_kind(decoder.u8()?)?;
    let (source, block_offset) = (decoder.u32()?, decoder.u64()?);
    let rows = usize::try_from(decoder.u64()?).ok()?;
    let line_starts = decoder.codes()?;
    let column = |decoder: &mut Decoder<'_>| {
        let index = usize::try_from(decoder.u32()?).ok()?;
        let column = match decoder.u8()? {
            0 => ColumnParts::Text(decoder.codes()?),
            1 => ColumnParts::Number(decoder.numbers()?),
            2 => ColumnParts::Time(Times::of_parts(decoder.numbers()?, decoder.numbers()?)?),
            _ => return None,
        };
        Some((index, column))
    };
    let columns = decoder.list(column)?;
    let parts = SegmentParts { kind, source, block_offset, rows, line_starts, columns };
    Some(DecodedSegment { number, parts, bounds })
}
