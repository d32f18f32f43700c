//! Tables of call counts and times.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

/// The calls of one function by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCounts {
    /// The nearest marked caller, direct or through unmarked functions; `None` if there was none.
    pub caller: Option<&'static str>,
    /// The called function.
    pub name: &'static str,
    /// The number of calls.
    pub calls: u64,
    /// The time of the calls, without the marked functions that they called.
    pub own: Duration,
    /// The time of the calls, with all functions that they called. A recursive call adds nothing,
    /// so no time is counted twice.
    pub accumulated: Duration,
}

/// A caller, if any, and the called function.
type Edge = (Option<&'static str>, &'static str);

/// The sums of calls by caller and function.
#[derive(Debug, Default)]
pub(super) struct Table(HashMap<Edge, Sums>);

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Sums {
    pub(super) calls: u64,
    pub(super) own: Duration,
    pub(super) accumulated: Duration,
}

impl Table {
    pub(super) fn count(&mut self, edge: Edge, sums: Sums) {
        let kept = self.0.entry(edge).or_default();
        kept.calls += sums.calls;
        kept.own += sums.own;
        kept.accumulated += sums.accumulated;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (edge, sums) in &other.0 {
            self.count(*edge, *sums);
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the rows ordered by own time, longest first.
    pub(super) fn counts(&self) -> Vec<CallCounts> {
        let counts = self.0.iter().map(|(&(caller, name), &Sums { calls, own, accumulated })| {
            CallCounts { caller, name, calls, own, accumulated }
        });
        let mut counts: Vec<CallCounts> = counts.collect();
        counts.sort_by_key(|it| (Reverse(it.own), it.name, it.caller));
        counts
    }
}
