//! One question after the other to a data set that grows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_core::{Evaluation, Part, Recount, RowBits, Segment, TopList};
use weir_ingest::{DataSet, Keep, SourceSnapshot};
use weir_view::{Query, QueryError, Report};

use super::known::{Bases, Known};
use super::sliding::SlidBases;
use super::spread::{spread, spread_with};
use super::{format_of, read_counts};

/// Fewer segments than this for each thread are looked at on one thread.
const SEGMENTS_PER_JOB_MIN: usize = 8;

/// One question to a data set, and what is counted for it so far. Asked again, it adds only
/// the segments that came since; [asked another question](Self::change), it goes on from what
/// it knows.
#[derive(Debug)]
pub struct Evaluator {
    pub(super) data: Arc<DataSet>,
    query: Query,
    jobs: usize,
    /// Has counted nothing.
    pub(super) blank: Evaluation,
    /// `None` before the first answer.
    current: Option<Arc<Known>>,
    bases: Bases,
    offsets: Offsets,
    /// What has the place of the three before where the oldest rows leave.
    pub(super) slid: SlidBases,
}

/// What an [`Evaluator`] answers.
#[derive(Debug)]
pub struct Answer {
    /// The report.
    pub report: Report,
    /// The sources at the moment of the report.
    pub sources: Vec<SourceSnapshot>,
    /// Offsets from UTC in seconds that time stamps were seen to have: those of the first and
    /// the last record of each segment.
    pub offsets_s: Vec<i32>,
    /// Records that have not left, whether or not they pass the filter; `None` where none ever
    /// leaves.
    pub rows_kept: Option<u64>,
}

impl Evaluator {
    /// A question that nothing was counted for. Answers are worked out on `jobs` threads
    /// where there is enough to do.
    ///
    /// # Errors
    /// Where the query makes no sense for this data.
    pub fn new(data: Arc<DataSet>, query: Query, jobs: usize) -> Result<Self, QueryError> {
        let question = query.question(&data.values())?;
        let (blank, jobs) = (Evaluation::new(&question), jobs.max(1));
        let (bases, offsets) = (Bases::default(), Offsets::default());
        let slid = SlidBases::default();
        Ok(Self { data, query, jobs, blank, current: None, bases, offsets, slid })
    }

    /// Another question to the same data set, which is answered from the answers so far where
    /// that is less work.
    ///
    /// # Errors
    /// Where the query makes no sense for this data.
    pub fn change(&self, query: Query) -> Result<Self, QueryError> {
        let mut next = Self::new(self.data.clone(), query, self.jobs)?;
        next.offsets = self.offsets.clone();
        next.bases = self.bases.clone();
        next.slid = self.slid.clone();
        // Of the same reuse of ids as what is taken over with it.
        next.blank.filter_mut().adopt(self.blank.filter());
        next.slid.keep_current(self.data.memory_bytes_max());
        if let Some(current) = &self.current {
            next.bases.keep(current, self.data.memory_bytes_max());
            next.blank.filter_mut().adopt(current.evaluation.filter());
        } else if let Some(last) = &self.bases.last {
            next.blank.filter_mut().adopt(last.evaluation.filter());
        }
        Ok(next)
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Memory for answers that are kept to answer other questions from, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.bases.memory_bytes() + self.slid.memory_bytes()
    }

    /// Counts what came since the last call, and answers. `None` where `abandoned` became
    /// true meanwhile: what was counted for this question is lost then.
    pub fn answer(&mut self, abandoned: &AtomicBool) -> Option<Answer> {
        if matches!(self.data.keep(), Keep::Window { .. }) {
            return self.answer_window(abandoned);
        }
        let counted = self.current.as_ref().map_or(0, |known| known.segments);
        let (segments, sources) = self.data.snapshot(counted);
        let known = match self.current.take() {
            Some(known) => self.count_more(Arc::unwrap_or_clone(known), &segments, abandoned)?,
            None => self.count_all(&segments, abandoned)?,
        };
        self.offsets.update(&self.data);
        let (read, format) = (read_counts(&sources), format_of(&sources));
        let top = self.query.top as usize;
        let report = Report::new(&known.evaluation, &self.data.values(), &read, format, top);
        let report = report.of_formats(&self.data.formats());
        self.current = Some(Arc::new(known));
        let offsets_s = self.offsets.seen_s.iter().copied().collect();
        Some(Answer { report, sources, offsets_s, rows_kept: None })
    }

    /// Adds more segments to what is known.
    fn count_more(
        &self,
        mut known: Known,
        segments: &[Arc<Segment>],
        abandoned: &AtomicBool,
    ) -> Option<Known> {
        self.learn(&mut known.evaluation, abandoned)?;
        let passes = self.pass(&known.evaluation, segments, abandoned)?;
        let recount = Recount::more(known.evaluation, segments, &passes);
        let evaluation = self.recount(recount, segments.len(), abandoned)?;
        let segments = known.segments + segments.len();
        let passes = known.passes.map(|mut known| {
            known.extend(passes);
            known
        });
        Some(Known { evaluation, passes, segments })
    }

    /// Counts all segments, from one of the bases or from nothing.
    fn count_all(&mut self, segments: &[Arc<Segment>], abandoned: &AtomicBool) -> Option<Known> {
        let mut evaluation = self.blank.clone();
        self.learn(&mut evaluation, abandoned)?;
        let is_all = evaluation.filter().is_unconditional();
        let passes = self.pass(&evaluation, segments, abandoned)?;
        if let Some(all) = self.bases.all_behind(&passes).map(|all| Known::clone(all)) {
            let missing = &segments[all.segments..];
            let all = Arc::new(self.count_more(all, missing, abandoned)?);
            self.bases.keep(&all, self.data.memory_bytes_max());
        }
        let recount = match Known::nearest(&self.bases, &passes) {
            Some(base) => Recount::change(evaluation, base, segments, &passes),
            None => Recount::more(evaluation, segments, &passes),
        };
        let evaluation = self.recount(recount, segments.len(), abandoned)?;
        let segments = segments.len();
        Some(Known { evaluation, passes: (!is_all).then_some(passes), segments })
    }

    /// Teaches an evaluation all values of the segments that were taken before: values come
    /// before segments.
    pub(super) fn learn(&self, evaluation: &mut Evaluation, abandoned: &AtomicBool) -> Option<()> {
        let values = self.data.values();
        let undecided = evaluation.filter().undecided(&values);
        let filter = evaluation.filter();
        let decide = |undecided| filter.decide(&values, undecided);
        let decisions = spread(self.jobs, undecided.iter(), abandoned, decide)?;
        for (undecided, decisions) in undecided.iter().zip(&decisions) {
            evaluation.filter_mut().accept(undecided, decisions);
        }
        evaluation.learn(&values);
        Some(())
    }

    /// Which rows of some segments pass the filter.
    fn pass(
        &self,
        evaluation: &Evaluation,
        segments: &[Arc<Segment>],
        abandoned: &AtomicBool,
    ) -> Option<Vec<RowBits>> {
        let jobs = self.jobs_for(segments.len());
        spread(jobs, segments.iter(), abandoned, |segment| evaluation.pass(segment))
    }

    pub(super) fn recount(
        &self,
        mut recount: Recount<'_>,
        segments: usize,
        abandoned: &AtomicBool,
    ) -> Option<Evaluation> {
        let jobs = self.jobs_for(segments);
        let read = |part: &mut Part, number| recount.read(number, part);
        let parts = spread_with(jobs, 0..segments, abandoned, || recount.part(), read)?;
        let mut lists = recount.take_lists();
        let mut columns: Vec<_> = lists.iter_mut().enumerate().collect();
        // The largest first, so that no thread is left alone with one at the end.
        columns.sort_by_key(|(column, _)| std::cmp::Reverse(recount.weight(*column)));
        let count = |(column, list): (usize, &mut TopList)| recount.count(column, list, &parts);
        spread(jobs, columns.into_iter(), abandoned, count)?;
        Some(recount.finish(lists, &parts))
    }

    pub(super) fn jobs_for(&self, segments: usize) -> usize {
        self.jobs.min(segments / SEGMENTS_PER_JOB_MIN).max(1)
    }
}

/// Offsets from UTC of the first and the last record of each segment.
#[derive(Debug, Clone, Default)]
struct Offsets {
    seen_s: BTreeSet<i32>,
    /// Number of segments that were looked at.
    segments: usize,
}

impl Offsets {
    /// Looks at the segments that came since.
    fn update(&mut self, data: &DataSet) {
        let segments = data.segments_from(self.segments);
        self.seen_s.extend(segments.iter().flat_map(|segment| offsets_s(segment)));
        self.segments += segments.len();
    }
}

pub(super) fn offsets_s(segment: &Segment) -> impl Iterator<Item = i32> {
    let last = segment.rows().checked_sub(1);
    let rows = last.map(|last| [0, last]).into_iter().flatten();
    rows.filter_map(|row| segment.time(row)).map(|time| time.offset_s)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use weir_core::BlockLimits;
    use weir_demo::Traffic;
    use weir_ingest::{DataSet, FormatChoice, Keep, Pipeline, PipelineOptions, SourceEnd};
    use weir_view::{Clause, Query};

    use super::Evaluator;
    use crate::answer::report;

    /// Blocks this small make enough segments to spread them over threads.
    const LIMITS: BlockLimits = BlockLimits { block_bytes: 4_096, line_bytes_max: 1 << 16 };

    fn log() -> Vec<u8> {
        let options = weir_demo::Options { bytes: Some(400_000), ..Default::default() };
        let mut traffic = Traffic::new(options).with_dirt_every(50);
        let mut log = Vec::new();
        while traffic.fill(&mut log, 1 << 16) > 0 {}
        log
    }

    fn queries() -> [Query; 3] {
        let clause = |text| Clause::parse(text).expect("a clause");
        let stack = Query { stack: "method".to_owned(), ..Query::default() };
        let clauses = vec![clause("status=404"), clause("user_agent~Mozilla")];
        [Query::default(), stack, Query { clauses, ..Query::default() }]
    }

    #[tokio::test]
    async fn threads_and_steps_make_no_difference() {
        let options = PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Keep::Segments) };
        let data = DataSet::new(Keep::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&options, data.clone(), None);
        let mut writer = pipeline.source("a", None, FormatChoice::Detect);
        let evaluator = |query| Evaluator::new(data.clone(), query, 3).expect("a good query");
        let mut in_steps = queries().map(evaluator);
        let go_on = AtomicBool::new(false);
        for piece in log().chunks(90_000) {
            writer.write_all_async(piece).await.expect("there is memory");
            for evaluator in &mut in_steps {
                let answer = evaluator.answer(&go_on).expect("nobody abandons it");
                assert!(answer.report.matched <= answer.report.records);
            }
        }
        writer.finish_async(SourceEnd::Done).await.expect("there is memory");
        assert!(data.segments_from(0).len() > 60);
        for (query, evaluator) in queries().into_iter().zip(&mut in_steps) {
            let expected = report(&data, &query, 1).expect("a good query");
            assert!(expected.matched > 0);
            for jobs in [2, 5] {
                assert_eq!(report(&data, &query, jobs).as_ref(), Ok(&expected), "{jobs} jobs");
            }
            let answer = evaluator.answer(&go_on).expect("nobody abandons it");
            assert_eq!(answer.report, expected, "in steps");
        }
    }

    /// Filters that are near to all rows, to none, and to one another.
    const CHANGES: [&[&str]; 8] = [
        &["status=404"],
        &["status!=404"],
        &["status!=404", "user_agent~Mozilla"],
        &["user_agent~Mozilla"],
        &[],
        &["bytes>1000", "user_agent~Mozilla"],
        &["path=/no/such/path"],
        &["method=GET"],
    ];

    fn change(clauses: &[&str]) -> Query {
        let clauses = clauses.iter().map(|text| Clause::parse(text).expect("a clause")).collect();
        Query { clauses, ..Query::default() }
    }

    #[tokio::test]
    async fn a_changed_question_is_answered_as_a_new_one() {
        let options = PipelineOptions { limits: LIMITS, ..PipelineOptions::new(2, Keep::Segments) };
        let data = DataSet::new(Keep::Segments, 1 << 30, &[]);
        let pipeline = Pipeline::start(&options, data.clone(), None);
        let mut writer = pipeline.source("a", None, FormatChoice::Detect);
        let go_on = AtomicBool::new(false);
        let mut evaluator =
            Evaluator::new(data.clone(), Query::default(), 3).expect("a good query");
        for (piece, clauses) in log().chunks(40_000).zip(CHANGES.iter().cycle()) {
            writer.write_all_async(piece).await.expect("there is memory");
            evaluator = evaluator.change(change(clauses)).expect("a good query");
            if evaluator.answer(&AtomicBool::new(clauses.len() == 2)).is_none() {
                continue;
            }
            writer.write_all_async(b"\n").await.expect("there is memory");
            evaluator.answer(&go_on).expect("nobody abandons it");
        }
        writer.finish_async(SourceEnd::Done).await.expect("there is memory");
        for clauses in CHANGES.iter().cycle().take(20) {
            evaluator = evaluator.change(change(clauses)).expect("a good query");
            let answer = evaluator.answer(&go_on).expect("nobody abandons it");
            let expected = report(&data, &change(clauses), 1).expect("a good query");
            assert_eq!(answer.report, expected, "{clauses:?}");
            assert!(evaluator.memory_bytes() <= data.memory_bytes_max() / 16);
        }
        assert!(evaluator.memory_bytes() > 0);
    }

    #[tokio::test]
    async fn abandoned_work_ends() {
        let data = DataSet::new(Keep::Segments, 1 << 30, &[]);
        let options = PipelineOptions::new(1, Keep::Segments);
        let pipeline = Pipeline::start(&options, data.clone(), None);
        let mut writer = pipeline.source("a", None, FormatChoice::Detect);
        writer.write_all_async(&log()).await.expect("there is memory");
        writer.finish_async(SourceEnd::Done).await.expect("there is memory");
        let mut evaluator =
            Evaluator::new(Arc::clone(&data), Query::default(), 1).expect("a good query");
        assert!(evaluator.answer(&AtomicBool::new(true)).is_none());
    }
}
