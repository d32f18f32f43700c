//! Filters that remember which distinct values pass.
//!
//! A log has far fewer distinct values than records, so a condition on text is decided once for
//! each value, when the value is new, and a row costs one access to an array of decisions.
//! Conditions on numbers and times become ranges of codes for each segment. So testing a row is a
//! comparison or an access, whatever the condition.

use std::ops::Range;

use super::bounds::TimeBounds;
use super::clause::{Filter, TextTest};
use super::leaf::{Leaf, Node, decide, narrow_by_any};
use crate::column::{RowBits, Segment, Selection};
use crate::schema::{ColumnId, RecordKind};
use crate::values::{DecidedIds, Values};

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
                    for column in values.schema().logged_text_columns() {
                        let known = leaf.text(column).map(|text| text.decided.clone());
                        add(column, &known.unwrap_or_default());
                    }
                }
                Leaf::Number { .. } | Leaf::Time { .. } | Leaf::TimePart { .. } => {}
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
                values.schema().logged_text_columns().any(|column| might_differ(column, test))
            }
            Leaf::Number { .. } | Leaf::Time { .. } | Leaf::TimePart { .. } => false,
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
