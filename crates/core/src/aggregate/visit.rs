//! Row values that several aggregates need, decoded once per segment.
//!
//! Every list of a question adds the same size and the same error for a row. Decoding them once for
//! each segment, into arrays in the order of the selected rows, leaves a loop for each list that
//! only reads codes and adds.
//!
//! A size is split in two: the low 24 bits, which are added together with the count in one word
//! ([`super::packed_tally`]), and the rest, which only responses of 16 MiB and more have and which
//! is kept in a short list.

use super::status::StatusClasses;
use crate::column::{Codes, Numbers, Segment, Selection};
use crate::field::Field;

/// The selected rows of a segment, and the values to add for each of them.
///
/// Memory is four bytes for each selected row, and four for each error.
#[derive(Debug, Clone, Default)]
pub(super) struct Visit {
    pub(super) selection: Selection,
    /// For each selected row, in order, the lowest [`Visit::LOW_BITS`] of the response size.
    pub(super) low_bytes: Vec<u32>,
    /// The sum of `low_bytes`.
    pub(super) low_sum: u64,
    /// The rows with larger responses, and the rest of each size.
    pub(super) large: Vec<(u32, u64)>,
    /// The rows with an error.
    pub(super) errors: Vec<u32>,
    /// The sums over all selected rows.
    pub(super) sum: Sum,
}

/// Sums over records. They cannot overflow: 2^64 records of 2^64 bytes fit.
///
/// Unlike [`super::Totals`], a sum can be subtracted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) records: u64,
    pub(super) bytes: u128,
    pub(super) errors: u64,
}

impl Sum {
    /// Adds other records.
    pub(super) fn add(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.errors += other.errors;
    }

    /// Subtracts records that were added before.
    pub(super) fn remove(&mut self, other: Self) {
        self.records -= other.records;
        self.bytes -= other.bytes;
        self.errors -= other.errors;
    }

    /// Returns the bytes, or 2^64 - 1 if there are more.
    pub(super) fn bytes_shown(&self) -> u64 {
        u64::try_from(self.bytes).unwrap_or(u64::MAX)
    }
}

impl Visit {
    /// Nearly all responses are below 16 MiB. Their sizes are added in the same word as their
    /// number.
    pub(super) const LOW_BITS: u32 = 24;
    /// The largest size that is added with the records alone.
    const LOW_MAX: u64 = (1 << Self::LOW_BITS) - 1;
    /// The bit that marks a larger response.
    const LARGE_BIT: u32 = 31;

    /// Visits the selected rows of `segment`. Replaces `classes` by their status classes, in the
    /// same order.
    pub(super) fn new(
        segment: &Segment,
        selection: Selection,
        known: &StatusClasses,
        classes: &mut Vec<u8>,
    ) -> Self {
        status_classes(segment, &selection, known, classes);
        if selection.is_empty() {
            return Self::default();
        }
        let errors = rows_where(&selection, classes, |class| StatusClasses::is_error(*class));
        let mut visit = Self { selection, errors, ..Self::default() };
        visit.read_bytes(segment);
        visit.sum.records = visit.selection.len() as u64;
        visit.sum.errors = visit.errors.len() as u64;
        visit
    }

    /// Decodes the response sizes of the selected rows. Rows without one count 0.
    fn read_bytes(&mut self, segment: &Segment) {
        let Some(bytes) = segment.numbers(Field::Bytes.column()) else {
            self.low_bytes.resize(self.selection.len(), 0);
            return;
        };
        // Large sizes are only marked here, so that the loop has no state but its output.
        gather(bytes.codes(), &self.selection, &mut self.low_bytes, |code| {
            let bytes = bytes.decode(code).unwrap_or(0);
            let mark = u32::from(bytes > Self::LOW_MAX) << Self::LARGE_BIT;
            (bytes & Self::LOW_MAX) as u32 | mark
        });
        let marks = self.low_bytes.iter().fold(0, |marks, low| marks | low) >> Self::LARGE_BIT;
        if marks > 0 {
            self.set_large_apart(bytes);
        }
        self.low_sum = self.low_bytes.iter().map(|low| u64::from(*low)).sum();
        let large: u128 = self.large.iter().map(|(_, above)| u128::from(*above)).sum();
        self.sum.bytes = u128::from(self.low_sum) + large;
    }

    /// Moves the high bits of the marked sizes into `large`.
    #[cold]
    fn set_large_apart(&mut self, bytes: &Numbers) {
        for (place, low) in self.low_bytes.iter_mut().enumerate() {
            if *low >> Self::LARGE_BIT > 0 {
                *low &= Self::LOW_MAX as u32;
                let row = match &self.selection {
                    Selection::All(_) => place as u32,
                    Selection::Rows(rows) => rows[place],
                };
                let above = bytes.get(row as usize).unwrap_or(0) & !Self::LOW_MAX;
                self.large.push((row, above));
            }
        }
    }
}

/// Returns the selected rows whose entry passes.
///
/// `entries` has an element for each selected row.
fn rows_where<T>(selection: &Selection, entries: &[T], passes: impl Fn(&T) -> bool) -> Vec<u32> {
    // Every row is written, and the next row overwrites it if it does not pass. This is faster than
    // a branch, which would often be mispredicted.
    let mut kept = vec![0; entries.len() + 1];
    let mut count = 0;
    let mut keep = |row: u32, entry: &T| {
        kept[count] = row;
        count += usize::from(passes(entry));
    };
    match selection {
        Selection::All(_) => (0..).zip(entries).for_each(|(row, entry)| keep(row, entry)),
        Selection::Rows(rows) => {
            rows.iter().zip(entries).for_each(|(row, entry)| keep(*row, entry));
        }
    }
    kept.truncate(count);
    kept
}

/// Replaces `into` by the decoded code of every selected row, in order.
///
/// The memory of `into` is reused.
#[inline]
pub(super) fn gather<U: Clone>(
    codes: &Codes,
    selection: &Selection,
    into: &mut Vec<U>,
    mut decode: impl FnMut(u64) -> U,
) {
    into.clear();
    match codes {
        Codes::Constant { code, .. } => {
            into.extend((0..selection.len()).map(|_| decode(*code)));
        }
        Codes::U8(codes) => gather_from(codes, selection, into, |code| decode(u64::from(code))),
        Codes::U16(codes) => gather_from(codes, selection, into, |code| decode(u64::from(code))),
        Codes::U32(codes) => gather_from(codes, selection, into, |code| decode(u64::from(code))),
        Codes::U64(codes) => gather_from(codes, selection, into, decode),
    }
}

/// Decodes the selected codes of one width.
#[inline]
fn gather_from<T: Copy + Default, U>(
    codes: &[T],
    selection: &Selection,
    into: &mut Vec<U>,
    mut decode: impl FnMut(T) -> U,
) {
    match selection {
        Selection::All(_) => into.extend(codes.iter().map(|code| decode(*code))),
        Selection::Rows(rows) => into.extend(rows.iter().map(|row| {
            let code = codes.get(*row as usize);
            decode(code.copied().unwrap_or_default())
        })),
    }
}

/// Replaces `classes` by the status classes of the selected rows.
pub(super) fn status_classes(
    segment: &Segment,
    selection: &Selection,
    known: &StatusClasses,
    classes: &mut Vec<u8>,
) {
    match segment.text(Field::Status.column()) {
        Some(codes) => gather(codes, selection, classes, |id| known.class(id)),
        None => {
            classes.clear();
            classes.resize(selection.len(), 0);
        }
    }
}
