//! Merges the results of parallel work in the order of its parts.

use std::collections::BTreeMap;

use weir_sync::{Condition, Lock};

/// Merges chunks in the order of their parts, however the parts are divided among threads.
///
/// Threads add the chunks of their parts. The chunks of the first part that has not ended are
/// merged at once; those of later parts wait. If too many bytes wait, threads that add more wait
/// for the turn of their part, which bounds the memory.
///
/// Every part must begin and end, or later parts wait forever. A [`Part`] ends when it is dropped.
#[derive(Debug)]
pub struct OrderedMerge<T, C> {
    state: Lock<State<T, C>>,
    has_moved_on: Condition,
    waiting_bytes_max: usize,
    merge: fn(&mut T, C),
}

#[derive(Debug)]
struct State<T, C> {
    total: T,
    /// The number of the part whose turn it is.
    turn: u64,
    /// Parts that have begun and are not merged.
    parts: BTreeMap<u64, WaitingPart<C>>,
    waiting_bytes: usize,
}

#[derive(Debug)]
struct WaitingPart<C> {
    chunks: Vec<(C, usize)>,
    has_ended: bool,
}

/// A part of the work. It ends when it is dropped.
#[derive(Debug)]
pub struct Part<'a, T, C> {
    merge: &'a OrderedMerge<T, C>,
    number: u64,
}

impl<T, C> OrderedMerge<T, C> {
    /// Creates a merge of chunks into `total` by `merge`. At most `waiting_bytes_max` bytes of
    /// chunks wait, but at least one chunk.
    pub fn new(total: T, waiting_bytes_max: usize, merge: fn(&mut T, C)) -> Self {
        let parts = BTreeMap::new();
        let state = State { total, turn: 0, parts, waiting_bytes: 0 };
        let (state, has_moved_on) = (Lock::new(state), Condition::new());
        Self { state, has_moved_on, waiting_bytes_max, merge }
    }

    /// Begins a part. Parts are numbered from 0, and no number may be left out.
    pub fn part(&self, number: u64) -> Part<'_, T, C> {
        Part { merge: self, number }
    }

    /// Returns the result, after the parts have ended.
    pub fn into_total(self) -> T {
        self.state.into_inner().total
    }

    /// Merges the chunks whose turn it is.
    fn advance(&self, state: &mut State<T, C>) {
        while let Some(part) = state.parts.get_mut(&state.turn) {
            for (chunk, bytes) in part.chunks.drain(..) {
                (self.merge)(&mut state.total, chunk);
                state.waiting_bytes -= bytes;
            }
            if !part.has_ended {
                break;
            }
            state.parts.remove(&state.turn);
            state.turn += 1;
        }
        self.has_moved_on.notify_all();
    }
}

impl<T, C> Part<'_, T, C> {
    /// Adds a chunk of `bytes` bytes to the end of the part.
    pub fn put(&self, chunk: C, bytes: usize) {
        let max = self.merge.waiting_bytes_max;
        let must_wait = |state: &mut State<T, C>| {
            let is_full = state.waiting_bytes > 0 && state.waiting_bytes + bytes > max;
            is_full && state.turn != self.number
        };
        let mut state = self.merge.has_moved_on.wait_while(self.merge.state.lock(), must_wait);
        state.waiting_bytes += bytes;
        state.waiting(self.number).chunks.push((chunk, bytes));
        self.merge.advance(&mut state);
    }
}

impl<T, C> State<T, C> {
    fn waiting(&mut self, number: u64) -> &mut WaitingPart<C> {
        let new = || WaitingPart { chunks: Vec::new(), has_ended: false };
        self.parts.entry(number).or_insert_with(new)
    }
}

impl<T, C> Drop for Part<'_, T, C> {
    fn drop(&mut self) {
        let mut state = self.merge.state.lock();
        state.waiting(self.number).has_ended = true;
        self.merge.advance(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::OrderedMerge;

    #[test]
    fn chunks_are_merged_in_order_by_any_number_of_threads() {
        for (threads, waiting_bytes_max) in [(1, 0), (2, 0), (3, 20), (8, 1_000_000)] {
            let merge = OrderedMerge::new(Vec::new(), waiting_bytes_max, Vec::push);
            let next = AtomicU64::new(0);
            let work = || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 200 {
                        break;
                    }
                    let part = merge.part(number);
                    (0..number % 4).for_each(|chunk| part.put((number, chunk), 7));
                }
            };
            std::thread::scope(|scope| {
                (0..threads).for_each(|_| drop(scope.spawn(work)));
            });
            let merged = merge.into_total();
            assert_eq!(merged.len(), 50 * (1 + 2 + 3));
            assert!(merged.is_sorted());
        }
    }
}
