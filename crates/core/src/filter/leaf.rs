//! The conditions of a compiled filter: what they have decided about values, and which rows they
//! keep.

use std::collections::HashMap;
use std::ops::Range;

use super::clause::{Clause, TextTest, passes_derived};
use crate::column::{ABSENT, Codes, Numbers, RowBits, Segment, Times};
use crate::derived::{DerivedField, DerivedInputs};
use crate::schema::ColumnId;
use crate::value::Timestamp;
use crate::values::{DecidedIds, Dictionary};

/// A combination of conditions.
#[derive(Debug, Clone)]
pub(super) enum Node {
    Leaf(usize),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
}

/// A condition on fields.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    Text(TextLeaf),
    AnyText {
        test: TextTest,
        /// The decisions by column, as far as the columns are known.
        columns: Vec<TextLeaf>,
    },
    Number {
        column: ColumnId,
        ranges: Vec<(u64, u64)>,
    },
    Time {
        first_ns: i64,
        last_ns: i64,
    },
    TimePart {
        field: DerivedField,
        test: TextTest,
        negated: bool,
    },
}

/// A condition on one text column.
#[derive(Debug, Clone)]
pub(super) struct TextLeaf {
    pub(super) column: ColumnId,
    pub(super) test: TextTest,
    pub(super) negated: bool,
    /// Whether each value passes, by dictionary id.
    pub(super) passes: Vec<bool>,
    pub(super) decided: DecidedIds,
}

/// Keeps the rows that pass one of several conditions. Rows that have passed one are not tested
/// again.
pub(super) fn narrow_by_any<C>(
    conditions: &[C],
    bits: &mut RowBits,
    narrow: impl Fn(&C, &mut RowBits),
) {
    let mut failing = bits.clone();
    for condition in conditions {
        let mut passing = failing.clone();
        narrow(condition, &mut passing);
        failing = failing.without(&passing);
        if failing.is_empty() {
            break;
        }
    }
    *bits = bits.without(&failing);
}

/// Decides about the values with these ids. Those without a known value are the absent value and
/// the remainder; they are not equal to any value.
pub(super) fn decide(
    test: &TextTest,
    negated: bool,
    dictionary: &Dictionary,
    ids: Range<usize>,
) -> Vec<bool> {
    if let TextTest::OneOf(candidates) = test {
        // Looking up the few values is faster than comparing every value with them.
        let mut passes = vec![negated; ids.len()];
        for id in candidates.iter().filter_map(|value| dictionary.find(value)) {
            let place = (id as usize).checked_sub(ids.start);
            if let Some(passes) = place.and_then(|place| passes.get_mut(place)) {
                *passes = !negated;
            }
        }
        return passes;
    }
    let accepts_remainder = test.is_about_any_value();
    let is_it = |id: usize| match dictionary.value(id as u32) {
        Some(value) => test.passes(value),
        None => accepts_remainder && id != ABSENT as usize,
    };
    ids.map(|id| is_it(id) != negated).collect()
}

impl TextLeaf {
    fn new(column: ColumnId, test: TextTest, negated: bool) -> Self {
        Self { column, test, negated, passes: Vec::new(), decided: DecidedIds::default() }
    }

    fn narrow(&self, segment: &Segment, bits: &mut RowBits) {
        let passes = |code: usize| self.passes.get(code).copied().unwrap_or(false);
        match segment.text(self.column) {
            Some(Codes::Constant { code, .. }) if passes(*code as usize) => {}
            Some(Codes::Constant { .. }) => *bits = RowBits::none(segment.rows()),
            Some(Codes::U8(codes)) => bits.narrow(codes, |code| passes(usize::from(code))),
            Some(Codes::U16(codes)) => bits.narrow(codes, |code| passes(usize::from(code))),
            Some(Codes::U32(codes)) => bits.narrow(codes, |code| passes(code as usize)),
            Some(Codes::U64(codes)) => bits.narrow(codes, |code| passes(code as usize)),
            None if self.negated => {}
            None => *bits = RowBits::none(segment.rows()),
        }
    }
}

impl Node {
    /// Copies a clause; its conditions on fields are added to `leaves`.
    pub(super) fn new(clause: &Clause, leaves: &mut Vec<Leaf>) -> Self {
        let mut all = |clauses: &[Clause]| {
            clauses.iter().map(|clause| Self::new(clause, leaves)).collect::<Vec<_>>()
        };
        let leaf = match clause {
            Clause::All(clauses) => return Self::All(all(clauses)),
            Clause::Any(clauses) => return Self::Any(all(clauses)),
            Clause::Not(clause) => return Self::Not(Box::new(Self::new(clause, leaves))),
            Clause::Text { column, test, negated } => {
                Leaf::Text(TextLeaf::new(*column, test.clone(), *negated))
            }
            Clause::AnyText(test) => Leaf::AnyText { test: test.clone(), columns: Vec::new() },
            Clause::Number { column, ranges } => {
                Leaf::Number { column: *column, ranges: ranges.clone() }
            }
            Clause::Time { first_ns, last_ns } => {
                Leaf::Time { first_ns: *first_ns, last_ns: *last_ns }
            }
            Clause::TimePart { field, test, negated } => {
                Leaf::TimePart { field: field.clone(), test: test.clone(), negated: *negated }
            }
        };
        leaves.push(leaf);
        Self::Leaf(leaves.len() - 1)
    }
}

impl Leaf {
    /// Whether both make the same decisions about values of the same data set. Conditions on
    /// numbers and times have no decisions to share.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(own), Self::Text(other)) => {
                own.column == other.column
                    && own.negated == other.negated
                    && own.test.is_same(&other.test)
            }
            (Self::AnyText { test, .. }, Self::AnyText { test: other, .. }) => test.is_same(other),
            _ => false,
        }
    }

    /// The decisions about a column's values.
    pub(super) fn text(&self, column: ColumnId) -> Option<&TextLeaf> {
        match self {
            Self::Text(text) => Some(text).filter(|text| text.column == column),
            Self::AnyText { columns, .. } => columns.iter().find(|text| text.column == column),
            Self::Number { .. } | Self::Time { .. } | Self::TimePart { .. } => None,
        }
    }

    /// The decisions about a column's values, which may be the first ones.
    pub(super) fn text_mut(&mut self, column: ColumnId) -> Option<&mut TextLeaf> {
        match self {
            Self::Text(text) => Some(text).filter(|text| text.column == column),
            Self::AnyText { test, columns } => {
                let place = columns.iter().position(|text| text.column == column);
                let place = place.unwrap_or_else(|| {
                    columns.push(TextLeaf::new(column, test.clone(), false));
                    columns.len() - 1
                });
                columns.get_mut(place)
            }
            Self::Number { .. } | Self::Time { .. } | Self::TimePart { .. } => None,
        }
    }

    pub(super) fn narrow(&self, segment: &Segment, bits: &mut RowBits) {
        match self {
            Self::Text(text) => text.narrow(segment, bits),
            Self::AnyText { columns, .. } => {
                narrow_by_any(columns, bits, |text, bits| text.narrow(segment, bits));
            }
            Self::Number { column, ranges } => {
                narrow_by_number(segment.numbers(*column), ranges, segment.rows(), bits);
            }
            Self::Time { first_ns, last_ns } => {
                let range = segment.time_range_ns();
                if range.is_some_and(|(first, last)| last < *first_ns || first > *last_ns) {
                    *bits = RowBits::none(segment.rows());
                } else if range.is_none_or(|(first, last)| first < *first_ns || last > *last_ns)
                    || segment.has_untimed()
                {
                    let range = (Times::encode_instant(*first_ns), Times::encode_instant(*last_ns));
                    let times = segment.times().map(Times::instants);
                    narrow_by_number(times, &[range], segment.rows(), bits);
                }
            }
            Self::TimePart { field, test, negated } => {
                narrow_by_time_part(segment, bits, *negated, field, |time| {
                    passes_derived(field, test, &DerivedInputs::default().at(field.rounded(time)))
                });
            }
        }
    }
}

/// Keeps the rows whose time passes, which is asked once for all times with the same derived values.
fn narrow_by_time_part(
    segment: &Segment,
    bits: &mut RowBits,
    negated: bool,
    field: &DerivedField,
    passes: impl Fn(Timestamp) -> bool,
) {
    let mut known = HashMap::new();
    let mut last = None;
    let mut passes_at = |time: Timestamp| {
        let key = field.time_key(time);
        let is_it = match last {
            Some((last, is_it)) if last == key => is_it,
            _ => *known.entry(key).or_insert_with(|| passes(time)),
        };
        last = Some((key, is_it));
        is_it
    };
    let times = segment.times();
    let time = |row: usize| times.and_then(|times| times.get(row));
    let rows: Vec<bool> =
        (0..segment.rows()).map(|row| time(row).is_some_and(&mut passes_at) != negated).collect();
    bits.narrow(&rows, |passes| passes);
}

/// Keeps the rows whose number is in one of the ranges.
fn narrow_by_number(
    numbers: Option<&Numbers>,
    ranges: &[(u64, u64)],
    rows: usize,
    bits: &mut RowBits,
) {
    let Some(numbers) = numbers else {
        *bits = RowBits::none(rows);
        return;
    };
    let ranges: Vec<(u64, u64)> =
        ranges.iter().filter_map(|(min, max)| numbers.code_range(*min, *max)).collect();
    match ranges[..] {
        [] => *bits = RowBits::none(rows),
        [(min, max)] => narrow_by_range(numbers.codes(), min, max, bits),
        _ => narrow_by_ranges(numbers.codes(), &ranges, bits),
    }
}

/// Keeps the rows whose code is in one range, with one comparison and no branch: subtracting the
/// minimum wraps smaller codes to very large ones.
fn narrow_by_range(codes: &Codes, min: u64, max: u64, bits: &mut RowBits) {
    let widest = match codes {
        Codes::U8(_) => u64::from(u8::MAX),
        Codes::U16(_) => u64::from(u16::MAX),
        Codes::U32(_) => u64::from(u32::MAX),
        Codes::Constant { .. } | Codes::U64(_) => u64::MAX,
    };
    if min > widest {
        *bits = RowBits::none(codes.rows());
        return;
    }
    let max = max.min(widest);
    match codes {
        Codes::Constant { code, .. } if (min..=max).contains(code) => {}
        Codes::Constant { .. } => *bits = RowBits::none(codes.rows()),
        Codes::U8(codes) => {
            let (min, span) = (min as u8, (max - min) as u8);
            bits.narrow(codes, |code| code.wrapping_sub(min) <= span);
        }
        Codes::U16(codes) => {
            let (min, span) = (min as u16, (max - min) as u16);
            bits.narrow(codes, |code| code.wrapping_sub(min) <= span);
        }
        Codes::U32(codes) => {
            let (min, span) = (min as u32, (max - min) as u32);
            bits.narrow(codes, |code| code.wrapping_sub(min) <= span);
        }
        Codes::U64(codes) => bits.narrow(codes, |code| code.wrapping_sub(min) <= max - min),
    }
}

fn narrow_by_ranges(codes: &Codes, ranges: &[(u64, u64)], bits: &mut RowBits) {
    let passes = |code: u64| ranges.iter().any(|(min, max)| (*min..=*max).contains(&code));
    match codes {
        Codes::Constant { code, .. } if passes(*code) => {}
        Codes::Constant { .. } => *bits = RowBits::none(codes.rows()),
        Codes::U8(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
        Codes::U16(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
        Codes::U32(codes) => bits.narrow(codes, |code| passes(u64::from(code))),
        Codes::U64(codes) => bits.narrow(codes, passes),
    }
}
