//! Answers on threads for work that blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_ingest::DataSet;
use weir_query::Evaluator;
use weir_view::{Query, QueryError, Report};

use crate::refusal::Refusal;

/// The report about all that a data set holds at this moment. The work is abandoned when the
/// future is dropped.
pub(crate) async fn report(
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
    // Joining the work fails only if the server ends meanwhile.
    let joined = tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::SessionEnded)?;
    Ok(joined?)
}

/// Abandons work when it is dropped.
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
