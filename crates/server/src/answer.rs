//! Reports, made on a thread for blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_ingest::DataSet;
use weir_query::Evaluator;
use weir_view::{Query, Report};

use crate::refusal::Refusal;

/// Makes the report of all records that a data set holds now. Dropping the future cancels the
/// work.
///
/// # Errors
/// Fails if the query is not valid for this data, or names no period that can be compared.
pub(crate) async fn report(
    data: Arc<DataSet>,
    query: Query,
    jobs: usize,
) -> Result<Report, Refusal> {
    let guard = CancelOnDrop::default();
    let is_cancelled = guard.flag();
    let work = move || -> Result<Report, Refusal> {
        let mut evaluator = Evaluator::new(data, query, jobs)?;
        let Some(answer) = evaluator.answer(&is_cancelled) else { return Ok(Report::default()) };
        match answer.period_error {
            None => Ok(answer.report),
            Some(error) => Err(Refusal::BadQuery(format!("there is no comparison: {error}"))),
        }
    };
    // This fails only if the server ends meanwhile.
    tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::SessionEnded)?
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
