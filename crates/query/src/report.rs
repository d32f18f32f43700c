//! Builds reports from counts.

use std::sync::Arc;

use weir_core::{Evaluation, Format, LogSource, ReadCounts, Snapshot, Values};
use weir_view::{Query, Report};

use crate::group::group;

/// The report of counts that were made while the sources were read. `query` is the query that
/// was counted; a comparison in it is ignored, because it needs the records.
pub fn report_of_fold<S: LogSource>(
    evaluation: &Evaluation,
    values: &Values,
    snapshot: &Snapshot<S>,
    query: &Query,
) -> Report {
    let mut report = plain_report(evaluation, values, snapshot, query);
    let top = query.top as usize;
    report.group =
        query.group.as_ref().and_then(|field| group(field, values, evaluation, None, top));
    report
}

/// The report without a group.
pub(crate) fn plain_report<S: LogSource>(
    evaluation: &Evaluation,
    values: &Values,
    snapshot: &Snapshot<S>,
    query: &Query,
) -> Report {
    let counts = ReadCounts::of_all(&snapshot.sources);
    let formats: Vec<&Arc<Format>> =
        snapshot.sources.iter().filter_map(LogSource::format).collect();
    let format = weir_view::Format::of_all(formats.into_iter().map(Arc::as_ref));
    Report::new(evaluation, values, &counts, format, query.top as usize)
        .of_formats(&snapshot.formats)
}
