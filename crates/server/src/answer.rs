//! From a data set and a query to a report, at once or bit by bit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use weir_core::{Evaluation, Segment};
use weir_ingest::{DataSet, SourceSnapshot};
use weir_view::{Format, Query, QueryError, ReadCounts, Report};

use crate::refusal::Refusal;

/// Fewer new segments than this for each thread are counted on one thread.
const SEGMENTS_PER_JOB_MIN: usize = 8;

/// The report of what a data set holds at this moment, worked out on `jobs` threads.
///
/// # Errors
/// Where the query makes no sense for this data.
pub fn report(data: &Arc<DataSet>, query: &Query, jobs: usize) -> Result<Report, QueryError> {
    let mut evaluator = Evaluator::new(data.clone(), query.clone(), jobs)?;
    let answer = evaluator.answer(&AtomicBool::new(false));
    Ok(answer.map(|answer| answer.report).unwrap_or_default())
}

/// As [`report`], on a thread for work that blocks; given up when the future is dropped.
pub(crate) async fn report_async(
    data: Arc<DataSet>,
    query: Query,
    jobs: usize,
) -> Result<Report, Refusal> {
    let abandon = Abandon::default();
    let abandoned = abandon.flag();
    let work = move || -> Result<Report, QueryError> {
        let mut evaluator = Evaluator::new(data, query, jobs)?;
        Ok(evaluator.answer(&abandoned).map(|answer| answer.report).unwrap_or_default())
    };
    // The work fails to join only where the server ends meanwhile.
    let joined = tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::SessionEnded)?;
    Ok(joined?)
}

/// Has work given up when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Abandon(Arc<AtomicBool>);

impl Abandon {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for Abandon {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What all sources together brought.
pub fn read_counts(sources: &[SourceSnapshot]) -> ReadCounts {
    let mut read = ReadCounts::default();
    for source in sources {
        read.lines += source.lines;
        read.records += source.records;
        read.unmatched += source.unmatched;
        read.too_long += source.too_long;
        read.bytes_read += source.bytes_parsed;
    }
    read
}

/// The format of all sources together: `mixed` where they have different ones, and nothing
/// where none is known.
pub fn format_of(sources: &[SourceSnapshot]) -> Format {
    let mut formats = sources.iter().filter_map(|source| source.format.as_deref());
    let Some(first) = formats.next() else { return Format::default() };
    let same = |format: &weir_core::Format| {
        (format.name(), format.definition()) == (first.name(), first.definition())
    };
    if formats.all(same) {
        Format { name: first.name().to_owned(), definition: first.definition().to_owned() }
    } else {
        Format { name: "mixed".to_owned(), definition: String::new() }
    }
}

/// One question to a data set, and what is counted for it so far. Asked again, it adds only
/// the segments that came since.
#[derive(Debug)]
pub struct Evaluator {
    data: Arc<DataSet>,
    query: Query,
    jobs: usize,
    /// Knows all values and has counted nothing.
    blank: Evaluation,
    counted: Evaluation,
    /// Segments that are counted.
    segments: usize,
    offsets_s: BTreeSet<i32>,
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
}

impl Evaluator {
    /// A question that nothing was counted for. Answers are worked out on `jobs` threads
    /// where there is enough to do.
    ///
    /// # Errors
    /// Where the query makes no sense for this data.
    pub fn new(data: Arc<DataSet>, query: Query, jobs: usize) -> Result<Self, QueryError> {
        let question = query.question(&data.values())?;
        let blank = Evaluation::new(&question);
        let (counted, jobs) = (blank.clone(), jobs.max(1));
        let offsets_s = BTreeSet::new();
        Ok(Self { data, query, jobs, blank, counted, segments: 0, offsets_s })
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Counts what came since the last call, and answers. `None` where `abandoned` became
    /// true meanwhile: the evaluator is of no more use then.
    pub fn answer(&mut self, abandoned: &AtomicBool) -> Option<Answer> {
        let (segments, sources) = self.data.snapshot(self.segments);
        {
            // All values of those segments are there: values come before segments.
            let values = self.data.values();
            self.blank.learn(&values);
            self.counted.learn(&values);
        }
        self.count(&segments, abandoned)?;
        self.segments += segments.len();
        self.offsets_s.extend(segments.iter().flat_map(|segment| offsets_s(segment)));
        let (read, format) = (read_counts(&sources), format_of(&sources));
        let top = self.query.top as usize;
        let report = Report::new(&self.counted, &self.data.values(), &read, format, top);
        let offsets_s = self.offsets_s.iter().copied().collect();
        Some(Answer { report, sources, offsets_s })
    }

    fn count(&mut self, segments: &[Arc<Segment>], abandoned: &AtomicBool) -> Option<()> {
        let jobs = self.jobs.min(segments.len() / SEGMENTS_PER_JOB_MIN).max(1);
        let next = AtomicUsize::new(0);
        // Whoever is free takes the next segment: the order makes no difference.
        let work = |part: &mut Evaluation| {
            while let Some(segment) = segments.get(next.fetch_add(1, Ordering::Relaxed)) {
                if abandoned.load(Ordering::Relaxed) {
                    return None;
                }
                part.update(segment);
            }
            Some(())
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..jobs)
                .map(|_| {
                    let mut part = self.blank.clone();
                    scope.spawn(move || work(&mut part).map(|()| part))
                })
                .collect();
            let mut result = work(&mut self.counted);
            for other in others {
                match other.join() {
                    Ok(Some(part)) => self.counted.merge(&part),
                    _ => result = None,
                }
            }
            result
        })
    }
}

/// The offsets of the first and the last record.
fn offsets_s(segment: &Segment) -> impl Iterator<Item = i32> {
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

    use super::{Evaluator, report};

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
