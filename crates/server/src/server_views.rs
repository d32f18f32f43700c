//! The work on answers and live views of each data set, for a bounded number of data sets.

use std::sync::Arc;

use weir_sync::Lock;

use crate::view_work::{ViewCounts, ViewWork};

/// The maximum number of data sets whose views are counted apart. All others are counted together.
const APART_MAX: usize = 100;

/// The work on the views of all data sets of a server. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerViews(Arc<Lock<State>>);

#[derive(Debug, Default)]
struct State {
    /// The data sets that are counted apart, by number. A data set stays here, or in `others`,
    /// until it ends.
    apart: Vec<(u64, Arc<ViewWork>)>,
    others: Arc<ViewWork>,
    /// The sums of the data sets of `apart` that have ended.
    ended: ViewCounts,
}

/// The work on the views of one data set, or of all that are not counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionViewCounts {
    /// The number of the data set, from 0. `None` stands for the data sets that have ended, and
    /// those above the maximum.
    pub session: Option<u64>,
    /// The work.
    pub counts: ViewCounts,
}

impl ServerViews {
    /// Returns the counters of a data set that begins to answer questions.
    pub(crate) fn join(&self, session: u64) -> Arc<ViewWork> {
        let mut state = self.0.lock();
        state.drop_ended();
        if state.apart.len() >= APART_MAX {
            return state.others.clone();
        }
        let work = Arc::<ViewWork>::default();
        let at = state.apart.partition_point(|(number, _)| *number < session);
        state.apart.insert(at, (session, work.clone()));
        work
    }

    /// Returns the counts of each data set, and of the others if there were any. The sum never
    /// decreases.
    pub(crate) fn counts(&self) -> Vec<SessionViewCounts> {
        let mut state = self.0.lock();
        state.drop_ended();
        let apart = state.apart.iter().map(|(number, work)| (Some(*number), work.counts()));
        let others = (None, state.others.counts() + state.ended);
        let all =
            apart.chain([others]).map(|(session, counts)| SessionViewCounts { session, counts });
        all.filter(|views| views.counts != ViewCounts::default()).collect()
    }
}

impl State {
    /// Adds the counts of data sets that have ended to the sum. Nothing counts for them any more,
    /// because nothing else holds their counters.
    fn drop_ended(&mut self) {
        let ended = &mut self.ended;
        self.apart.retain_mut(|(_, work)| {
            // Unlike the count of the references, this sees the last counts of other threads.
            let Some(unused) = Arc::get_mut(work) else { return true };
            *ended = *ended + unused.counts();
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{APART_MAX, ServerViews, SessionViewCounts};

    fn views(counts: &[SessionViewCounts]) -> Vec<(Option<u64>, u64)> {
        counts.iter().map(|it| (it.session, it.counts.views)).collect()
    }

    #[test]
    fn an_ended_data_set_stays_in_the_sum() {
        let all = ServerViews::default();
        let (second, first) = (all.join(7), all.join(3));
        assert_eq!(all.counts(), [], "nobody has asked");
        first.add_view(10);
        second.add_view(20);
        second.add_view(30);
        assert_eq!(views(&all.counts()), [(Some(3), 1), (Some(7), 2)]);
        let connection = second.connect();
        drop(second);
        assert_eq!(views(&all.counts()), [(Some(3), 1), (Some(7), 2)], "its page is still there");
        drop(connection);
        assert_eq!(views(&all.counts()), [(Some(3), 1), (None, 2)]);
        drop(first);
        let counts = all.counts();
        assert_eq!((views(&counts), counts[0].counts.bytes), (vec![(None, 3)], 60));
    }

    #[test]
    fn data_sets_above_the_maximum_are_counted_together() {
        let all = ServerViews::default();
        let mut works: Vec<_> = (0..APART_MAX as u64 + 2).map(|number| all.join(number)).collect();
        for work in &works {
            work.add_view(1);
        }
        let counts = views(&all.counts());
        assert_eq!(counts.len(), APART_MAX + 1);
        assert_eq!((counts[0], counts[APART_MAX]), ((Some(0), 1), (None, 2)));
        works.remove(0);
        let counts = views(&all.counts());
        assert_eq!((counts[0], counts[APART_MAX - 1]), ((Some(1), 1), (None, 3)));
        // There is room for a new one.
        all.join(1_000).add_view(1);
        assert_eq!(views(&all.counts()).last(), Some(&(None, 4)), "it has ended too");
        let new = all.join(1_001);
        new.add_view(1);
        assert_eq!(views(&all.counts())[APART_MAX - 1], (Some(1_001), 1));
    }
}
