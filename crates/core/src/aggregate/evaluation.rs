//! All aggregates of one question.

use super::histogram::Histogram;
use super::quantiles::Quantiles;
use super::row_values::RowValues;
use super::status::{STATUS_CLASSES, StatusClasses};
use super::top_list::TopList;
use super::totals::Totals;
use crate::column::{ColumnId, Segment, Values};
use crate::filter::{CompiledFilter, Filter, Selection};
use crate::value::Zone;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which records it is about.
    pub filter: Filter,
    /// The zone of the histogram; `None` for the offset of the first record.
    pub zone: Option<Zone>,
    /// The most buckets the histogram may have.
    pub buckets_max: usize,
    /// What divides the histogram's buckets.
    pub stack: Stack,
}

impl Default for Question {
    /// About every record, in the log's own zone.
    fn default() -> Self {
        Self { filter: Filter::default(), zone: None, buckets_max: 400, stack: Stack::default() }
    }
}

/// What divides the buckets of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stack {
    /// The class of the status, see [`STATUS_CLASSES`].
    #[default]
    StatusClass,
    /// A text column. The first [`Stack::GROUPS_MAX`] values have groups of their own, the
    /// others share the last one.
    Column(ColumnId),
}

impl Stack {
    /// Groups of a histogram by column: ids below this are groups of their own, the last
    /// group holds all others.
    pub const GROUPS_MAX: usize = 256;

    /// The number of groups.
    pub fn groups(self) -> usize {
        match self {
            Self::StatusClass => STATUS_CLASSES.len(),
            Self::Column(_) => Self::GROUPS_MAX,
        }
    }
}

/// The answer to a question over the segments seen so far.
///
/// For each segment call [`Self::learn`] while the values it refers to are at hand, then
/// [`Self::update`], which needs nothing but the segment.
#[derive(Debug, Clone)]
pub struct Evaluation {
    filter: CompiledFilter,
    zone: Option<Zone>,
    buckets_max: usize,
    stack: Stack,
    classes: StatusClasses,
    totals: Totals,
    histogram: Option<Histogram>,
    /// By column.
    top_lists: Vec<TopList>,
    request_time: Quantiles,
    upstream_time: Quantiles,
    rows: RowValues,
    groups: Vec<u8>,
}

impl Evaluation {
    /// A question without an answer yet.
    pub fn new(question: &Question) -> Self {
        Self {
            filter: CompiledFilter::new(&question.filter),
            zone: question.zone.clone(),
            buckets_max: question.buckets_max,
            stack: question.stack,
            classes: StatusClasses::default(),
            totals: Totals::default(),
            histogram: None,
            top_lists: Vec::new(),
            request_time: Quantiles::default(),
            upstream_time: Quantiles::default(),
            rows: RowValues::default(),
            groups: Vec::new(),
        }
    }

    /// Learns the values that came since the last call.
    pub fn learn(&mut self, values: &Values) {
        self.filter.learn(values);
        self.classes.learn(values);
        if let (None, Some(offset_s)) = (&self.zone, values.first_offset_s()) {
            self.zone = Some(Zone::fixed(offset_s));
        }
    }

    /// Adds the records of a segment that pass the filter.
    pub fn update(&mut self, segment: &Segment) {
        let selection = self.filter.select(segment);
        if selection.is_empty() {
            return;
        }
        self.rows.fill(segment, &selection, &self.classes);
        let mut totals = Totals::default();
        totals.update(segment, &selection, &self.rows);
        self.update_histogram(segment, &selection, totals.time_range_ns);
        self.totals.merge(&totals);
        self.update_top_lists(segment, &selection);
        let durations = [
            (&segment.request_time_ns, &mut self.request_time),
            (&segment.upstream_time_ns, &mut self.upstream_time),
        ];
        for (numbers, quantiles) in durations {
            if let Some(numbers) = numbers {
                numbers.for_each(&selection, |number| {
                    if let Some(number) = number {
                        quantiles.add(number);
                    }
                });
            }
        }
    }

    /// Adds the answer to the same question over other segments of the same data set.
    pub fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        match (&mut self.histogram, &other.histogram) {
            (Some(own), Some(other)) => own.merge(other),
            (own @ None, Some(other)) => *own = Some(other.clone()),
            (_, None) => {}
        }
        if self.top_lists.len() < other.top_lists.len() {
            self.top_lists.resize_with(other.top_lists.len(), TopList::default);
        }
        for (own, other) in self.top_lists.iter_mut().zip(&other.top_lists) {
            own.merge(other);
        }
        self.request_time.merge(&other.request_time);
        self.upstream_time.merge(&other.upstream_time);
        if self.zone.is_none() {
            self.zone.clone_from(&other.zone);
        }
    }

    /// True where the filter could not decide about every record for want of memory, so that
    /// every number is an estimate.
    pub fn is_filter_estimated(&self, values: &Values) -> bool {
        self.filter.is_estimated(values)
    }

    /// Sums over the records.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Counts over time; `None` where no record had a time.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// What divides the histogram's buckets.
    pub fn stack(&self) -> Stack {
        self.stack
    }

    /// The zone times are shown in; `None` while there was no record with a time.
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// Counts by value of a text column; `None` where no record had the field.
    pub fn top_list(&self, column: ColumnId) -> Option<&TopList> {
        self.top_lists.get(usize::from(column.0)).filter(|list| list.distinct() > 0)
    }

    /// Time to serve a request, in nanoseconds.
    pub fn request_time(&self) -> &Quantiles {
        &self.request_time
    }

    /// Time the upstream took, in nanoseconds.
    pub fn upstream_time(&self) -> &Quantiles {
        &self.upstream_time
    }

    fn update_histogram(
        &mut self,
        segment: &Segment,
        selection: &Selection,
        range_ns: Option<(i64, i64)>,
    ) {
        let Some(zone) = &self.zone else { return };
        let histogram = self.histogram.get_or_insert_with(|| {
            Histogram::new(zone.clone(), self.buckets_max, self.stack.groups())
        });
        match self.stack {
            Stack::StatusClass => {
                histogram.update(segment, selection, range_ns, &self.rows.class);
            }
            Stack::Column(column) => {
                self.groups.clear();
                let last = Stack::GROUPS_MAX as u64 - 1;
                match segment.text(column) {
                    Some(codes) => {
                        codes.for_each(selection, |id| self.groups.push(id.min(last) as u8));
                    }
                    None => self.groups.resize(selection.len(), 0),
                }
                histogram.update(segment, selection, range_ns, &self.groups);
            }
        }
    }

    fn update_top_lists(&mut self, segment: &Segment, selection: &Selection) {
        if self.top_lists.len() < segment.text.len() {
            self.top_lists.resize_with(segment.text.len(), TopList::default);
        }
        for (list, codes) in self.top_lists.iter_mut().zip(&segment.text) {
            if let Some(codes) = codes {
                list.update(codes, selection, &self.rows);
            }
        }
    }
}
