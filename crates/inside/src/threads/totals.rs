//! The total times of threads by kind, including threads that have ended: a Prometheus counter must
//! not decrease.

use std::collections::{BTreeMap, HashMap};

use weir_view::Thread;

use super::threads;

/// The most kinds. The program has fewer, but a library might start threads with many names.
const KINDS_MAX: usize = 100;

/// The kind of all threads beyond that limit.
const OTHER: &str = "other";

/// Times in seconds of one thread or of all threads of a kind; `None` if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ThreadTimes {
    /// Running on a processor.
    pub(crate) running: Option<f64>,
    /// Waiting for a processor.
    pub(crate) waiting: Option<f64>,
}

/// The total times of all threads by kind, including threads that have ended.
#[derive(Debug, Default)]
pub(crate) struct ThreadTotals {
    /// The kind and the times of each thread at the last update, by its number.
    last: HashMap<u64, (String, ThreadTimes)>,
    kinds: BTreeMap<String, ThreadTimes>,
}

impl ThreadTotals {
    /// Updates and returns the totals by kind. Work of a thread between its last update and its end
    /// is not counted.
    pub(crate) fn update(&mut self) -> &BTreeMap<String, ThreadTimes> {
        self.add(&threads());
        &self.kinds
    }

    fn add(&mut self, threads: &[Thread]) {
        let mut current = HashMap::new();
        for thread in threads {
            let (kind, work) = (self.kind(&thread.name), thread.work);
            // A thread that ends while it is read has no times any more, or only in a coarser unit.
            let is_ending = self
                .last
                .get(&thread.id)
                .is_some_and(|(_, before)| before.waiting.is_some() && work.waiting.is_none());
            if is_ending {
                continue;
            }
            let now = ThreadTimes { running: work.running, waiting: work.waiting };
            let before = self.last.remove(&thread.id).filter(|(last_kind, before)| {
                // Otherwise the system has reused the number of a thread that ended.
                *last_kind == kind && before.running <= now.running
            });
            let before = before.map(|(_, times)| times).unwrap_or_default();
            let sum = self.kinds.entry(kind.clone()).or_default();
            grow(&mut sum.running, before.running, now.running);
            grow(&mut sum.waiting, before.waiting, now.waiting);
            current.insert(thread.id, (kind, now));
        }
        self.last = current;
    }

    /// Returns the kind of a thread: its name without the number at its end.
    fn kind(&self, name: &str) -> String {
        let is_number = |it: char| it.is_ascii_digit();
        let kind = name.trim_end_matches(is_number).trim_end_matches(['-', ' ', '_']);
        let kind = if kind.is_empty() { name } else { kind };
        let has_room = self.kinds.len() < KINDS_MAX || self.kinds.contains_key(kind);
        if has_room { kind } else { OTHER }.to_owned()
    }
}

fn grow(sum: &mut Option<f64>, before: Option<f64>, now: Option<f64>) {
    if let Some(now) = now {
        *sum.get_or_insert_default() += (now - before.unwrap_or_default()).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use weir_view::{Thread, ThreadWork};

    use super::{KINDS_MAX, OTHER, ThreadTimes, ThreadTotals};

    fn thread(id: u64, name: &str, running: f64) -> Thread {
        Thread {
            id,
            name: name.to_owned(),
            state: None,
            processor: None,
            busy_source: None,
            work: ThreadWork { running: Some(running), ..ThreadWork::default() },
            rates: None,
        }
    }

    fn running(totals: &ThreadTotals, kind: &str) -> Option<f64> {
        totals.kinds.get(kind)?.running
    }

    #[test]
    fn a_sum_never_shrinks() {
        let mut totals = ThreadTotals::default();
        totals.add(&[thread(1, "weir-parse-0", 4.0), thread(2, "weir-parse-1", 2.0)]);
        assert_eq!(running(&totals, "weir-parse"), Some(6.0));
        // One thread has ended, and the other has worked.
        totals.add(&[thread(2, "weir-parse-1", 3.0)]);
        assert_eq!(running(&totals, "weir-parse"), Some(7.0));
        // Threads that reuse the number of an ended thread, of the same kind and of another kind.
        totals.add(&[thread(2, "weir-parse-0", 1.0)]);
        assert_eq!(running(&totals, "weir-parse"), Some(8.0));
        totals.add(&[thread(2, "log", 5.0)]);
        assert_eq!(
            (running(&totals, "log"), running(&totals, "weir-parse")),
            (Some(5.0), Some(8.0))
        );
        let waiting = totals.kinds.values().filter_map(|times| times.waiting).count();
        assert_eq!(waiting, 0, "it is not known");
    }

    #[test]
    fn kinds_are_few() {
        let mut totals = ThreadTotals::default();
        let letters = |number: usize| format!("{}x", "ab".repeat(number));
        let threads: Vec<Thread> =
            (0..2 * KINDS_MAX).map(|number| thread(number as u64, &letters(number), 1.0)).collect();
        totals.add(&threads);
        assert_eq!(totals.kinds.len(), KINDS_MAX + 1);
        assert_eq!(running(&totals, OTHER), Some(KINDS_MAX as f64));
        totals.add(&threads);
        let all = totals.kinds.values().filter_map(|times| times.running);
        assert_eq!(all.sum::<f64>(), 2.0 * KINDS_MAX as f64, "nothing is counted twice");
        assert_eq!(totals.kind("77"), OTHER);
        assert_eq!(ThreadTotals::default().kind("77"), "77");
        assert_eq!(ThreadTotals::default().kinds.get("77"), None::<&ThreadTimes>);
    }
}
