//! Reports, made on a thread for blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use weir_ingest::DataSet;
use weir_query::{Evaluator, settled};
use weir_view::{Now, Query};

use crate::refusal::Refusal;
use crate::session::Session;

/// Checks a query, and returns it with its filter in the normal form. Compiles its expressions,
/// which may take long.
///
/// # Errors
/// If the query is not valid for this data, or the log has no field of the filter.
pub(crate) fn checked(query: Query, data: &DataSet, now: &Now) -> Result<Query, Refusal> {
    // First, because the sentence about an unknown field lists the fields of the log.
    let formats = data.formats();
    query.check_fields(formats.iter().map(Arc::as_ref))?;
    query.check_conditions(&data.values())?;
    settled(&query, data, now)?.question(&data.values())?;
    Ok(query.normalized())
}

/// Makes the report of all records that a data set holds now, as JSON. Dropping the future
/// cancels the work.
///
/// # Errors
/// Fails if the query is not valid for this data, or names no period that can be compared, and
/// if the answer takes too long or too much memory.
pub(crate) async fn report(
    session: &Arc<Session>,
    data: Arc<DataSet>,
    query: Query,
) -> Result<Bytes, Refusal> {
    let guard = CancelOnDrop::default();
    let (jobs, memory) = (session.jobs(), session.view_memory().clone());
    let work = move |is_cancelled: &AtomicBool| {
        let now = Now::read();
        let query = settled(&checked(query, &data, &now)?, &*data, &now)?;
        let mut evaluator = Evaluator::new(data.clone(), query, jobs)?;
        let answer = evaluator.answer(is_cancelled).ok_or(Refusal::SessionEnded)?;
        if let Some(error) = answer.period_error {
            return Err(Refusal::BadQuery(format!("there is no comparison: {error}")));
        }
        let text = weir_view::to_json(&answer.report).map_err(Refusal::internal)? + "\n";
        let text = memory.keep(text, &data);
        if memory.is_crowded() { Err(Refusal::Busy) } else { Ok(text) }
    };
    session.turns().answer(&guard.flag(), work).await?
}

/// Cancels work on an answer when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct CancelOnDrop(Arc<AtomicBool>);

impl CancelOnDrop {
    /// The flag that the work has to watch.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
