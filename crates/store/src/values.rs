//! The values of columns as bytes.

use weir_core::{ColumnId, ColumnState, StoredValueError, Values};

use crate::code::{Decoder, Encoder};

/// The length of an id that has no value.
const NONE: u32 = u32::MAX;

/// The bytes of values after which another section begins.
const SECTION_BYTES: usize = 2 << 20;

/// The most ids of a section.
const SECTION_IDS: usize = 1 << 17;

/// Writes values with ids from `first` up to `end`, as many as a section should have. Returns the id
/// after the last one.
pub(crate) fn encode(
    encoder: &mut Encoder,
    values: &Values,
    column: ColumnId,
    first: usize,
    end: usize,
) -> usize {
    let dictionary = values.dictionary(column);
    let value = |id: usize| dictionary.value(id as u32);
    let (mut next, mut bytes) = (first, 0);
    while next < end && next - first < SECTION_IDS && bytes < SECTION_BYTES {
        bytes += value(next).map_or(0, <[u8]>::len);
        next += 1;
    }
    encoder.count(column.index());
    encoder.u32(first as u32);
    encoder.count(next - first);
    for id in first..next {
        encoder.u32(value(id).map_or(NONE, |value| value.len() as u32));
    }
    for id in first..next {
        encoder.bytes.extend_from_slice(value(id).unwrap_or_default());
    }
    next
}

/// Adds what [`encode`] has written.
pub(crate) fn decode(
    decoder: &mut Decoder<'_>,
    columns: &[usize],
    values: &mut Values,
) -> Option<Result<(), StoredValueError>> {
    let column = column(decoder, columns, values)?;
    let first = decoder.u32()?;
    let count = decoder.count()?;
    let lengths = decoder.bytes(count.checked_mul(4)?)?.as_chunks::<4>().0;
    let lengths = lengths.iter().map(|length| u32::from_le_bytes(*length));
    let total: u64 = lengths.clone().filter(|length| *length != NONE).map(u64::from).sum();
    let mut rest = decoder.bytes(usize::try_from(total).ok()?)?;
    let texts = lengths.map(|length| {
        (length != NONE).then(|| {
            let (text, after) = rest.split_at(length as usize);
            rest = after;
            text
        })
    });
    Some(values.restore(column, first, texts))
}

/// Reads the number of a text column.
fn column(decoder: &mut Decoder<'_>, columns: &[usize], values: &Values) -> Option<ColumnId> {
    let index = *columns.get(usize::try_from(decoder.u32()?).ok()?)?;
    values.schema().text_columns().map(|(id, _)| id).find(|id| id.index() == index)
}

/// Writes what is known of a column beside its values.
pub(crate) fn encode_state(encoder: &mut Encoder, column: ColumnId, state: &ColumnState) {
    encoder.count(column.index());
    encoder.bool(state.is_estimated);
    encoder.option(state.late, |encoder, (records, records_max)| {
        encoder.u64(records);
        encoder.u64(records_max);
    });
    encoder.list(state.uncounted_max.iter(), |encoder, (id, records)| {
        encoder.u32(*id);
        encoder.u64(*records);
    });
}

/// Sets what [`encode_state`] has written.
pub(crate) fn decode_state(
    decoder: &mut Decoder<'_>,
    columns: &[usize],
    values: &mut Values,
) -> Option<()> {
    let column = column(decoder, columns, values)?;
    let state = ColumnState {
        is_estimated: decoder.bool()?,
        late: decoder.option(|decoder| Some((decoder.u64()?, decoder.u64()?)))?,
        uncounted_max: decoder.list(|decoder| Some((decoder.u32()?, decoder.u64()?)))?,
    };
    values.set_column_state(column, &state);
    Some(())
}
