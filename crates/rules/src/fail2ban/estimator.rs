//! Estimates the number of recent failures as fail2ban does.
//!
//! This is not a sliding window. If a key fails for longer than `findtime`, its count is scaled
//! down to that time, as if the failures had come at a constant rate.
//!
//! Source: `server/failmanager.py` and `server/ticket.py` of fail2ban 1.0.2.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

/// The failures of a key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ticket {
    first_s: f64,
    /// The time of the last failure, at which a ban begins.
    pub(super) last_s: f64,
    pub(super) retry: f64,
    /// The last failed lines, by source and number.
    pub(super) matches: VecDeque<(u32, u64)>,
}

/// The failures of all keys, by number.
///
/// # Memory
///
/// 80 bytes for each key of the log, and 16 for each line of a ticket, at most `maxmatches` lines.
#[derive(Debug, Clone, Default)]
pub(super) struct FailManager {
    tickets: Vec<Option<Ticket>>,
    /// By key: the time of its entry in the queue, which is not after its last failure; infinite if
    /// it has no entry.
    queued_s: Vec<f64>,
    /// The keys with tickets. An entry is stale if its time differs from that in `queued_s`.
    queue: BinaryHeap<Reverse<QueuedKey>>,
    find_time_s: f64,
    matches_max: usize,
    matches: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct QueuedKey {
    time_s: f64,
    key: u32,
}

impl Eq for QueuedKey {}

impl Ord for QueuedKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time_s.total_cmp(&other.time_s).then(self.key.cmp(&other.key))
    }
}

impl PartialOrd for QueuedKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FailManager {
    pub(super) fn new(find_time_s: f64, matches_max: usize) -> Self {
        Self { find_time_s, matches_max, ..Self::default() }
    }

    /// Adds `count` failures of a key at a time, and returns the key's new count.
    pub(super) fn add(&mut self, key: u32, time_s: f64, count: f64, line: (u32, u64)) -> f64 {
        let index = key as usize;
        if self.tickets.len() <= index {
            self.tickets.resize(index + 1, None);
            self.queued_s.resize(index + 1, f64::INFINITY);
        }
        let ticket = match &mut self.tickets[index] {
            Some(ticket) => {
                ticket.move_to(time_s, self.find_time_s);
                ticket.retry += count;
                ticket
            }
            empty => empty.insert(Ticket {
                first_s: time_s,
                last_s: time_s,
                retry: count,
                matches: VecDeque::new(),
            }),
        };
        if self.matches_max > 0 {
            ticket.matches.push_back(line);
            self.matches += 1;
            if ticket.matches.len() > self.matches_max {
                ticket.matches.pop_front();
                self.matches -= 1;
            }
        }
        // A new ticket may be older than a removed one.
        if ticket.last_s < self.queued_s[index] {
            self.queued_s[index] = ticket.last_s;
            self.queue.push(Reverse(QueuedKey { time_s: ticket.last_s, key }));
        }
        ticket.retry
    }

    /// Adds to the count of a key that has failures, and returns the new count.
    pub(super) fn add_to(&mut self, key: u32, count: f64) -> f64 {
        let ticket = self.tickets.get_mut(key as usize).and_then(Option::as_mut);
        ticket.map_or(0.0, |ticket| {
            ticket.retry += count;
            ticket.retry
        })
    }

    /// Whether a key has failures.
    pub(super) fn has(&self, key: u32) -> bool {
        self.tickets.get(key as usize).is_some_and(Option::is_some)
    }

    /// Removes and returns the failures of a key.
    pub(super) fn take(&mut self, key: u32) -> Option<Ticket> {
        let ticket = self.tickets.get_mut(key as usize)?.take()?;
        self.matches -= ticket.matches.len();
        Some(ticket)
    }

    /// Removes the keys whose last failure is at least `findtime` ago.
    pub(super) fn forget_idle(&mut self, now_s: f64) {
        let idle_s = now_s - self.find_time_s;
        while let Some(Reverse(queued)) = self.queue.peek().copied()
            && queued.time_s <= idle_s
        {
            self.queue.pop();
            let queued_s = &mut self.queued_s[queued.key as usize];
            if *queued_s != queued.time_s {
                continue;
            }
            let ticket = &mut self.tickets[queued.key as usize];
            match ticket {
                Some(known) if known.last_s > idle_s => {
                    *queued_s = known.last_s;
                    self.queue.push(Reverse(QueuedKey { time_s: known.last_s, ..queued }));
                }
                _ => {
                    self.matches -= ticket.take().map_or(0, |ticket| ticket.matches.len());
                    *queued_s = f64::INFINITY;
                }
            }
        }
    }

    /// The memory taken, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.tickets.capacity() * size_of::<Option<Ticket>>()
            + self.queued_s.capacity() * size_of::<f64>()
            + self.queue.capacity() * size_of::<QueuedKey>()
            + self.matches * 2 * size_of::<(u32, u64)>()
    }
}

impl Ticket {
    /// Scales the count down to the last `findtime` before a failure.
    fn move_to(&mut self, time_s: f64, find_time_s: f64) {
        if time_s <= self.last_s {
            return;
        }
        if self.first_s < time_s - find_time_s {
            self.retry = (self.retry / (time_s - self.first_s) * find_time_s).round_ties_even();
            self.first_s = time_s - find_time_s;
        }
        self.last_s = time_s;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::FailManager;

    /// A ticket: its first and last time, its count.
    type NaiveTicket = (f64, f64, f64);

    #[derive(Debug, Clone)]
    enum Step {
        Fail { key: u32, after_s: i32, count: u8 },
        Forget { after_s: i32 },
        Take { key: u32 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..5u32, -40..40i32, 1..3u8)
                .prop_map(|(key, after_s, count)| Step::Fail { key, after_s, count }),
            2 => (-5..40i32).prop_map(|after_s| Step::Forget { after_s }),
            3 => (0..5u32).prop_map(|key| Step::Take { key }),
        ]
    }

    proptest! {
        #[test]
        fn tickets_are_those_of_a_list(steps in prop::collection::vec(step(), 0..200), find_time in 1..60u8) {
            let find_time = f64::from(find_time);
            let mut manager = FailManager::new(find_time, 2);
            let mut naive: BTreeMap<u32, NaiveTicket> = BTreeMap::new();
            let mut now = 1_000.0;
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Fail { key, after_s, count } => {
                        now += f64::from(after_s);
                        let count = f64::from(count);
                        let retry = manager.add(key, now, count, (0, number as u64));
                        let expected = match naive.get_mut(&key) {
                            None => {
                                naive.insert(key, (now, now, count));
                                count
                            }
                            Some((first, last, retry)) => {
                                if now > *last {
                                    if *first < now - find_time {
                                        *retry = (*retry / (now - *first) * find_time).round_ties_even();
                                        *first = now - find_time;
                                    }
                                    *last = now;
                                }
                                *retry += count;
                                *retry
                            }
                        };
                        prop_assert_eq!(retry, expected);
                    }
                    Step::Forget { after_s } => {
                        now += f64::from(after_s);
                        manager.forget_idle(now);
                        naive.retain(|_, (_, last, _)| *last > now - find_time);
                    }
                    Step::Take { key } => {
                        let taken = manager.take(key);
                        prop_assert!(taken.as_ref().is_none_or(|taken| taken.matches.len() <= 2));
                        let taken = taken.map(|ticket| (ticket.first_s, ticket.last_s, ticket.retry));
                        prop_assert_eq!(taken, naive.remove(&key));
                    }
                }
                for key in 0..5 {
                    prop_assert_eq!(manager.has(key), naive.contains_key(&key));
                }
            }
        }
    }
}
