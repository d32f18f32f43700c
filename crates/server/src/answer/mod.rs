//! From a data set and a query to a report, at once or bit by bit.

mod evaluator;
mod known;
mod sliding;
mod spread;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::Zone;
use weir_ingest::{DataSet, SourceSnapshot};
use weir_view::{Format, Now, Query, QueryError, ReadCounts, Report};

use crate::refusal::Refusal;

pub(crate) use evaluator::Answer;
pub use evaluator::Evaluator;

/// The report of what a data set holds at this moment, worked out on `jobs` threads.
///
/// # Errors
/// Where the query makes no sense for this data.
pub fn report(data: &Arc<DataSet>, query: &Query, jobs: usize) -> Result<Report, QueryError> {
    let mut evaluator = Evaluator::new(data.clone(), query.clone(), jobs)?;
    let answer = evaluator.answer(&AtomicBool::new(false));
    Ok(answer.map(|answer| answer.report).unwrap_or_default())
}

/// The query as it is about this data at a moment, see [`Query::settled`]: where the query has no
/// zone, dates are those of the first record that had a time, as far as there is one yet.
///
/// # Errors
/// Where it speaks of a time or a zone that is none.
pub(crate) fn settled(query: &Query, data: &DataSet, now: &Now) -> Result<Query, QueryError> {
    let log_zone = || data.values().first_offset_s().map_or_else(Zone::utc, Zone::fixed);
    query.settled(now, &log_zone)
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
