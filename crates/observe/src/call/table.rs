//! What is known of the calls of functions.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

/// The calls of one function by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallCounts {
    /// The marked function that called it, directly or through others without a mark; none if there was none.
    pub caller: Option<&'static str>,
    /// The function.
    pub name: &'static str,
    /// How often it was called.
    pub calls: u64,
    /// The time of the calls without that of marked functions which they called.
    pub own: Duration,
    /// The time of the calls with everything that they called. A call within another one of the same function
    /// adds nothing to it, so no time is counted twice.
    pub accumulated: Duration,
}

/// Who called whom.
type Edge = (Option<&'static str>, &'static str);

/// The calls by function and caller.
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

    /// The rows, those with the longest time by themselves first.
    pub(super) fn counts(&self) -> Vec<CallCounts> {
        let counts = self.0.iter().map(|(&(caller, name), &Sums { calls, own, accumulated })| {
            CallCounts { caller, name, calls, own, accumulated }
        });
        let mut counts: Vec<CallCounts> = counts.collect();
        counts.sort_by_key(|it| (Reverse(it.own), it.name, it.caller));
        counts
    }
}
