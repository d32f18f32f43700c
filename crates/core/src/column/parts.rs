//! Columns and segments made of their parts, as a file stores them.
//!
//! Each constructor checks what the code that reads columns relies on, so a file that was made to
//! harm is refused here. Most checks look at the width of an array and not at its rows: codes of
//! eight bits are below 256.

use super::codes::Codes;
use super::numbers::Numbers;
use super::segment::{ColumnData, Segment};
use super::selection::Selection;
use super::times::Times;
use crate::field::ColumnKind;
use crate::schema::{ColumnId, RecordKind};

/// A segment as plain data, see [`Segment::of_parts`].
#[derive(Debug, Clone)]
pub struct SegmentParts {
    /// See [`Segment::kind`].
    pub kind: RecordKind,
    /// See [`Segment::source`].
    pub source: u32,
    /// The offset of the block in its source.
    pub block_offset: u64,
    /// The number of records.
    pub rows: usize,
    /// The offsets of the lines from that of the block.
    pub line_starts: Codes,
    /// The columns, by their number in the schema, ascending.
    pub columns: Vec<(usize, ColumnParts)>,
}

/// A column as plain data.
#[derive(Debug, Clone)]
pub enum ColumnParts {
    /// Ids of texts.
    Text(Codes),
    /// Numbers, see [`Numbers::of_parts`].
    Number(Numbers),
    /// Times, see [`Times::of_parts`].
    Time(Times),
}

/// An upper bound of the codes that takes a look at the rows only if their width is not enough.
fn is_below(codes: &Codes, limit: u64) -> bool {
    let widest = match codes {
        Codes::Constant { code, .. } => return *code < limit,
        Codes::U8(_) => u64::from(u8::MAX),
        Codes::U16(_) => u64::from(u16::MAX),
        Codes::U32(_) => u64::from(u32::MAX),
        Codes::U64(_) => u64::MAX,
    };
    widest < limit || codes.max() < limit
}

impl Numbers {
    /// Returns the smallest number, from which codes count.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns numbers of which code `n` stands for `base + (n - 1) * unit`, and 0 for an absent
    /// one. `None` if such a number does not fit in 64 bits, or if the unit is not one that
    /// [`Self::unit`] returns.
    pub fn of_parts(base: u64, unit: u64, codes: Codes) -> Option<Self> {
        // A number of u64::MAX stands for an absent one elsewhere.
        let room = (Self::ABSENT - 1).checked_sub(base)?;
        let is_unit = Self::UNITS.contains(&unit);
        let is_absent = matches!(codes, Codes::Constant { code: 0, .. }) || codes.rows() == 0;
        let limit = (room.checked_div(unit)?).saturating_add(2);
        (is_unit && !is_absent && is_below(&codes, limit)).then_some(Self { base, unit, codes })
    }
}

impl Times {
    /// Returns times from encoded instants and offsets; `None` if they have not the same number of
    /// rows, if no row has an instant, or if a zone is more than a day from UTC.
    pub fn of_parts(instants: Numbers, offsets: Numbers) -> Option<Self> {
        let rows = instants.codes().rows();
        let all = Selection::All(rows);
        let (first, last) = instants.range(&all)?;
        let (west, east) = offsets.range(&all)?;
        let is_zone = west <= east && east <= Self::encode_offset(86_400);
        // Packed columns rely on instants being less than 2^64 - 1 apart.
        let is_apart = last - first < u64::MAX;
        let range_ns = (Self::decode_instant(first), Self::decode_instant(last));
        (offsets.codes().rows() == rows && is_zone && is_apart).then_some(Self {
            instants,
            offsets,
            range_ns,
        })
    }
}

impl Segment {
    /// Returns the offset of the block in its source.
    pub fn block_offset(&self) -> u64 {
        self.block_offset
    }

    /// Returns the offsets of the lines from [`Self::block_offset`].
    pub fn line_starts(&self) -> &Codes {
        &self.line_start
    }

    /// Returns the segment that consists of these parts; `None` if they do not fit each other. `known`
    /// returns the id of a column by its number, its kind, and an end of the ids of its texts.
    pub(crate) fn of_known_parts(
        parts: SegmentParts,
        known: impl Fn(usize) -> Option<(ColumnId, ColumnKind, usize)>,
    ) -> Option<Self> {
        let SegmentParts { kind, source, block_offset, rows, line_starts, columns } = parts;
        let has_room = is_below(&line_starts, u64::MAX - block_offset);
        // No two lines begin at the same place. So rows take memory, which bounds their number.
        let are_lines = rows == 1 || !matches!(line_starts, Codes::Constant { .. });
        if rows == 0
            || !are_lines
            || rows > u32::MAX as usize
            || line_starts.rows() != rows
            || !has_room
        {
            return None;
        }
        let mut own: Vec<(ColumnId, ColumnData)> = Vec::with_capacity(columns.len());
        for (index, column) in columns {
            let is_next = own.last().is_none_or(|(last, _)| last.index() < index);
            let (id, kind, ids) = known(index)?;
            let data = column.check(rows, kind, ids)?;
            own.push((id, is_next.then_some(data)?));
        }
        let line_start = line_starts;
        Some(Self { kind, rows, source, block_offset, columns: own, line_start })
    }
}

impl ColumnParts {
    /// The column of a segment, if it has this number of rows, this kind, and ids below `ids`.
    fn check(self, rows: usize, kind: ColumnKind, ids: usize) -> Option<ColumnData> {
        let (data, own_rows) = match (self, kind) {
            (Self::Text(codes), ColumnKind::Text) => {
                let is_known = is_below(&codes, ids as u64) && !matches!(codes, Codes::U64(_));
                let rows = codes.rows();
                (ColumnData::Text(is_known.then_some(codes)?), rows)
            }
            (Self::Number(numbers), ColumnKind::Number(_)) => {
                let rows = numbers.codes().rows();
                (ColumnData::Number(numbers), rows)
            }
            (Self::Time(times), ColumnKind::Time) => {
                let rows = times.instants().codes().rows();
                (ColumnData::Time(Box::new(times)), rows)
            }
            _ => return None,
        };
        (own_rows == rows).then_some(data)
    }
}

#[cfg(test)]
mod tests {
    use super::{Codes, ColumnParts, Numbers, Segment, SegmentParts, Times};
    use crate::field::Field;
    use crate::schema::RecordKind;
    use crate::values::Values;

    fn constant(code: u64) -> Codes {
        Codes::Constant { code, rows: 3 }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(Numbers::of_parts(5, 1_000, constant(3)).unwrap().get(0), Some(2_005));
        assert!(Numbers::of_parts(5, 7, constant(3)).is_none(), "not a unit");
        assert!(Numbers::of_parts(5, 0, constant(3)).is_none());
        assert!(Numbers::of_parts(5, 1, constant(0)).is_none(), "no row has one");
        assert!(Numbers::of_parts(u64::MAX, 1, constant(1)).is_none());
        let most = Numbers::of_parts(u64::MAX - 1, 1, constant(1)).unwrap();
        assert_eq!(most.get(2), Some(u64::MAX - 1));
        assert!(Numbers::of_parts(u64::MAX - 1, 1, constant(2)).is_none());
        let wide = Codes::U16(vec![1, 300].into());
        assert!(Numbers::of_parts(u64::MAX - 299, 1, wide.clone()).is_none());
        assert!(Numbers::of_parts(u64::MAX - 300, 1, wide).is_some(), "the rows are looked at");
    }

    #[test]
    fn times_and_offsets_belong_together() {
        let numbers = |base: u64| Numbers::of_parts(base, 1, constant(1)).unwrap();
        let (instant, offset) = (Times::encode_instant(0), Times::encode_offset(3_600));
        let times = Times::of_parts(numbers(instant), numbers(offset)).unwrap();
        assert_eq!(times.get(1).unwrap().offset_s, 3_600);
        let far = Times::encode_offset(90_000);
        assert!(Times::of_parts(numbers(instant), numbers(far)).is_none());
        let two = Numbers::of_parts(offset, 1, Codes::U8(vec![1, 1].into())).unwrap();
        assert!(Times::of_parts(numbers(instant), two).is_none());
        let none = Numbers::of_parts(offset, 1, Codes::U8(vec![0, 0, 0].into())).unwrap();
        assert!(Times::of_parts(numbers(instant), none).is_none());
    }

    #[test]
    fn segments_are_checked_against_the_values() {
        let mut values = Values::new(1 << 20);
        let id = u64::from(values.intern(Field::Client.column(), b"192.0.2.1"));
        let of = |columns: Vec<(usize, ColumnParts)>, line_starts: Codes| {
            let kind = RecordKind::Request;
            let parts =
                SegmentParts { kind, source: 0, block_offset: 9, rows: 3, line_starts, columns };
            Segment::of_parts(parts, &values)
        };
        let client = Field::Client.column().index();
        let lines = || Codes::U8(vec![0, 10, 20].into());
        let text = |code| ColumnParts::Text(constant(code));
        assert!(of(vec![(client, text(id))], lines()).is_some());
        assert!(of(vec![(client, text(id + 1))], lines()).is_none(), "no such value");
        assert!(of(vec![(client, text(id)); 2], lines()).is_none(), "twice");
        assert!(of(vec![(999, text(id))], lines()).is_none(), "no such column");
        assert!(of(vec![(Field::Bytes.column().index(), text(0))], lines()).is_none());
        assert!(of(vec![], constant(5)).is_none(), "all at one place");
        let far = Codes::U64(vec![0, 1, u64::MAX - 5].into());
        assert!(of(vec![], far).is_none(), "beyond all offsets");
        assert!(of(vec![], Codes::U8(vec![0].into())).is_none(), "too few lines");
        let number = Numbers::of_parts(0, 1, Codes::Constant { code: 1, rows: 4 }).unwrap();
        let bytes = (Field::Bytes.column().index(), ColumnParts::Number(number));
        assert!(of(vec![bytes], lines()).is_none(), "too many rows");
    }
}
