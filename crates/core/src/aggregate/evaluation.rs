//! All aggregates of one question.
//!
//! An evaluation is the mutable state behind an answer, and a [`Fold`]: it compiles the question's
//! filter, learns new values as the data set grows, and adds up segments. For each segment it
//! selects the rows once, decodes status and size of the selected rows once, and hands both to
//! every aggregate ([`Visit`]).
//!
//! Time for a segment is in proportion to the rows that pass and the aggregates that were asked
//! for, plus the columns that the filter tests. A filter on text is tested for each distinct value
//! and then only looked up.

use super::fold::Fold;
use super::grouping::GroupTable;
use super::histogram::Histogram;
use super::quantiles::Quantiles;
use super::question::{Aggregates, Question, Stack};
use super::status::StatusClasses;
use super::top_list::TopList;
use super::totals::Totals;
use super::visit::{Visit, gather};
use crate::column::{RowBits, Segment, Selection};
use crate::filter::{CompiledFilter, TimeBounds};
use crate::schema::ColumnId;
use crate::value::Zone;
use crate::values::Values;

/// The answer to a question over the segments added so far.
///
/// For each segment, call [`Self::refresh`] while the values that the segment refers to are
/// accessible, then [`Self::update`], which needs only the segment. [`Recount`](super::Recount)
/// answers over many segments at once, on several threads, or from the answer to another question.
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Evaluation, Field, Fold, Format, Question, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 200\n192.0.2.7 404\n192.0.2.8 200\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let mut evaluation = Evaluation::new(&Question::default());
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
/// assert_eq!((evaluation.totals().records, evaluation.totals().errors), (3, 1));
///
/// let client = Field::Client.column();
/// let clients = evaluation.top_list(client).unwrap();
/// let top = clients.top(1, values.dictionary(client));
/// assert_eq!(values.dictionary(client).value(top[0]), Some(&b"192.0.2.7"[..]));
/// assert_eq!(clients.tally(top[0]).count, 2);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
///
/// # Limits of the answer
///
/// The lists count the values by id, and so belong to one data set and to one epoch of its ids
/// ([`Values::reuses`]).
///
/// # Examples
///
/// With a filter, and only the totals:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Aggregates, Block, BlockLimits, BlockReader, Clause, Evaluation, Filter, Fold, Format,
///     Question, TextTest, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status $body_bytes_sent")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let lines = "::1 200 10\n::2 200 20\n::1 404 30\n";
/// let segment = reader.read_segment(&Block::new(lines.into()), 0, &mut values);
///
/// let client = Clause::text(&values, "client", TextTest::Prefix(b"::1".to_vec()), false)?;
/// let mut evaluation = Evaluation::new(&Question {
///     filter: Filter::of(vec![client]),
///     aggregates: Aggregates::none(),
///     ..Question::default()
/// });
/// evaluation.refresh(&values);
/// evaluation.update(&segment);
/// let totals = evaluation.totals();
/// assert_eq!((totals.records, totals.bytes_sent, totals.errors), (2, 40, 1));
/// assert!(evaluation.histogram().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluation {
    pub(super) filter: CompiledFilter,
    pub(super) zone: Option<Zone>,
    pub(super) buckets_max: usize,
    pub(super) step_s: Option<u64>,
    pub(super) stack: Stack,
    pub(super) aggregates: Aggregates,
    pub(super) classes: StatusClasses,
    /// The number of known distinct values, by column.
    pub(super) ids: Vec<usize>,
    pub(super) totals: Totals,
    pub(super) histogram: Option<Histogram>,
    /// By column.
    pub(super) top_lists: Vec<TopList>,
    /// By number column.
    pub(super) quantiles: Vec<(ColumnId, Quantiles)>,
    pub(super) groups: Option<GroupTable>,
}

/// The most counts of a histogram whose step is given, at 8 bytes each: a year of minutes of the six status
/// classes.
const COUNTS_MAX: usize = 1 << 22;

impl Evaluation {
    /// Returns an evaluation that has counted no records.
    ///
    /// Call [`Fold::refresh`] before the first segment.
    pub fn new(question: &Question) -> Self {
        Self {
            filter: CompiledFilter::new(&question.filter),
            zone: question.zone.clone(),
            buckets_max: question.buckets_max,
            step_s: question.step_s,
            stack: question.stack,
            aggregates: question.aggregates.clone(),
            classes: StatusClasses::default(),
            ids: Vec::new(),
            totals: Totals::default(),
            histogram: None,
            top_lists: Vec::new(),
            quantiles: no_quantiles(&question.aggregates),
            groups: question.aggregates.groups.as_ref().map(GroupTable::new),
        }
    }

    /// Returns the filter of the question.
    pub fn filter(&self) -> &CompiledFilter {
        &self.filter
    }

    /// Returns the filter for changes, so that it can be refreshed without [`Self::refresh`].
    pub fn filter_mut(&mut self) -> &mut CompiledFilter {
        &mut self.filter
    }

    /// Returns whether the filter could not test every value because the memory limit was reached.
    /// If so, every number of the answer is an estimate.
    ///
    /// Values that were folded into the remainder are not known, so a test on their column cannot
    /// accept or refuse them one by one.
    pub fn is_filter_estimated(&self, values: &Values) -> bool {
        self.filter.is_estimated(values)
    }

    /// Returns an evaluation of another question about the same data set that has counted
    /// nothing, but has learned the values that this one has.
    pub(super) fn with_question(&self, question: &Question) -> Self {
        let mut evaluation = Self::new(question);
        evaluation.filter.adopt(&self.filter);
        evaluation.classes.clone_from(&self.classes);
        evaluation.ids.clone_from(&self.ids);
        if evaluation.zone.is_none() {
            evaluation.zone.clone_from(&self.zone);
        }
        evaluation
    }

    /// Returns the answer to the question without its lists and quantiles: totals and counts over
    /// time.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{Evaluation, Field, Fold, Question, Values};
    ///
    /// let mut evaluation = Evaluation::new(&Question::default());
    /// evaluation.refresh(&Values::new(0));
    /// let over_time = evaluation.over_time();
    /// assert_eq!(over_time.totals(), evaluation.totals());
    /// assert!(over_time.quantiles(Field::RequestTime.column()).is_none());
    /// ```
    #[must_use]
    pub fn over_time(&self) -> Self {
        Self {
            filter: self.filter.clone(),
            zone: self.zone.clone(),
            buckets_max: self.buckets_max,
            step_s: self.step_s,
            stack: self.stack,
            aggregates: Aggregates { histogram: self.aggregates.histogram, ..Aggregates::none() },
            classes: self.classes.clone(),
            ids: self.ids.clone(),
            totals: self.totals.clone(),
            histogram: self.histogram.clone(),
            top_lists: Vec::new(),
            quantiles: Vec::new(),
            groups: None,
        }
    }

    /// Returns the rows of a segment that pass the filter.
    ///
    /// [`Fold::refresh`] must have seen the values of the segment.
    pub fn pass(&self, segment: &Segment) -> RowBits {
        self.filter.pass(segment)
    }

    /// Returns the rows of a segment that pass the filter and lie within the bounds.
    ///
    /// Use it for segments of a snapshot, some rows of which may have expired.
    pub fn pass_within(&self, segment: &Segment, bounds: &TimeBounds) -> RowBits {
        self.filter.pass_within(segment, bounds)
    }

    /// Returns the sums over the records.
    ///
    /// Always computed. Zero before the first segment.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the counts over time. `None` if no record had a time, or if the question did not ask
    /// for them.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// Returns the property that divides the histogram's buckets into groups.
    pub fn stack(&self) -> Stack {
        self.stack
    }

    /// Returns the zone in which times are shown. `None` before the first record with a time.
    ///
    /// The question's, or the offset of the first record of the data set with a time.
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// Returns the counts by value of a text column. `None` if no record had the field, or if the
    /// question did not ask for the list.
    ///
    /// [`Values::dictionary`] has the values of its ids.
    pub fn top_list(&self, column: ColumnId) -> Option<&TopList> {
        self.top_lists.get(column.index()).filter(|list| list.has_values())
    }

    /// Returns the quantiles of a number column, in the column's unit. `None` if the question did
    /// not ask for them.
    ///
    /// They have counted nothing if no record had the number.
    pub fn quantiles(&self, column: ColumnId) -> Option<&Quantiles> {
        self.quantiles.iter().find(|(own, _)| *own == column).map(|(_, quantiles)| quantiles)
    }

    /// Returns the measures of groups of records. `None` if the question did not ask for them.
    pub fn group_table(&self) -> Option<&GroupTable> {
        self.groups.as_ref()
    }

    /// Returns the memory that the lists and groups take, in bytes. They are the largest part of an
    /// answer.
    pub fn memory_bytes(&self) -> usize {
        let groups = self.groups.as_ref().map_or(0, GroupTable::memory_bytes);
        self.top_lists.iter().map(TopList::memory_bytes).sum::<usize>() + groups
    }

    /// Returns an empty histogram if the question asks for one and the zone is known.
    pub(super) fn new_histogram(&self) -> Option<Histogram> {
        let zone = self.zone.clone().filter(|_| self.aggregates.histogram)?;
        let groups = self.stack.groups();
        Some(match self.step_s {
            None => Histogram::new(zone, self.buckets_max, groups),
            Some(step_s) => Histogram::new(zone, COUNTS_MAX / groups, groups).with_step_s(step_s),
        })
    }

    /// Adds counts over time, or takes them over if there are none yet.
    pub(super) fn merge_histogram(&mut self, other: Option<&Histogram>) {
        match (&mut self.histogram, other) {
            (Some(own), Some(other)) => own.merge(other),
            (own @ None, Some(other)) => *own = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// Returns the histogram's group of every selected row. `classes` must hold the rows' status
    /// classes, and is overwritten if the question divides by a column.
    ///
    /// The slice has an element for each selected row, in row order, each below [`Stack::groups`].
    pub(super) fn groups<'a>(
        &self,
        segment: &Segment,
        selection: &Selection,
        classes: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        if let Stack::Column(column) = self.stack {
            let last = Stack::GROUPS_MAX as u64 - 1;
            match segment.text(column) {
                Some(codes) => gather(codes, selection, classes, |id| id.min(last) as u8),
                None => classes.fill(0),
            }
        }
        classes
    }

    /// Makes room in a column's list for every known value.
    ///
    /// New values of a data set that grows have higher ids, so a list is extended at its end.
    fn cover(&mut self, column: usize) {
        if self.top_lists.len() <= column {
            self.top_lists.resize_with(column + 1, TopList::default);
        }
        self.top_lists[column].cover(self.ids.get(column).copied().unwrap_or(0));
    }
}

impl Fold for Evaluation {
    fn refresh(&mut self, values: &Values) {
        self.filter.refresh(values);
        self.classes.refresh(values);
        self.ids.clear();
        let columns = values.schema().columns();
        self.ids.extend(columns.map(|(column, _)| values.dictionary(column).ids()));
        if let (None, Some(offset_s)) = (&self.zone, values.first_offset_s()) {
            self.zone = Some(Zone::fixed(offset_s));
        }
    }

    /// Adds the records of a segment that pass the filter.
    fn update(&mut self, segment: &Segment) {
        let selection = self.filter.select(segment);
        if selection.is_empty() {
            return;
        }
        let mut groups = Vec::new();
        let visit = Visit::new(segment, selection, &self.classes, &mut groups);
        let mut totals = Totals::of_sum(visit.sum);
        totals.widen(segment, &visit.selection);
        if let Some(range_ns) = totals.time_range_ns {
            let mut histogram = self.histogram.take().or_else(|| self.new_histogram());
            if let Some(histogram) = &mut histogram {
                histogram.make_room(range_ns);
                let groups = self.groups(segment, &visit.selection, &mut groups);
                histogram.update(segment, &visit.selection, groups);
            }
            self.histogram = histogram;
        }
        self.totals.merge(&totals);
        for (column, codes) in segment.text_columns() {
            if !self.aggregates.top_lists.contains(column) {
                continue;
            }
            self.cover(column.index());
            self.top_lists[column.index()].add(codes, &visit);
        }
        for (column, quantiles) in &mut self.quantiles {
            quantiles.update(segment.numbers(*column), &visit.selection);
        }
        if let Some(groups) = &mut self.groups {
            groups.update(segment, &visit, &self.classes, self.zone.as_ref());
        }
    }

    fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        self.merge_histogram(other.histogram.as_ref());
        if self.top_lists.len() < other.top_lists.len() {
            self.top_lists.resize_with(other.top_lists.len(), TopList::default);
        }
        for (own, other) in self.top_lists.iter_mut().zip(&other.top_lists) {
            own.merge(other);
        }
        merge_quantiles(&mut self.quantiles, &other.quantiles);
        merge_groups(&mut self.groups, other.groups.as_ref());
        if self.zone.is_none() {
            self.zone.clone_from(&other.zone);
        }
    }
}

/// Returns empty quantiles for each number column that the question asks for.
pub(super) fn no_quantiles(aggregates: &Aggregates) -> Vec<(ColumnId, Quantiles)> {
    aggregates.quantiles.iter().map(|column| (*column, Quantiles::default())).collect()
}

/// Adds the quantiles of other rows. Both slices list the same columns in the same order.
pub(super) fn merge_quantiles(own: &mut [(ColumnId, Quantiles)], others: &[(ColumnId, Quantiles)]) {
    for ((_, own), (_, other)) in own.iter_mut().zip(others) {
        own.merge(other);
    }
}

/// Adds the groups of other rows.
pub(super) fn merge_groups(own: &mut Option<GroupTable>, other: Option<&GroupTable>) {
    if let (Some(own), Some(other)) = (own, other) {
        own.merge(other);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Evaluation;
    use crate::aggregate::{Aggregates, Fold, Question};
    use crate::column::{Codes, ColumnData, ColumnRef, Numbers, Segment};
    use crate::filter::{Clause, Filter};
    use crate::schema::{ColumnId, RecordKind};
    use crate::values::{LiveIds, Values};

    /// A number column without a known field, such as a format might add.
    const ADDED: ColumnId = ColumnId::new(40);

    fn segment(numbers: &[u64]) -> Arc<Segment> {
        Arc::new(Segment {
            kind: RecordKind::Request,
            rows: numbers.len(),
            source: 0,
            block_offset: 0,
            columns: Numbers::pack(numbers)
                .map(|numbers| (ADDED, ColumnData::Number(numbers)))
                .into_iter()
                .collect(),
            line_start: Codes::Constant { code: 0, rows: numbers.len() },
        })
    }

    #[test]
    fn a_new_number_column_needs_no_code_of_its_own() {
        let parts = [segment(&[5, 70]), segment(&[Numbers::ABSENT]), segment(&[900, 6, 7])];
        let merged = Segment::merged(&parts).expect("there are parts");
        let Some(ColumnRef::Number(column)) = merged.column(ADDED) else { panic!("a number") };
        let numbers: Vec<_> = (0..6).map(|row| column.get(row)).collect();
        assert_eq!(numbers, [Some(5), Some(70), None, Some(900), Some(6), Some(7)]);

        let clause = Clause::Number { column: ADDED, ranges: vec![(6, 100)] };
        let mut evaluation = Evaluation::new(&Question {
            filter: Filter::of(vec![clause]),
            aggregates: Aggregates { quantiles: vec![ADDED], ..Aggregates::none() },
            ..Question::default()
        });
        let values = Values::new(0);
        LiveIds::new(&values).mark(&merged);
        evaluation.refresh(&values);
        evaluation.update(&merged);
        assert_eq!(evaluation.totals().records, 3);
        let quantiles = evaluation.quantiles(ADDED).expect("they are asked for");
        assert_eq!(quantiles.quantiles([0.0, 0.5, 1.0]), Some([6, 7, 70]));
    }
}
