//! Builds reports from counts.

use std::borrow::Cow;

use weir_core::{
    DerivedInput, Evaluation, EvaluationByKind, Field, LogSource, ReadCounts, STATUS_CLASS,
    Snapshot, Values,
};
use weir_view::{
    FormatCount, IncompleteSource, KindCount, RecordKind, Report, Timeline, YearSource, main_kind,
};

use crate::counter::CountedAggregates;
use crate::group::{GroupPart, group_rows};
use crate::question::{ParsedQuery, QueryError};

/// Creates the evaluations that [`report_of_fold`] takes: one for each kind of records, or only for
/// the kind that the query names.
///
/// # Errors
/// Fails if the query is not valid for these values.
pub fn evaluation_by_kind(
    query: &ParsedQuery,
    values: &Values,
) -> Result<EvaluationByKind, QueryError> {
    let evaluations = of_each_kind(query, values, CountedAggregates::All)?;
    if query.question(values)?.filter.of_time().is_none() {
        return Ok(evaluations);
    }
    let aggregates = CountedAggregates::UnfilteredHistogram;
    Ok(evaluations.beside(of_each_kind(&unfiltered_query(query), values, aggregates)?))
}

/// Creates evaluations of these aggregates: one for each kind of records, or only for the kind that
/// the query names.
pub(crate) fn of_each_kind(
    query: &ParsedQuery,
    values: &Values,
    aggregates: CountedAggregates,
) -> Result<EvaluationByKind, QueryError> {
    let of_kind = |kind: RecordKind| ParsedQuery { kind: Some(kind), ..query.clone() };
    let questions: Result<Vec<_>, _> = weir_core::RecordKind::ALL
        .into_iter()
        .map(|kind| aggregates.question(&of_kind(kind.into()), values))
        .collect();
    let questions = questions?;
    let evaluations = EvaluationByKind::new(|kind| questions[kind as usize].clone());
    Ok(match query.kind {
        Some(kind) => evaluations.only(kind.into()),
        None => evaluations,
    })
}

/// Returns the query for the unfiltered records that a chart shows in the background.
pub(crate) fn unfiltered_query(query: &ParsedQuery) -> ParsedQuery {
    let stack = STATUS_CLASS.to_owned();
    ParsedQuery { stack, group: None, overlay: None, overlay_ahead_s: 0, ..query.clone() }
}

/// Builds the report of a fold over the sources. `query` is the query that was counted. A
/// comparison in it is ignored, because it needs the records.
///
/// If the query names no kind, the report is about the [main kind](main_kind), and contains reports
/// about the others.
pub fn report_of_fold<S: LogSource>(
    evaluations: &EvaluationByKind,
    values: &Values,
    snapshot: &Snapshot<S>,
    query: &ParsedQuery,
) -> Report {
    let count = |kind: weir_core::RecordKind| KindCount {
        kind: kind.into(),
        records: evaluations.records(kind),
    };
    let mut kinds: Vec<KindCount> = weir_core::RecordKind::ALL.map(count).into();
    kinds.retain(|count| count.records > 0);
    let main = query.kind.unwrap_or_else(|| main_kind(&kinds));
    let top = query.top;
    let of_kind = |kind: RecordKind| {
        let counted = evaluations.of(kind.into()).map(Cow::Borrowed);
        // The data may have no record of the kind that the query names.
        let evaluation = counted.unwrap_or_else(|| Cow::Owned(evaluations.blank(kind.into())));
        let range_ns = axis_ns(&evaluation, evaluations.time_range_ns(kind.into()));
        let unfiltered = evaluations.unfiltered(kind.into());
        let timeline = Timeline { own: &evaluation, overlay: &[], unfiltered, range_ns };
        let mut report = plain_report(&timeline, values, snapshot, query, (kind, &kinds));
        report.group = query.group.as_ref().and_then(|group| {
            group_rows(
                group,
                values,
                &evaluation,
                None,
                GroupPart { count: top, ..GroupPart::default() },
            )
        });
        report
    };
    let mut report = of_kind(main);
    report.incomplete = incomplete(&snapshot.sources);
    if query.kind.is_none() {
        let others = kinds.iter().map(|count| count.kind).filter(|kind| *kind != main);
        report.other_kinds = others.map(of_kind).collect();
    }
    report
}

/// Returns the time axis of an evaluation: the time range of its conditions. A missing start or end
/// is taken from the log. Returns `None` if the log has no time.
///
/// A single bound outside the log does not lengthen the axis, because there is nothing to see.
pub(crate) fn axis_ns(evaluation: &Evaluation, log_ns: Option<(i64, i64)>) -> Option<(i64, i64)> {
    let (since_ns, until_ns) = evaluation.filter().time_range_ns();
    let (first_ns, last_ns) = log_ns?;
    let range_ns = match (since_ns, until_ns) {
        (i64::MIN, _) => (first_ns, until_ns.min(last_ns)),
        (_, i64::MAX) => (since_ns.max(first_ns), last_ns),
        both => both,
    };
    (range_ns.0 <= range_ns.1).then_some(range_ns)
}

/// Builds the report about one kind, without a group. `kinds` are the numbers of records of each
/// kind.
pub(crate) fn plain_report<S: LogSource>(
    timeline: &Timeline<'_>,
    values: &Values,
    snapshot: &Snapshot<S>,
    query: &ParsedQuery,
    (kind, kinds): (RecordKind, &[KindCount]),
) -> Report {
    let counts = ReadCounts::of_all(&snapshot.sources);
    let format = weir_view::Format::of_sources(&snapshot.sources);
    let formats = FormatCount::of_sources(&snapshot.sources);
    let mut report = Report::new(timeline.own, values, &counts, format, query.top)
        .with_timeline(timeline, values)
        .with_formats(formats)
        .of_kind(kind, kinds)
        .of_formats(&snapshot.formats, logged_fields(query, values));
    report.time.year_from = year_source(&snapshot.sources, kind);
    report
}

/// Returns the names of the fields in the filter, and of those from which others are derived.
fn logged_fields(query: &ParsedQuery, values: &Values) -> Vec<String> {
    let logged = |name: String| match values.derived_field(&name, None) {
        None => name,
        Some((field, _)) => match field.inputs().first() {
            Some(DerivedInput::Text(input)) => input.clone(),
            _ => Field::Time.name().to_owned(),
        },
    };
    query.field_names().into_iter().map(logged).collect()
}

/// Returns where the years of a kind of records come from, if some sources have none: the least
/// certain origin.
fn year_source<S: LogSource>(sources: &[S], kind: RecordKind) -> Option<YearSource> {
    let formats = sources.iter().flat_map(LogSource::records_by_format);
    let own = formats.filter(|(format, records)| {
        *records > 0 && format.lacks_year() && RecordKind::from(format.kind()) == kind
    });
    own.filter_map(|(format, _)| Some(format.year()?.origin.into())).max()
}

/// Returns the sources that were not read completely.
pub(crate) fn incomplete<S: LogSource>(sources: &[S]) -> Vec<IncompleteSource> {
    let incomplete = |source: &S| {
        let reason = source.defect()?;
        Some(IncompleteSource { source: source.name().to_owned(), reason })
    };
    sources.iter().filter_map(incomplete).collect()
}
