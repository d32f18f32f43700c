//! Filters that remember which distinct values pass.
//!
//! A log has far fewer distinct values than records, so a condition on text is decided once for
//! each value, when the value is new, and a row costs one access to an array of decisions.
//! Conditions on numbers and times become ranges of codes for each segment. So testing a row is a
//! comparison or an access, whatever the condition.

use std::ops::Range;

use super::bounds::TimeBounds;
use super::clause::{Clause, Filter, TextTest};
use crate::column::{Codes, Numbers, RowBits, Segment, Selection, Times};
use crate::schema::{ColumnId, RecordKind};
use crate::values::Values;

/// A filter with its decisions about the known values. A text condition is evaluated once per
/// distinct value and looked up for every row.
///
/// A filter must know the values of a segment before it is applied to it: call [`Self::refresh`]
/// after values were added. The work can be divided among threads, because deciding needs shared
/// access only:
///
/// ```
/// use weir_core::{Clause, CompiledFilter, Field, Filter, TextTest, Values};
///
/// let mut values = Values::new(1 << 20);
/// let path = Field::Path.column();
/// [&b"/a"[..], b"/b"].map(|value| values.intern(path, value));
///
/// let test = TextTest::matches("^/a")?;
/// let filter = Filter::of(vec![Clause::text(&values, "path", test, false)?]);
/// let mut compiled = CompiledFilter::new(&filter);
/// for batch in compiled.undecided_batches(&values) {
///     let decisions = compiled.decide(&values, &batch); // on any thread
///     compiled.accept(&batch, &decisions); // in the order of the batches
/// }
/// assert!(compiled.undecided_batches(&values).is_empty());
/// # Ok::<(), weir_core::ClauseError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompiledFilter {
    kind: Option<RecordKind>,
    clauses: Vec<Compiled>,
}

#[derive(Debug, Clone)]
enum Compiled {
    Text(TextClause),
    Number { column: ColumnId, ranges: Vec<(u64, u64)> },
    Time { first_ns: i64, last_ns: i64 },
}

#[derive(Debug, Clone)]
struct TextClause {
    column: ColumnId,
    test: TextTest,
    negated: bool,
    /// Whether each value passes, by dictionary id.
    passes: Vec<bool>,
}

/// Distinct values of one column for which a clause has to be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueBatch {
    clause: usize,
    ids: Range<usize>,
}

/// The number of values in one unit of work. A slow expression takes a fraction of a millisecond
/// for them.
const BATCH_VALUES_MAX: usize = 2_048;

impl CompiledFilter {
    /// Returns a filter that knows no values.
    pub fn new(filter: &Filter) -> Self {
        let clauses = filter.clauses.iter().cloned().map(Compiled::new).collect();
        Self { kind: filter.kind, clauses }
    }

    /// Returns whether the filter has no clauses, so that every row of its kind passes.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{CompiledFilter, Filter};
    ///
    /// assert!(CompiledFilter::new(&Filter::default()).is_unconditional());
    /// ```
    pub fn is_unconditional(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Copies the decisions of another filter of the same data set for the conditions that both
    /// have.
    ///
    /// A changed filter that keeps most of its conditions then has little left to decide:
    ///
    /// ```
    /// use weir_core::{Clause, CompiledFilter, Field, Filter, TextTest, Values};
    ///
    /// let mut values = Values::new(1 << 20);
    /// values.intern(Field::Path.column(), b"/login.php");
    /// let clause = Clause::text(&values, "path", TextTest::matches("php$")?, false)?;
    /// let mut known = CompiledFilter::new(&Filter::of(vec![clause.clone()]));
    /// known.refresh(&values);
    ///
    /// let mut changed = CompiledFilter::new(&Filter::of(vec![clause]));
    /// assert!(!changed.undecided_batches(&values).is_empty());
    /// changed.adopt(&known);
    /// assert!(changed.undecided_batches(&values).is_empty());
    /// # Ok::<(), weir_core::ClauseError>(())
    /// ```
    pub fn adopt(&mut self, other: &Self) {
        let known = || other.clauses.iter().filter_map(Compiled::text);
        for own in self.clauses.iter_mut().filter_map(Compiled::text_mut) {
            if let Some(same) = known().find(|other| own.is_same(other)) {
                own.passes.clone_from(&same.passes);
            }
        }
    }

    /// Decides about the values that were added since the last call. Must be called before
    /// [`Self::select`] for a segment with newer values.
    pub fn refresh(&mut self, values: &Values) {
        for batch in self.undecided_batches(values) {
            let decisions = self.decide(values, &batch);
            self.accept(&batch, &decisions);
        }
    }

    /// Returns the work of [`Self::refresh`] in units. [`Self::decide`] may take them in any order;
    /// [`Self::accept`] must take them in this order.
    pub fn undecided_batches(&self, values: &Values) -> Vec<ValueBatch> {
        let mut batches = Vec::new();
        for (clause, compiled) in self.clauses.iter().enumerate() {
            let Some(text) = compiled.text() else { continue };
            let ids = values.dictionary(text.column).ids();
            let starts = (text.passes.len()..ids).step_by(BATCH_VALUES_MAX);
            batches.extend(
                starts.map(|at| ValueBatch { clause, ids: at..ids.min(at + BATCH_VALUES_MAX) }),
            );
        }
        batches
    }

    /// Returns whether each value of a batch passes, in the order of the batch.
    pub fn decide(&self, values: &Values, batch: &ValueBatch) -> Vec<bool> {
        let text = self.clauses.get(batch.clause).and_then(Compiled::text);
        text.map(|text| text.decide(values, batch.ids.clone())).unwrap_or_default()
    }

    /// Stores the decisions of [`Self::decide`].
    pub fn accept(&mut self, batch: &ValueBatch, decisions: &[bool]) {
        let text = self.clauses.get_mut(batch.clause).and_then(Compiled::text_mut);
        if let Some(text) = text.filter(|text| text.passes.len() == batch.ids.start) {
            text.passes.extend_from_slice(decisions);
        }
    }

    /// Returns whether a condition might have decided differently about a value that was folded
    /// into the remainder.
    pub fn is_estimated(&self, values: &Values) -> bool {
        self.clauses.iter().filter_map(Compiled::text).any(|text| {
            values.is_estimated(text.column)
                && !text.test.is_about_known_values(values.dictionary(text.column))
        })
    }

    /// Returns the rows of a segment that pass.
    ///
    /// In ascending order, or [`Selection::All`] if all do.
    pub fn select(&self, segment: &Segment) -> Selection {
        self.pass(segment).selection()
    }

    /// Returns the rows of a segment that pass, as bits.
    ///
    /// Values that the filter has not decided about do not pass.
    pub fn pass(&self, segment: &Segment) -> RowBits {
        self.pass_within(segment, &TimeBounds::ALL)
    }

    /// Returns the rows of a segment that pass and lie within the bounds, as bits.
    pub fn pass_within(&self, segment: &Segment, bounds: &TimeBounds) -> RowBits {
        if self.kind.is_some_and(|kind| kind != segment.kind()) {
            return RowBits::none(segment.rows());
        }
        let mut bits = bounds.rows(segment);
        for clause in &self.clauses {
            clause.narrow(segment, &mut bits);
            if bits.is_empty() {
                break;
            }
        }
        bits
    }
}

impl TextClause {
    fn is_same(&self, other: &Self) -> bool {
        self.column == other.column
            && self.negated == other.negated
            && self.test.is_same(&other.test)
    }

    fn decide(&self, values: &Values, ids: Range<usize>) -> Vec<bool> {
        let dictionary = values.dictionary(self.column);
        if let TextTest::OneOf(candidates) = &self.test {
            // Looking up the few values is faster than comparing every value with them.
            let mut passes = vec![self.negated; ids.len()];
            for id in candidates.iter().filter_map(|value| dictionary.find(value)) {
                let place = (id as usize).checked_sub(ids.start);
                if let Some(passes) = place.and_then(|place| passes.get_mut(place)) {
                    *passes = !self.negated;
                }
            }
            return passes;
        }
        // The absent value and the remainder are not equal to any value.
        let is_it =
            |id: usize| dictionary.value(id as u32).is_some_and(|value| self.test.passes(value));
        ids.map(|id| is_it(id) != self.negated).collect()
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

impl Compiled {
    fn new(clause: Clause) -> Self {
        match clause {
            Clause::Text { column, test, negated } => {
                Self::Text(TextClause { column, test, negated, passes: Vec::new() })
            }
            Clause::Number { column, ranges } => Self::Number { column, ranges },
            Clause::Time { first_ns, last_ns } => Self::Time { first_ns, last_ns },
        }
    }

    fn text(&self) -> Option<&TextClause> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn text_mut(&mut self) -> Option<&mut TextClause> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn narrow(&self, segment: &Segment, bits: &mut RowBits) {
        match self {
            Self::Text(text) => text.narrow(segment, bits),
            Self::Number { column, ranges } => {
                narrow_by_number(segment.numbers(*column), ranges, segment.rows(), bits);
            }
            Self::Time { first_ns, last_ns } => {
                let range = segment.time_range_ns();
                if range.is_some_and(|(first, last)| last < *first_ns || first > *last_ns) {
                    *bits = RowBits::none(segment.rows());
                } else {
                    // Even if the whole range passes, some records may have no time.
                    let range = (Times::encode_instant(*first_ns), Times::encode_instant(*last_ns));
                    let times = segment.times().map(Times::instants);
                    narrow_by_number(times, &[range], segment.rows(), bits);
                }
            }
        }
    }
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
