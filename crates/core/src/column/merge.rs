//! Merging of several small segments into one.
//!
//! The columns of the parts are decoded, joined and packed again, so a merged segment is the one
//! that a reader would have made of a single block with all the lines. A column that only some
//! parts have is absent in the rows of the others. Ids of texts are those of the data set in every
//! part, and need no translation.
//!
//! Time and memory are linear in the rows and columns of all parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::codes::{ABSENT, Codes};
use super::numbers::Numbers;
use super::segment::{ColumnData, ColumnRef, Segment};
use super::times::Times;
use crate::schema::ColumnId;

impl Segment {
    /// Merges segments of one source and one kind, in order; `None` if there are no segments. A
    /// segment has a fixed cost far above that of a record, so a feed that delivers a few lines at
    /// a time should create few of them.
    ///
    /// Source and kind are those of the first part. Line offsets stay as they are, even if the
    /// blocks were not next to each other.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{Block, BlockLimits, BlockReader, Format, Segment, Values};
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let mut segment = |line: &str, offset| {
    ///     let mut block = Block::new(line.into());
    ///     block.offset = offset;
    ///     Arc::new(reader.read_segment(&block, 0, &mut values))
    /// };
    /// let parts = [segment("192.0.2.7 200\n", 0), segment("192.0.2.8 404\n", 14)];
    /// let merged = Segment::merged(&parts).unwrap();
    /// assert_eq!((merged.rows(), merged.line_offset(1)), (2, 14));
    /// assert!(Segment::merged(&[]).is_none());
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn merged(parts: &[Arc<Self>]) -> Option<Self> {
        let first = parts.first()?;
        let block_offset = parts.iter().map(|part| part.block_offset).min().unwrap_or_default();
        let line_starts = parts
            .iter()
            .flat_map(|part| (0..part.rows).map(move |row| part.line_offset(row) - block_offset));
        let line_starts: Vec<u64> = line_starts.collect();
        let ids: BTreeSet<ColumnId> =
            parts.iter().flat_map(|part| part.columns().map(|(id, _)| id)).collect();
        Some(Self {
            kind: first.kind,
            rows: parts.iter().map(|part| part.rows).sum(),
            source: first.source,
            block_offset,
            columns: ids
                .into_iter()
                .filter_map(|id| Some((id, merge_column(parts, id)?)))
                .collect(),
            line_start: Codes::pack(line_starts.iter().copied()),
        })
    }
}

/// Merges one column of all parts. Its kind is that of the first part that has it.
fn merge_column(parts: &[Arc<Segment>], id: ColumnId) -> Option<ColumnData> {
    Some(match parts.iter().find_map(|part| part.column(id))? {
        ColumnRef::Text(_) => ColumnData::Text(merge_text(parts, id)?),
        ColumnRef::Number(_) => {
            ColumnData::Number(Numbers::pack(&merge_numbers(parts, |part| part.numbers(id)))?)
        }
        ColumnRef::Time(_) => {
            let instants = merge_numbers(parts, |part| part.times().map(Times::instants));
            let offsets = merge_numbers(parts, |part| part.times().map(Times::offsets));
            ColumnData::Time(Box::new(Times::pack(&instants, &offsets)?))
        }
    })
}

/// Merges a text column. The rows of a part without it are absent.
fn merge_text(parts: &[Arc<Segment>], id: ColumnId) -> Option<Codes> {
    let mut ids = Vec::new();
    for part in parts {
        match part.text(id) {
            Some(codes) => ids.extend((0..part.rows).map(|row| codes.get(row) as u32)),
            None => ids.resize(ids.len() + part.rows, ABSENT),
        }
    }
    Codes::pack_text(&ids)
}

/// Returns the numbers of all rows, [`Numbers::ABSENT`] for a row without one.
fn merge_numbers(
    parts: &[Arc<Segment>],
    column: impl Fn(&Segment) -> Option<&Numbers>,
) -> Vec<u64> {
    let mut all = Vec::new();
    for part in parts {
        let numbers = column(part);
        let number = |row| numbers.and_then(|numbers| numbers.get(row));
        all.extend((0..part.rows).map(|row| number(row).unwrap_or(Numbers::ABSENT)));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::block::{Block, BlockLimits};
    use crate::column::Segment;
    use crate::field::Field;
    use crate::format::Format;
    use crate::read::BlockReader;
    use crate::schema::ColumnId;
    use crate::values::Values;

    /// Returns every field of every record.
    fn rows(segments: &[&Segment]) -> Vec<String> {
        let row = |segment: &Segment, row: usize| {
            let texts: Vec<u64> = (0..24)
                .map(|index| segment.text(ColumnId::new(index)).map_or(0, |codes| codes.get(row)))
                .collect();
            let numbers = Field::NUMBERS.map(|field| segment.number(field, row));
            format!("{} {texts:?} {numbers:?} {:?}", segment.line_offset(row), segment.time(row))
        };
        let all = segments.iter();
        all.flat_map(|segment| (0..segment.rows()).map(|at| row(segment, at))).collect()
    }

    proptest! {
        #[test]
        fn merged_segments_have_the_same_records(
            parts in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<(u8, bool, u8)>(), 0..20)), 1..20),
        ) {
            let mut values = Values::new(1 << 20);
            let formats = ["$remote_addr [$time_iso8601] $status $body_bytes_sent $request_time", "$remote_addr $status $body_bytes_sent $request_time"];
            let mut readers = formats.map(|text| {
                let format = Arc::new(Format::parse(text).expect("a format"));
                BlockReader::new(format, BlockLimits::default(), &mut values)
            });
            let mut segments = Vec::new();
            for (offset, lines) in parts {
                // One part in eight has another format, without a time.
                let has_time = offset % 8 != 0;
                let line = |(number, is_set, second): (u8, bool, u8)| {
                    let time = format!("[2026-11-21T0{}:00:{:02}+0{}:00] ", number % 10, second % 60, second % 3);
                    let bytes = if is_set { number.to_string() } else { "-".to_owned() };
                    format!("192.0.2.{number} {}{} {bytes} 0.{second:03}\n", if has_time { &time } else { "" }, 200 + u32::from(second % 3))
                };
                let mut block = Block::new(lines.into_iter().map(line).collect::<String>().into());
                block.offset = u64::from(offset) << 12;
                let reader = &mut readers[usize::from(!has_time)];
                let read = reader.read(&block, 3);
                prop_assert_eq!(read.unparsed_lines, 0);
                let resolved = reader.resolve(read, || &mut values);
                segments.push(Arc::new(reader.seal(resolved).into_segment()));
            }
            let merged = Segment::merged(&segments).expect("there are some");
            let parts: Vec<&Segment> = segments.iter().map(|segment| &**segment).collect();
            prop_assert_eq!(rows(&[&merged]), rows(&parts));
            let ranges = parts.iter().filter_map(|part| part.time_range_ns());
            let range = ranges.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
            prop_assert_eq!(merged.time_range_ns(), range);
            prop_assert_eq!(merged.has_untimed(), parts.iter().any(|part| part.has_untimed()));
            prop_assert_eq!(merged.source(), 3);
        }
    }

    #[test]
    fn no_segments_make_no_segment() {
        assert!(Segment::merged(&[]).is_none());
    }
}
