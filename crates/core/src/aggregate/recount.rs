//! Computes an answer over many segments at once, from the answer to another question if possible.
//!
//! A page asks many questions in succession that differ in one clause. Counting all rows each time
//! would take time in proportion to the log. Instead:
//!
//! ```text
//! answer(new) = answer(old) - rows(old but not new) + rows(new but not old)
//! ```
//!
//! holds for every aggregate that is a sum. A row leaves or joins through the same code that counts
//! it, with the sign as a constant of the compiler, so a difference is as exact as a sum. Rows of
//! both filters are bits, and their difference is found 64 rows at a time ([`crate::RowBits`]).
//!
//! Whether the difference or all rows are fewer is the caller's decision:
//! [`CountedRows::differing`] returns the number of rows to visit.

use std::sync::Arc;

use super::evaluation::{Evaluation, merge_groups, merge_quantiles, no_quantiles};
use super::grouping::GroupTable;
use super::histogram::Histogram;
use super::quantiles::Quantiles;
use super::top_list::TopList;
use super::totals::Totals;
use super::visit::{Sum, Visit, status_classes};
use crate::column::{Codes, RowBits, Segment, Selection};
use crate::schema::ColumnId;

/// The rows that an answer has counted, in a prefix of the segments.
///
/// # Examples
///
/// ```
/// use weir_core::{CountedRows, RowBits};
///
/// let counted = CountedRows::All(1);
/// assert_eq!(counted.differing(0, &RowBits::none(50)), 50);
/// assert_eq!(counted.differing(1, &RowBits::all(50)), 50); // not counted yet
/// ```
#[derive(Debug, Clone, Copy)]
pub enum CountedRows<'a> {
    /// Every row of the first `n` segments.
    ///
    /// For an answer without a filter, which needs no bits.
    All(usize),
    /// These rows, one element per segment.
    ///
    /// In the order of the segments. Segments beyond the slice have not been counted.
    PerSegment(&'a [RowBits]),
}

impl CountedRows<'_> {
    /// Returns the number of rows in which segment `number` differs from `pass`.
    ///
    /// `pass` is of the same segment. Summed over the segments, it is the work of a [`Recount`].
    pub fn differing(&self, number: usize, pass: &RowBits) -> usize {
        match self {
            Self::All(segments) if number < *segments => pass.rows() - pass.len(),
            Self::PerSegment(rows) if number < rows.len() => rows[number].differing(pass),
            _ => pass.len(),
        }
    }

    /// Returns the rows to add and the rows to remove so that `pass` is counted instead.
    fn difference(&self, number: usize, pass: &RowBits) -> (Selection, Selection) {
        let all = RowBits::all(pass.rows());
        let counted = match self {
            Self::All(segments) if number < *segments => &all,
            Self::PerSegment(rows) if number < rows.len() => &rows[number],
            _ => return (pass.selection(), Selection::default()),
        };
        (pass.without(counted).selection(), counted.without(pass).selection())
    }
}

/// The work to answer a question over many segments.
///
/// Most aggregates are sums. The answer to one question is therefore the answer to another, minus
/// the rows that do not pass any more, plus the rows that are missing. The work is proportional to
/// the difference, and the result is exact. The other aggregates need more: extremes are read from
/// the segments that may contain them, quantiles from all rows, and the histogram from all rows if
/// its step changes.
///
/// The steps can be divided among threads: [`Self::read`] by segments, with one
/// [`PartialAggregates`] per thread, and [`Self::count`] by columns, because lists are large.
///
/// ```text
/// parts = new_part() for each thread
/// read(segments, part) for all segments, each in any of the parts
/// lists = take_lists(); count(column, list, parts) for each column
/// finish(lists, parts)
/// ```
///
/// On one thread, the answer to a filter from the answer about all rows:
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, Clause, CountedRows, Evaluation, Filter, Fold, Format,
///     Question, Recount, TextTest, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 200\n192.0.2.8 404\n".to_vec());
/// let segments = [Arc::new(reader.read_segment(&block, 0, &mut values))];
/// let evaluation = |filter| {
///     let mut evaluation = Evaluation::new(&Question { filter, ..Question::default() });
///     evaluation.refresh(&values);
///     evaluation
/// };
/// let mut all = evaluation(Filter::default());
/// all.update(&segments[0]);
///
/// let test = TextTest::Prefix(b"4".to_vec());
/// let clauses = vec![Clause::text(&values, "status", test, false)?];
/// let filtered = evaluation(Filter::of(clauses));
/// let passes = [filtered.pass(&segments[0])];
/// let base = (&all, CountedRows::All(segments.len()));
/// let mut recount = Recount::change(filtered, base, &segments, &passes);
/// let mut part = recount.new_part();
/// recount.read(0, &mut part);
/// let (mut lists, parts) = (recount.take_lists(), [part]);
/// for (column, list) in lists.iter_mut().enumerate() {
///     recount.count(column, list, &parts);
/// }
/// assert_eq!(recount.finish(lists, &parts).totals().records, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Failures
///
/// None. A segment number beyond the segments is ignored, and so is a base that lacks an aggregate.
/// But each segment must be read once: a segment that is left out, or read twice, is counted that
/// often.
#[derive(Debug)]
pub struct Recount<'a> {
    evaluation: Evaluation,
    base: Option<(&'a Evaluation, CountedRows<'a>)>,
    segments: &'a [Arc<Segment>],
    passes: &'a [RowBits],
    /// Whether the histogram is also computed from the base's and the difference.
    changes_histogram: bool,
    /// Whether the base has the same rows, so that its quantiles are those of the answer.
    has_rows_of_base: bool,
}

/// The differences that one thread found in the segments that it read.
///
/// Its memory is that of an answer. Made by [`Recount::new_part`], one for each thread.
#[derive(Debug)]
pub struct PartialAggregates {
    /// By column.
    lists: Vec<TopList>,
    removed: Sum,
    added: Sum,
    /// Present only if the histogram is computed from the base's and the difference.
    removed_histogram: Option<Histogram>,
    histogram: Option<Histogram>,
    quantiles: Vec<(ColumnId, Quantiles)>,
    table: Option<GroupTable>,
    /// A buffer that is reused for each segment.
    groups: Vec<u8>,
}

impl<'a> Recount<'a> {
    /// Extends an answer, which may be empty, by more segments. `passes` are the rows of each
    /// segment that pass its filter.
    ///
    /// The segments are those that the answer has not counted. Widens the extremes at once, which
    /// may read rows.
    ///
    /// # Examples
    ///
    /// An answer over one segment, extended by a second:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weir_core::{
    ///     Block, BlockLimits, BlockReader, Evaluation, Fold, Format, Question, Recount, Values,
    /// };
    ///
    /// let format = Arc::new(Format::parse("$remote_addr $status")?);
    /// let mut values = Values::new(1 << 20);
    /// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
    /// let mut segment =
    ///     |lines: &str| Arc::new(reader.read_segment(&Block::new(lines.into()), 0, &mut values));
    /// let (first, second) = (segment("::1 200\n"), segment("::1 404\n::2 200\n"));
    ///
    /// let mut evaluation = Evaluation::new(&Question::default());
    /// evaluation.refresh(&values);
    /// evaluation.update(&first);
    ///
    /// let segments = [second];
    /// let passes = [evaluation.pass(&segments[0])];
    /// let mut recount = Recount::more(evaluation, &segments, &passes);
    /// let mut part = recount.new_part();
    /// recount.read(0, &mut part);
    /// let (mut lists, parts) = (recount.take_lists(), [part]);
    /// for (column, list) in lists.iter_mut().enumerate() {
    ///     recount.count(column, list, &parts);
    /// }
    /// let evaluation = recount.finish(lists, &parts);
    /// assert_eq!((evaluation.totals().records, evaluation.totals().errors), (3, 1));
    /// # Ok::<(), weir_core::FormatError>(())
    /// ```
    pub fn more(
        mut evaluation: Evaluation,
        segments: &'a [Arc<Segment>],
        passes: &'a [RowBits],
    ) -> Self {
        widen(&mut evaluation.totals, segments, passes);
        Self {
            evaluation,
            base: None,
            segments,
            passes,
            changes_histogram: false,
            has_rows_of_base: false,
        }
    }

    /// Answers the question of `evaluation`, which must be empty, over all segments. `passes` are
    /// the rows of each segment that pass its filter. `base` is the answer to another question
    /// about the same data set, with the rows that it has counted. It is ignored if it lacks
    /// aggregates that this question asks for.
    ///
    /// `evaluation` must have learned the values of all segments.
    pub fn change(
        evaluation: Evaluation,
        base: (&'a Evaluation, CountedRows<'a>),
        segments: &'a [Arc<Segment>],
        passes: &'a [RowBits],
    ) -> Self {
        let mut recount = Self::more(evaluation, segments, passes);
        if !base.0.aggregates.includes(&recount.evaluation.aggregates) {
            return recount;
        }
        let own = &mut recount.evaluation;
        let range = own.totals.time_range_ns;
        let histogram = base.0.histogram.as_ref().filter(|histogram| {
            own.stack == base.0.stack
                && own
                    .new_histogram()
                    .zip(range)
                    .is_some_and(|(fresh, range)| histogram.is_like(fresh, range))
        });
        recount.changes_histogram = histogram.is_some();
        own.histogram = histogram.cloned();
        own.totals.add(base.0.totals.sum());
        let mut passes = passes.iter().enumerate();
        recount.has_rows_of_base = passes.all(|(number, pass)| base.1.differing(number, pass) == 0);
        recount.base = Some(base);
        recount
    }

    /// Returns an empty part.
    pub fn new_part(&self) -> PartialAggregates {
        let listed = &self.evaluation.aggregates.top_lists;
        let list = |(column, ids): (usize, &usize)| match listed.contains(ColumnId::new(column)) {
            true => TopList::new(*ids),
            false => TopList::default(),
        };
        PartialAggregates {
            lists: self.evaluation.ids.iter().enumerate().map(list).collect(),
            removed: Sum::default(),
            added: Sum::default(),
            removed_histogram: self.evaluation.new_histogram().filter(|_| self.changes_histogram),
            histogram: self.evaluation.new_histogram(),
            quantiles: match self.has_rows_of_base {
                true => Vec::new(),
                false => no_quantiles(&self.evaluation.aggregates),
            },
            table: self.evaluation.aggregates.groups.as_ref().map(GroupTable::new),
            groups: Vec::new(),
        }
    }

    /// Reads the rows of segment `number` in which the answers differ.
    ///
    /// Segments may be read in any order and on any thread, each once.
    pub fn read(&self, number: usize, part: &mut PartialAggregates) {
        let (Some(segment), Some(pass)) = (self.segments.get(number), self.passes.get(number))
        else {
            return;
        };
        let (added, removed) = match &self.base {
            Some((_, counted)) => counted.difference(number, pass),
            None => (pass.selection(), Selection::default()),
        };
        let removed = self.visit(segment, removed, part, false);
        for (column, codes) in self.listed_columns(segment) {
            if let Some(list) = part.lists.get_mut(column.index()) {
                list.remove(codes, &removed);
            }
        }
        part.removed.add(removed.sum);
        let added = self.visit(segment, added, part, true);
        for (column, codes) in self.listed_columns(segment) {
            if let Some(list) = part.lists.get_mut(column.index()) {
                list.add(codes, &added);
            }
        }
        part.added.add(added.sum);
        match self.base {
            None => {
                part.add_quantiles(segment, &added.selection);
                if let Some(table) = &mut part.table {
                    let evaluation = &self.evaluation;
                    table.update(segment, &added, &evaluation.classes, evaluation.zone.as_ref());
                }
            }
            Some(_) => self.read_all(segment, pass, part),
        }
    }

    /// Returns the list of each column, to be passed to [`Self::count`].
    ///
    /// By column. They can be divided among threads, one list at a time.
    pub fn take_lists(&mut self) -> Vec<TopList> {
        let mut lists = std::mem::take(&mut self.evaluation.top_lists);
        lists.resize_with(self.evaluation.ids.len(), TopList::default);
        lists
    }

    /// Returns the relative cost of counting a column's list, which grows with its distinct values.
    ///
    /// Threads that take the heaviest columns first finish at about the same time.
    pub fn weight(&self, column: usize) -> usize {
        self.evaluation.ids.get(column).copied().unwrap_or(0)
    }

    /// Updates a column's list to that of the answer. `parts` must be all parts.
    ///
    /// `list` is that of [`Self::take_lists`] for the column. Leaves it as it is if the question
    /// does not ask for it.
    pub fn count(&self, column: usize, list: &mut TopList, parts: &[PartialAggregates]) {
        if !self.evaluation.aggregates.top_lists.contains(ColumnId::new(column)) {
            return;
        }
        if let Some((base, _)) = self.base {
            *list = base.top_lists.get(column).cloned().unwrap_or_default();
        }
        list.cover(self.weight(column));
        for read in parts.iter().filter_map(|part| part.lists.get(column)) {
            list.merge(read);
        }
    }

    /// Returns the answer. `lists` are the lists of all columns, and `parts` all parts.
    ///
    /// `lists` are in the order in which they were taken, and all counted.
    pub fn finish(self, lists: Vec<TopList>, parts: &[PartialAggregates]) -> Evaluation {
        let mut evaluation = self.evaluation;
        evaluation.top_lists = lists;
        if let Some((base, _)) = self.base.filter(|_| self.has_rows_of_base) {
            for (column, own) in &mut evaluation.quantiles {
                let known = base.quantiles.iter().find(|(other, _)| other == column);
                own.clone_from(known.map_or(&Quantiles::default(), |(_, known)| known));
            }
        }
        for part in parts {
            evaluation.totals.add(part.added);
            // Rows are removed first. Then only records of the answer remain, and the step never
            // becomes coarser than the answer needs.
            if let (Some(own), Some(removed)) = (&mut evaluation.histogram, &part.removed_histogram)
            {
                own.remove(removed);
            }
        }
        for part in parts {
            evaluation.totals.remove(part.removed);
            evaluation.merge_histogram(part.histogram.as_ref());
            merge_quantiles(&mut evaluation.quantiles, &part.quantiles);
            merge_groups(&mut evaluation.groups, part.table.as_ref());
        }
        evaluation.histogram = evaluation.histogram.filter(|histogram| !histogram.is_empty());
        evaluation
    }

    /// The text columns of a segment that the question lists.
    fn listed_columns<'s>(
        &self,
        segment: &'s Segment,
    ) -> impl Iterator<Item = (ColumnId, &'s Codes)> {
        let lists = &self.evaluation.aggregates.top_lists;
        segment.text_columns().filter(|(column, _)| lists.contains(*column))
    }

    /// Visits rows to add or remove, and counts them in the histograms.
    fn visit(
        &self,
        segment: &Segment,
        selection: Selection,
        part: &mut PartialAggregates,
        adds: bool,
    ) -> Visit {
        let groups = &mut part.groups;
        let visit = Visit::new(segment, selection, &self.evaluation.classes, groups);
        let is_whole = self.base.is_none() || self.changes_histogram;
        let histogram = match adds {
            true => part.histogram.as_mut().filter(|_| is_whole),
            false => part.removed_histogram.as_mut(),
        };
        if let Some(histogram) = histogram.filter(|_| visit.sum.records > 0) {
            let groups = self.evaluation.groups(segment, &visit.selection, groups);
            histogram.update(segment, &visit.selection, groups);
        }
        visit
    }

    /// Computes the aggregates that need all rows that pass, not only the difference.
    fn read_all(&self, segment: &Segment, pass: &RowBits, part: &mut PartialAggregates) {
        let has_numbers =
            part.quantiles.iter().any(|(column, _)| segment.numbers(*column).is_some());
        let has_histogram = part.histogram.is_some() && !self.changes_histogram;
        if pass.is_empty() || !has_histogram && !has_numbers && part.table.is_none() {
            return;
        }
        let selection = pass.selection();
        part.add_quantiles(segment, &selection);
        let groups = &mut part.groups;
        if let Some(table) = &mut part.table {
            let visit = match table.needs_visit() {
                true => Visit::new(segment, selection.clone(), &self.evaluation.classes, groups),
                false => Visit { selection: selection.clone(), ..Visit::default() },
            };
            let evaluation = &self.evaluation;
            table.update(segment, &visit, &evaluation.classes, evaluation.zone.as_ref());
        }
        if let Some(histogram) = part.histogram.as_mut().filter(|_| !self.changes_histogram) {
            status_classes(segment, &selection, &self.evaluation.classes, groups);
            let groups = self.evaluation.groups(segment, &selection, groups);
            histogram.update(segment, &selection, groups);
        }
    }
}

impl PartialAggregates {
    /// Arranges the groups, which takes time in proportion to the rows. Threads that do this for
    /// their own part save it when the parts are merged.
    pub fn arrange_groups(&mut self) {
        if let Some(table) = &mut self.table {
            table.arrange();
        }
    }

    /// Adds the numbers of the selected rows, for each column that the question asks for.
    fn add_quantiles(&mut self, segment: &Segment, selection: &Selection) {
        for (column, quantiles) in &mut self.quantiles {
            quantiles.update(segment.numbers(*column), selection);
        }
    }
}

/// Widens the ranges by the rows that pass. Logs are roughly in time order, so the segments at both
/// ends usually contain the extremes. Reading from both ends inwards lets the rows of most other
/// segments be skipped.
fn widen(totals: &mut Totals, segments: &[Arc<Segment>], passes: &[RowBits]) {
    let count = segments.len().min(passes.len());
    for number in (0..count).map(|at| if at % 2 == 0 { at / 2 } else { count - 1 - at / 2 }) {
        totals.widen_by_bits(&segments[number], &passes[number]);
    }
}
