//! Filters that remember which distinct values pass.
//!
//! A log has far fewer distinct values than records, so a condition on text is decided once for
//! each value, when the value is new, and a row costs one access to an array of decisions.
//! Conditions on numbers and times become ranges of codes for each segment. So testing a row is a
//! comparison or an access, whatever the condition.

use std::ops::Range;

use super::bounds::TimeBounds;
use super::clause::{Clause, Filter, TextTest};
use crate::column::{ABSENT, Codes, Numbers, RowBits, Segment, Selection, Times};
use crate::schema::{ColumnId, RecordKind};
use crate::values::{DecidedIds, Dictionary, Values};

/// A filter with its decisions about the known values. A text condition is evaluated once per
/// distinct value and looked up for every row.
///
/// A filter must know the values of a segment before it is applied to it: call [`Self::refresh`]
/// after values were added. It is invalid once [`Values::reuses`] has grown. The work can be
/// divided among threads, because deciding needs shared access only:
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
    /// The conditions on fields, numbered as [`Node::Leaf`] refers to them.
    leaves: Vec<Leaf>,
    /// Joined by *and*.
    nodes: Vec<Node>,
    /// See [`Self::time_range_ns`].
    time_range_ns: (i64, i64),
}

/// A combination of conditions.
#[derive(Debug, Clone)]
enum Node {
    Leaf(usize),
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
}

/// A condition on fields.
#[derive(Debug, Clone)]
enum Leaf {
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
}

/// A condition on one text column.
#[derive(Debug, Clone)]
struct TextLeaf {
    column: ColumnId,
    test: TextTest,
    negated: bool,
    /// Whether each value passes, by dictionary id.
    passes: Vec<bool>,
    decided: DecidedIds,
}

/// Distinct values of one column for which a condition has to be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueBatch {
    leaf: usize,
    column: ColumnId,
    ids: Range<usize>,
    /// The lowest free id of the column at that time.
    first_free: usize,
}

/// The number of values in one unit of work. A slow expression takes a fraction of a millisecond
/// for them.
const BATCH_VALUES_MAX: usize = 2_048;

/// The number of values between two looks at whether the decisions are still wanted. The slowest
/// expression that is allowed takes milliseconds for one.
const VALUES_AT_ONCE: usize = 64;

impl CompiledFilter {
    /// Returns a filter that knows no values.
    pub fn new(filter: &Filter) -> Self {
        let mut leaves = Vec::new();
        let nodes = filter.clauses.iter().map(|clause| Node::new(clause, &mut leaves)).collect();
        let time_range_ns = filter.time_range_ns();
        Self { kind: filter.kind, leaves, nodes, time_range_ns }
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
        self.nodes.is_empty()
    }

    /// Returns the first and the last instant that the conditions on the time accept, in
    /// nanoseconds since 1970: the limits of `i64` where there is no condition. See
    /// [`Filter::of_time`].
    pub fn time_range_ns(&self) -> (i64, i64) {
        self.time_range_ns
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
        for own in &mut self.leaves {
            if let Some(same) = other.leaves.iter().find(|other| own.is_same(other)) {
                own.clone_from(same);
            }
        }
    }

    /// Decides about the values that were added since the last call. Must be called before
    /// [`Self::select`] for a segment with newer values.
    pub fn refresh(&mut self, values: &Values) {
        self.refresh_unless(values, &|| false);
    }

    /// Decides as [`Self::refresh`] does. Returns false if the work was abandoned, which is asked
    /// every few values; what was decided until then stays.
    pub fn refresh_unless(&mut self, values: &Values, is_abandoned: &dyn Fn() -> bool) -> bool {
        for batch in self.undecided_batches(values) {
            let Some(decisions) = self.decide_unless(values, &batch, is_abandoned) else {
                return false;
            };
            self.accept(&batch, &decisions);
        }
        true
    }

    /// Returns the work of [`Self::refresh`] in units. [`Self::decide`] may take them in any order;
    /// [`Self::accept`] must take them in this order.
    pub fn undecided_batches(&self, values: &Values) -> Vec<ValueBatch> {
        let mut batches = Vec::new();
        for (number, leaf) in self.leaves.iter().enumerate() {
            let mut add = |column, decided: &DecidedIds| {
                let dictionary = values.dictionary(column);
                let first_free = dictionary.first_free();
                for Range { start, end } in decided.undecided(dictionary) {
                    batches.extend((start..end).step_by(BATCH_VALUES_MAX).map(|at| ValueBatch {
                        leaf: number,
                        column,
                        ids: at..end.min(at + BATCH_VALUES_MAX),
                        first_free,
                    }));
                }
            };
            match leaf {
                Leaf::Text(text) => add(text.column, &text.decided),
                Leaf::AnyText { .. } => {
                    for (column, _) in values.schema().text_columns() {
                        let known = leaf.text(column).map(|text| text.decided.clone());
                        add(column, &known.unwrap_or_default());
                    }
                }
                Leaf::Number { .. } | Leaf::Time { .. } => {}
            }
        }
        batches
    }

    /// Returns whether each value of a batch passes, in the order of the batch.
    pub fn decide(&self, values: &Values, batch: &ValueBatch) -> Vec<bool> {
        self.decide_unless(values, batch, &|| false).unwrap_or_default()
    }

    /// Decides as [`Self::decide`] does, and returns `None` if the work was abandoned, which is
    /// asked every few values.
    pub fn decide_unless(
        &self,
        values: &Values,
        batch: &ValueBatch,
        is_abandoned: &dyn Fn() -> bool,
    ) -> Option<Vec<bool>> {
        let (test, negated) = match self.leaves.get(batch.leaf) {
            Some(Leaf::Text(text)) => (&text.test, text.negated),
            Some(Leaf::AnyText { test, .. }) => (test, false),
            _ => return Some(Vec::new()),
        };
        let mut decisions = Vec::with_capacity(batch.ids.len());
        for start in batch.ids.clone().step_by(VALUES_AT_ONCE) {
            if is_abandoned() {
                return None;
            }
            let ids = start..batch.ids.end.min(start + VALUES_AT_ONCE);
            decisions.extend(decide(test, negated, values.dictionary(batch.column), ids));
        }
        Some(decisions)
    }

    /// Stores the decisions of [`Self::decide`].
    pub fn accept(&mut self, batch: &ValueBatch, decisions: &[bool]) {
        let Some(leaf) = self.leaves.get_mut(batch.leaf) else { return };
        let Some(text) = leaf.text_mut(batch.column) else { return };
        if batch.ids.start > text.decided.known() || batch.first_free < text.decided.settled() {
            return;
        }
        text.passes.resize(text.passes.len().max(batch.ids.end), false);
        if let Some(passes) = text.passes.get_mut(batch.ids.clone())
            && passes.len() == decisions.len()
        {
            passes.copy_from_slice(decisions);
            text.decided.accept(&batch.ids, batch.first_free);
        }
    }

    /// Returns whether a condition might have decided differently about a value that was folded
    /// into the remainder.
    pub fn is_estimated(&self, values: &Values) -> bool {
        let might_differ = |column, test: &TextTest| {
            values.is_estimated(column) && !test.is_about_known_values(values.dictionary(column))
        };
        self.leaves.iter().any(|leaf| match leaf {
            Leaf::Text(text) => might_differ(text.column, &text.test),
            Leaf::AnyText { test, .. } => {
                values.schema().text_columns().any(|(column, _)| might_differ(column, test))
            }
            Leaf::Number { .. } | Leaf::Time { .. } => false,
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
        self.narrow_by_all(&self.nodes, segment, &mut bits);
        bits
    }

    fn narrow_by_all(&self, nodes: &[Node], segment: &Segment, bits: &mut RowBits) {
        for node in nodes {
            self.narrow(node, segment, bits);
            if bits.is_empty() {
                break;
            }
        }
    }

    fn narrow(&self, node: &Node, segment: &Segment, bits: &mut RowBits) {
        match node {
            Node::Leaf(number) => {
                if let Some(leaf) = self.leaves.get(*number) {
                    leaf.narrow(segment, bits);
                }
            }
            Node::All(nodes) => self.narrow_by_all(nodes, segment, bits),
            Node::Any(nodes) => {
                narrow_by_any(nodes, bits, |node, bits| self.narrow(node, segment, bits));
            }
            Node::Not(node) => {
                let mut excluded = bits.clone();
                self.narrow(node, segment, &mut excluded);
                *bits = bits.without(&excluded);
            }
        }
    }
}

/// Keeps the rows that pass one of several conditions. Rows that have passed one are not tested
/// again.
fn narrow_by_any<C>(conditions: &[C], bits: &mut RowBits, narrow: impl Fn(&C, &mut RowBits)) {
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
fn decide(test: &TextTest, negated: bool, dictionary: &Dictionary, ids: Range<usize>) -> Vec<bool> {
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
    fn new(clause: &Clause, leaves: &mut Vec<Leaf>) -> Self {
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
        };
        leaves.push(leaf);
        Self::Leaf(leaves.len() - 1)
    }
}

impl Leaf {
    /// Whether both make the same decisions about values of the same data set. Conditions on
    /// numbers and times have no decisions to share.
    fn is_same(&self, other: &Self) -> bool {
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
    fn text(&self, column: ColumnId) -> Option<&TextLeaf> {
        match self {
            Self::Text(text) => Some(text).filter(|text| text.column == column),
            Self::AnyText { columns, .. } => columns.iter().find(|text| text.column == column),
            Self::Number { .. } | Self::Time { .. } => None,
        }
    }

    /// The decisions about a column's values, which may be the first ones.
    fn text_mut(&mut self, column: ColumnId) -> Option<&mut TextLeaf> {
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
            Self::Number { .. } | Self::Time { .. } => None,
        }
    }

    fn narrow(&self, segment: &Segment, bits: &mut RowBits) {
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
