//! The thread that takes the stacks which others have noted, and interrupts those that wait.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::interrupt::{Interrupts, interrupt};
use crate::sample_rate::SampleRate;
use crate::threads::{own_thread, thread_name, threads};

/// How often stacks are taken.
const INTERVAL: Duration = Duration::from_millis(50);

/// In this time most threads that were interrupted have noted their stacks.
const HANDLER_TIME: Duration = Duration::from_millis(2);

/// Distinct stacks at most: some 20 MB. Further ones are lost, and counted.
const STACKS_MAX: usize = 20_000;

/// Counts of stacks by the names of threads at most: some 5 MB. Further ones are lost, and counted.
const COUNTS_MAX: usize = 10 * STACKS_MAX;

/// Between two rounds through all threads passes at least so many times the time of a round.
const ROUND_PAUSES: u32 = 9;

/// How often a stack was found in the threads of each name.
type Counts = Vec<(Arc<str>, u64)>;

/// What a collector has found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The stacks by their addresses.
    pub(crate) stacks: HashMap<Box<[usize]>, Counts>,
    /// The counts of all stacks.
    counts: usize,
    /// The names of the threads.
    names: HashMap<i32, Arc<str>>,
    /// Stacks for which there was no room.
    pub(crate) lost: u64,
    /// How often all threads were looked at.
    pub(crate) rounds: u32,
}

/// A thread that collects stacks until this is dropped.
#[derive(Debug)]
pub(crate) struct Collector {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Collected>>,
}

impl Collector {
    /// Starts the thread. With a rate, it interrupts the threads that wait so often.
    ///
    /// # Errors
    /// If the system has no thread.
    pub(crate) fn start(
        interrupts: Interrupts,
        rounds: Option<SampleRate>,
    ) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let collect = move || match rounds {
            None => collect_noted(&interrupts, &over),
            Some(rate) => collect_waiting(&interrupts, &over, rate),
        };
        let thread = thread::Builder::new().name("weir-profile".to_owned()).spawn(collect)?;
        Ok(Self { is_over, thread: Some(thread) })
    }

    /// Ends the thread, and returns what it has found.
    pub(crate) fn finish(mut self) -> Collected {
        self.end()
    }

    fn end(&mut self) -> Collected {
        let Some(thread) = self.thread.take() else { return Collected::default() };
        self.is_over.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes what the timer's interrupts note.
fn collect_noted(interrupts: &Interrupts, is_over: &AtomicBool) -> Collected {
    let mut collected = Collected::default();
    while !is_over.load(Ordering::Relaxed) {
        thread::park_timeout(INTERVAL);
        collected.take(interrupts);
    }
    collected.take(interrupts);
    collected
}

/// Interrupts the threads that wait, again and again.
fn collect_waiting(interrupts: &Interrupts, is_over: &AtomicBool, rate: SampleRate) -> Collected {
    let mut collected = Collected::default();
    let interval = Duration::from_secs(1) / rate.hz();
    let own = own_thread();
    let mut next = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < next {
            thread::park_timeout(next - now);
            continue;
        }
        for thread in threads().iter().filter(|it| Some(it.id) != own && it.state != 'R') {
            interrupt(thread.id);
        }
        collected.rounds += 1;
        collected.take(interrupts);
        next = now + interval.max(now.elapsed() * (ROUND_PAUSES + 1));
    }
    // The stacks of the last round.
    thread::sleep(HANDLER_TIME);
    collected.take(interrupts);
    collected
}

impl Collected {
    fn take(&mut self, interrupts: &Interrupts) {
        let slots = interrupts.slots();
        slots.take_all(|stack| {
            // Its name is asked for while the thread is there.
            let names = self.names.entry(stack.thread);
            let name = names.or_insert_with(|| thread_name(stack.thread).into()).clone();
            self.add(stack.addresses, name);
        });
        self.lost += slots.take_lost();
    }

    /// Counts a stack. The same one on many threads takes one place: its addresses are what is large.
    fn add(&mut self, addresses: Box<[usize]>, thread: Arc<str>) {
        let has_room = self.stacks.len() < STACKS_MAX || self.stacks.contains_key(&addresses);
        if !has_room {
            self.lost += 1;
            return;
        }
        let counts = self.stacks.entry(addresses).or_default();
        if let Some((_, samples)) = counts.iter_mut().find(|(name, _)| *name == thread) {
            *samples += 1;
        } else if self.counts < COUNTS_MAX {
            counts.push((thread, 1));
            self.counts += 1;
        } else {
            self.lost += 1;
        }
    }

    /// The number of samples.
    pub(crate) fn samples(&self) -> u64 {
        self.stacks.values().flatten().map(|(_, samples)| samples).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{COUNTS_MAX, Collected, STACKS_MAX};

    fn add(collected: &mut Collected, address: usize, thread: &str) {
        collected.add([address, 1].into(), Arc::from(thread));
    }

    #[test]
    fn a_stack_takes_one_place_on_many_threads() {
        let mut collected = Collected::default();
        for thread in ["connections-0", "connections-1", "blocking", "blocking"] {
            add(&mut collected, 7, thread);
        }
        let counts: Vec<_> = collected.stacks.values().flatten().collect();
        let expected = [("connections-0", 1), ("connections-1", 1), ("blocking", 2)];
        let expected = expected.map(|(name, samples)| (Arc::from(name), samples));
        assert_eq!((collected.stacks.len(), counts), (1, expected.iter().collect()));
        assert_eq!((collected.samples(), collected.lost), (4, 0));
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut collected = Collected::default();
        for address in 0..STACKS_MAX + 3 {
            add(&mut collected, address, "one");
        }
        assert_eq!((collected.stacks.len(), collected.lost), (STACKS_MAX, 3));
        add(&mut collected, 0, "one");
        assert_eq!(collected.lost, 3, "known stacks are counted further");
        let threads = COUNTS_MAX / STACKS_MAX;
        for thread in 0..threads {
            (0..STACKS_MAX).for_each(|address| add(&mut collected, address, &thread.to_string()));
        }
        assert_eq!(collected.counts, COUNTS_MAX);
        assert_eq!(collected.lost, 3 + STACKS_MAX as u64);
        let all = STACKS_MAX + 3 + 1 + threads * STACKS_MAX;
        assert_eq!(collected.samples() + collected.lost, all as u64);
    }
}
