//! The answers to a question about each kind of records.
//!
//! A log may mix kinds, and several logs of one data set often do: requests, and the lines of an
//! error log. Their counts should not be added, so there is an evaluation for each kind, made when
//! the first segment of the kind arrives. A segment has records of one kind, so it is counted in
//! one of them.

use super::evaluation::Evaluation;
use super::fold::Fold;
use super::question::Question;
use crate::column::Segment;
use crate::schema::RecordKind;
use crate::values::Values;

const KINDS: usize = RecordKind::ALL.len();

/// The answers to one question about each kind of records, over the segments added so far.
///
/// A kind costs nothing until there is a segment of it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use weir_core::{
///     Block, BlockLimits, BlockReader, EvaluationByKind, Filter, Fold, Format, Question,
///     RecordKind, Values,
/// };
///
/// let format = Arc::new(Format::parse("$remote_addr $status")?);
/// let mut values = Values::new(1 << 20);
/// let mut reader = BlockReader::new(format, BlockLimits::default(), &mut values);
/// let block = Block::new(b"192.0.2.7 200\n192.0.2.8 404\n".to_vec());
/// let segment = reader.read_segment(&block, 0, &mut values);
///
/// let mut by_kind = EvaluationByKind::new(|kind| Question {
///     filter: Filter { kind: Some(kind), clauses: Vec::new() },
///     ..Question::default()
/// });
/// by_kind.refresh(&values);
/// by_kind.update(&segment);
/// assert_eq!(by_kind.records(RecordKind::Request), 2);
/// assert_eq!(by_kind.records(RecordKind::FirewallEvent), 0);
/// # Ok::<(), weir_core::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct EvaluationByKind {
    questions: [Question; KINDS],
    /// That of requests is always there: it learns the values before the first segment.
    evaluations: [Option<Evaluation>; KINDS],
    /// Whether or not they pass the filter.
    records: [u64; KINDS],
    /// The first and the last time of the records of each kind, whether or not they pass the
    /// filter.
    time_ranges_ns: [Option<(i64, i64)>; KINDS],
    /// The answers to the question of [`Self::beside`].
    unfiltered: Option<Box<Self>>,
    /// The only kind to evaluate; records of the others are counted without a filter.
    only: Option<RecordKind>,
}

impl EvaluationByKind {
    /// Returns evaluations that have counted nothing. `question` returns the question about a
    /// kind; the clauses should be the same for each.
    ///
    /// Each question should filter by its kind; a segment of another kind is never passed to it.
    pub fn new(question: impl Fn(RecordKind) -> Question) -> Self {
        let questions = RecordKind::ALL.map(question);
        let requests = Evaluation::new(&questions[RecordKind::Request as usize]);
        let mut evaluations = [const { None }; KINDS];
        evaluations[RecordKind::Request as usize] = Some(requests);
        let time_ranges_ns = [None; KINDS];
        Self {
            questions,
            evaluations,
            records: [0; KINDS],
            time_ranges_ns,
            unfiltered: None,
            only: None,
        }
    }

    /// Restricts the answers to one kind. Records of the others are only counted.
    ///
    /// # Examples
    ///
    /// ```
    /// use weir_core::{EvaluationByKind, Filter, Question, RecordKind};
    ///
    /// let by_kind = EvaluationByKind::new(|kind| Question {
    ///     filter: Filter { kind: Some(kind), clauses: Vec::new() },
    ///     ..Question::default()
    /// });
    /// let by_kind = by_kind.only(RecordKind::FirewallEvent);
    /// assert!(by_kind.of(RecordKind::FirewallEvent).is_none());
    /// assert!(by_kind.of(RecordKind::Request).is_some());
    /// ```
    #[must_use]
    pub fn only(mut self, kind: RecordKind) -> Self {
        self.only = Some(kind);
        self
    }

    /// Also answers another question about each kind, such as the same one without its filter.
    #[must_use]
    pub fn beside(mut self, unfiltered: Self) -> Self {
        self.unfiltered = Some(Box::new(unfiltered));
        self
    }

    /// Returns the answer about a kind to the question of [`Self::beside`], if there is one.
    pub fn unfiltered(&self, kind: RecordKind) -> Option<&Evaluation> {
        self.unfiltered.as_ref()?.of(kind)
    }

    /// Returns the answer about a kind; `None` if no segment has records of it. There is always
    /// one about requests.
    pub fn of(&self, kind: RecordKind) -> Option<&Evaluation> {
        self.evaluations[kind as usize].as_ref()
    }

    /// Returns the smallest and the largest zone offset of the counted records of all kinds, in
    /// seconds east of UTC.
    pub fn offset_range_s(&self) -> Option<(i32, i32)> {
        let ranges = self.evaluations.iter().flatten();
        let ranges = ranges.filter_map(|evaluation| evaluation.totals().offset_range_s);
        ranges.reduce(|(least, most), (from, to)| (least.min(from), most.max(to)))
    }

    /// Returns an answer about a kind that has counted nothing, but knows the values.
    ///
    /// For a recount over segments that this one has not seen.
    pub fn blank(&self, kind: RecordKind) -> Evaluation {
        let question = &self.questions[kind as usize];
        let known = self.evaluations.iter().flatten().next();
        known.map_or_else(|| Evaluation::new(question), |known| known.with_question(question))
    }

    /// Returns the number of records of a kind, whether or not they pass the filter.
    pub fn records(&self, kind: RecordKind) -> u64 {
        self.records[kind as usize]
    }

    /// Returns the first and the last time of the records of a kind, whether or not they pass the
    /// filter, in nanoseconds since 1970.
    pub fn time_range_ns(&self, kind: RecordKind) -> Option<(i64, i64)> {
        self.time_ranges_ns[kind as usize]
    }

    /// The evaluation of a kind, which knows the values that the others know.
    fn of_mut(&mut self, kind: RecordKind) -> &mut Evaluation {
        let blank = self.of(kind).is_none().then(|| self.blank(kind));
        let question = &self.questions[kind as usize];
        let slot = &mut self.evaluations[kind as usize];
        slot.get_or_insert_with(|| blank.unwrap_or_else(|| Evaluation::new(question)))
    }
}

impl Fold for EvaluationByKind {
    fn refresh(&mut self, values: &Values) {
        self.evaluations.iter_mut().flatten().for_each(|evaluation| evaluation.refresh(values));
        if let Some(unfiltered) = &mut self.unfiltered {
            unfiltered.refresh(values);
        }
    }

    fn update(&mut self, segment: &Segment) {
        self.records[segment.kind() as usize] += segment.rows() as u64;
        let range_ns = &mut self.time_ranges_ns[segment.kind() as usize];
        *range_ns = union(*range_ns, segment.time_range_ns());
        if self.only.is_none_or(|only| only == segment.kind()) {
            self.of_mut(segment.kind()).update(segment);
        }
        if let Some(unfiltered) = &mut self.unfiltered {
            unfiltered.update(segment);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (own, other) in self.records.iter_mut().zip(&other.records) {
            *own += other;
        }
        for (own, other) in self.time_ranges_ns.iter_mut().zip(other.time_ranges_ns) {
            *own = union(*own, other);
        }
        if let (Some(own), Some(other)) = (&mut self.unfiltered, &other.unfiltered) {
            own.merge(other);
        }
        for kind in RecordKind::ALL {
            if let Some(other) = other.of(kind) {
                self.of_mut(kind).merge(other);
            }
        }
    }
}

/// Returns the range of times that contains both.
fn union(one: Option<(i64, i64)>, other: Option<(i64, i64)>) -> Option<(i64, i64)> {
    let ranges = one.into_iter().chain(other);
    ranges.reduce(|(first, last), (from, until)| (first.min(from), last.max(until)))
}
