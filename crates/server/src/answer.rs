//! Reports, made on a thread for blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_ingest::DataSet;
use weir_query::Evaluator;
use weir_view::{Query, QueryError, Report};

use crate::refusal::Refusal;

/// Makes the report of all records that a data set holds now. Dropping the future cancels the
/// work.
pub(crate) async fn report(
    data: Arc<DataSet>,
    query: Query,
    jobs: usize,
) -> Result<Report, Refusal> {
    let guard = CancelOnDrop::default();
    let is_cancelled = guard.flag();
    let work = move || -> Result<Report, QueryError> {
        let mut evaluator = Evaluator::new(data, query, jobs)?;
        Ok(evaluator.answer(&is_cancelled).map(|answer| answer.report).unwrap_or_default())
    };
    // This fails only if the server ends meanwhile.
    let joined = tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::SessionEnded)?;
    Ok(joined?)
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
