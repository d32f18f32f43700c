//! Computes reports on blocking threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use weir_ingest::{DataSet, SourceEnd, SourceSnapshot};
use weir_observe::mark;
use weir_query::{Evaluator, Now, ParsedQuery, WrittenQuery, log_zone};
use weir_sync::Lock;
use weir_view::{Query, ReportSource};

use crate::options::HtmlReport;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::turns::{CancelOnDrop, Effort};

/// Checks a query, and returns it with the instants of its times. This compiles the query's regular
/// expressions, which may take long.
///
/// # Errors
/// Fails if the query is not valid for this data, or no format of the log has a field of the
/// filter.
pub(crate) fn check(query: &WrittenQuery, data: &DataSet) -> Result<ParsedQuery, Refusal> {
    // Fields first, because the message about an unknown field lists the fields of the log.
    let formats = data.formats();
    let values = data.values();
    let derived = |name: &str| values.derived_field(name, None).map(|(field, _)| field);
    query.check_fields(formats.iter().map(Arc::as_ref), &derived)?;
    Ok(query.check(&values, &|| log_zone(&values))?)
}

/// Computes the report of all current records of a data set, as JSON or as `html` writes it. Dropping
/// the future cancels the work.
///
/// # Errors
/// Fails if the query is not valid for this data, if its periods cannot be compared, or if the
/// answer takes too long or too much memory.
pub(crate) async fn report(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    query: &Query,
    html: Option<HtmlReport>,
) -> Result<Bytes, Refusal> {
    let query = WrittenQuery::parse(query, Now::read())?;
    let (jobs, memory) = (session.jobs(), session.view_memory().clone());
    let effort = match Effort::of(query.expressions()) {
        Effort::Short => Effort::Report,
        effort => effort,
    };
    let query = Arc::new(query);
    let mut bytes = 0;
    loop {
        // The room may be occupied by texts for clients that do not read.
        let room = memory.report_room(bytes).await.ok_or(Refusal::Busy)?;
        let room = Lock::new(Some(room));
        let (query, data) = (query.clone(), data.clone());
        let work = move |should_stop: &AtomicBool| {
            let text = report_text(&query, &data, jobs, html, should_stop).transpose()?;
            // The work ends with the first text, so there is still room.
            let room = room.lock().take().ok_or(Refusal::Busy);
            Some(text.and_then(|text| Ok(room?.keep(text))))
        };
        // While this future is awaited, only the end of the session cancels the work. A flag that an
        // earlier round left set would end this one.
        let guard = CancelOnDrop::default();
        let made = session.turns().answer(effort, &guard.cancellation(), work).await?;
        match made.unwrap_or(Err(Refusal::SessionEnded))? {
            Ok(report) => return Ok(report),
            Err(length) => bytes = length,
        }
    }
}

/// Computes the text of a report. Returns `None` if the flag was set.
fn report_text(
    query: &WrittenQuery,
    data: &Arc<DataSet>,
    jobs: usize,
    html: Option<HtmlReport>,
    should_stop: &AtomicBool,
) -> Result<Option<String>, Refusal> {
    let query = check(query, data)?;
    if should_stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut evaluator = Evaluator::new(data.clone(), query, jobs)?;
    let call = mark!("Evaluator::answer").enter();
    let Some(answer) = evaluator.answer(should_stop) else { return Ok(None) };
    drop(call);
    if let Some(error) = answer.period_error {
        return Err(Refusal::BadQuery(format!("there is no comparison: {error}")));
    }
    let mut report = answer.report;
    let is_complete = |source: &SourceSnapshot| source.end == Some(SourceEnd::Done);
    let sources = answer.sources.iter();
    report.sources = sources.map(|source| ReportSource::of(source, is_complete(source))).collect();
    Ok(Some(match html {
        Some(html) => html(&report, &answer.sources),
        None => weir_view::to_json(&report).map_err(Refusal::internal)? + "\n",
    }))
}
