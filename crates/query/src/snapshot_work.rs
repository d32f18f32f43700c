//! Work over one snapshot of a data set, which begins again if the ids of the snapshot become stale.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::{CompiledFilter, Snapshot, Snapshots, Values};

use crate::spread::spread;

/// Why work over a snapshot was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The answer is no longer wanted.
    Abandoned,
    /// Ids of values were reused since the snapshot was taken; another snapshot is needed.
    StaleIds,
}

/// Why a question was not answered over a snapshot.
#[derive(Debug)]
pub(crate) enum Unanswered<E> {
    Interrupted(Interruption),
    /// The question is not valid for the data.
    Refused(E),
}

impl<E> From<Interruption> for Unanswered<E> {
    fn from(interruption: Interruption) -> Self {
        Self::Interrupted(interruption)
    }
}

/// A snapshot, and the threads that work over it.
pub(crate) struct SnapshotWork<'a, D: Snapshots> {
    pub(crate) data: &'a Arc<D>,
    pub(crate) snapshot: Snapshot<D::Source>,
    pub(crate) jobs: usize,
    pub(crate) abandoned: &'a AtomicBool,
}

impl<D: Snapshots> SnapshotWork<'_, D> {
    /// Calls `read` with the values of the snapshot.
    ///
    /// # Errors
    /// Fails if ids of the snapshot are stale.
    pub(crate) fn with_values<T>(
        &self,
        read: impl FnOnce(&Values) -> T,
    ) -> Result<T, Interruption> {
        let values = self.data.values();
        if values.reuses() != self.snapshot.epoch {
            return Err(Interruption::StaleIds);
        }
        Ok(read(&values))
    }

    /// Returns an error if the answer is abandoned.
    ///
    /// # Errors
    /// Fails if the answer is abandoned.
    pub(crate) fn check_wanted(&self) -> Result<(), Interruption> {
        let is_abandoned = self.abandoned.load(Ordering::Relaxed);
        if is_abandoned { Err(Interruption::Abandoned) } else { Ok(()) }
    }

    /// Lets a filter decide about all values.
    ///
    /// # Errors
    /// Fails if the answer is abandoned.
    pub(crate) fn refresh(
        &self,
        filter: &mut CompiledFilter,
        values: &Values,
    ) -> Result<(), Interruption> {
        let is_abandoned = || self.abandoned.load(Ordering::Relaxed);
        let is_done = filter.refresh_unless(values, &is_abandoned);
        if is_done { Ok(()) } else { Err(Interruption::Abandoned) }
    }

    /// Does `work` for each item on the threads. Returns the results in the order of the items.
    ///
    /// # Errors
    /// Fails if the answer is abandoned.
    pub(crate) fn spread<I, T>(
        &self,
        items: I,
        work: impl Fn(I::Item) -> T + Sync,
    ) -> Result<Vec<T>, Interruption>
    where
        I: ExactSizeIterator + Send,
        T: Send,
    {
        spread(self.jobs, items, self.abandoned, work)
    }
}

/// Does `work` over a snapshot, and again over a newer one while ids become stale. Returns `None`
/// if `abandoned` became true.
///
/// # Errors
/// Fails if the question is refused.
pub(crate) fn over_snapshot<D: Snapshots, T, E>(
    data: &Arc<D>,
    jobs: usize,
    abandoned: &AtomicBool,
    mut work: impl FnMut(SnapshotWork<'_, D>) -> Result<T, Unanswered<E>>,
) -> Result<Option<T>, E> {
    loop {
        match work(SnapshotWork { data, snapshot: data.snapshot(), jobs, abandoned }) {
            Ok(answer) => return Ok(Some(answer)),
            Err(Unanswered::Interrupted(Interruption::StaleIds)) => {}
            Err(Unanswered::Interrupted(Interruption::Abandoned)) => return Ok(None),
            Err(Unanswered::Refused(error)) => return Err(error),
        }
    }
}
