//! Answers that others can be made from.

use std::sync::Arc;

use weir_core::{Counted, Evaluation, RowBits};

/// An answer over the first segments of a data set.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) evaluation: Evaluation,
    /// Which rows it counts, by segment; `None` where it counts all.
    pub(super) passes: Option<Vec<RowBits>>,
    /// Number of segments.
    pub(super) segments: usize,
}

impl Known {
    fn counted(&self) -> Counted<'_> {
        self.passes.as_deref().map_or(Counted::All(self.segments), Counted::Rows)
    }

    /// As what to start from, where it saves most work: answers over `passes` can start from
    /// nothing, too, which is `None`.
    pub(super) fn nearest<'a>(
        bases: &'a Bases,
        passes: &[RowBits],
    ) -> Option<(&'a Evaluation, Counted<'a>)> {
        let rows = |base: &Counted<'_>| -> usize {
            let passes = passes.iter().enumerate();
            passes.map(|(number, pass)| base.differing(number, pass)).sum()
        };
        let from_nothing = passes.iter().map(RowBits::len).sum();
        let known = [&bases.last, &bases.all].into_iter().flatten();
        let known = known.map(|known| (&known.evaluation, known.counted()));
        let costs = known.map(|base| (rows(&base.1), base));
        let nearest = costs.min_by_key(|(cost, _)| *cost);
        nearest.filter(|(cost, _)| *cost < from_nothing).map(|(_, base)| base)
    }

    fn memory_bytes(&self) -> usize {
        let passes: usize = self.passes.iter().flatten().map(RowBits::memory_bytes).sum();
        self.evaluation.memory_bytes() + passes
    }
}

/// The answers that are kept: that about all rows, because most filters are near to it or to
/// nothing, and the last one, because most filters are near to the one before.
#[derive(Debug, Clone, Default)]
pub(super) struct Bases {
    pub(super) all: Option<Arc<Known>>,
    pub(super) last: Option<Arc<Known>>,
}

impl Bases {
    /// Each may take one part in this many of the data set's memory; beyond that, answers are
    /// made from nothing.
    const MEMORY_SHARE: usize = 32;

    /// Keeps an answer that may take its share of so much memory.
    pub(super) fn keep(&mut self, known: &Arc<Known>, memory_bytes_max: usize) {
        let fits = known.memory_bytes() <= memory_bytes_max / Self::MEMORY_SHARE;
        let kept = fits.then(|| known.clone());
        match known.passes {
            None => self.all = kept,
            Some(_) => self.last = kept,
        }
    }

    /// The answer about all rows, where it lacks segments of which more rows pass than not:
    /// then it is worth to add them to it, because the next question may be as broad.
    pub(super) fn all_behind(&self, passes: &[RowBits]) -> Option<&Arc<Known>> {
        self.all.as_ref().filter(|all| {
            let missing = || passes.iter().skip(all.segments);
            let rows: usize = missing().map(RowBits::rows).sum();
            2 * missing().map(RowBits::len).sum::<usize>() > rows
        })
    }

    /// Memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        [&self.all, &self.last].into_iter().flatten().map(|known| known.memory_bytes()).sum()
    }
}
