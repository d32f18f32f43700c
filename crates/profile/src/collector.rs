//! The thread that collects recorded stacks and, for a profile of waiting, interrupts the waiting
//! threads.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::interrupt::{Interrupts, interrupt};
use crate::sample_rate::SampleRate;
use crate::threads::{own_thread, thread_name, threads};

/// The interval between two collections.
const INTERVAL: Duration = Duration::from_millis(50);

/// Within this time most interrupted threads have recorded their stacks.
const HANDLER_TIME: Duration = Duration::from_millis(2);

/// The most distinct stacks: about 20 MB. Further ones are lost and counted.
const STACKS_MAX: usize = 20_000;

/// The most counters of a stack in threads of one name: about 5 MB. Further ones are lost and
/// counted.
const COUNTERS_MAX: usize = 10 * STACKS_MAX;

/// The pause after a round over all threads, as a multiple of its duration: rounds take a tenth of
/// the time.
const ROUND_PAUSES: u32 = 9;

/// The samples of one stack, by thread name.
type ThreadCounts = Vec<(Arc<str>, u64)>;

/// Collected stacks with their numbers of samples.
#[derive(Debug, Default)]
pub(crate) struct StackCounts {
    /// The stacks by their addresses.
    pub(crate) stacks: HashMap<Box<[usize]>, ThreadCounts>,
    /// The number of counters in `stacks`.
    counters: usize,
    /// The names of the threads by number.
    names: HashMap<i32, Arc<str>>,
    /// Samples lost because a table was full.
    pub(crate) lost: u64,
    /// How often all waiting threads were interrupted.
    pub(crate) rounds: u32,
}

/// A thread that collects stacks until this is dropped.
#[derive(Debug)]
pub(crate) struct Collector {
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<StackCounts>>,
}

impl Collector {
    /// Starts the thread. If `rounds` is given, it interrupts all waiting threads at that rate.
    ///
    /// # Errors
    /// If the thread cannot be spawned.
    pub(crate) fn start(
        interrupts: Interrupts,
        rounds: Option<SampleRate>,
    ) -> io::Result<Self> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = is_stopped.clone();
        let collect = move || match rounds {
            None => collect_recorded(&interrupts, &stopped),
            Some(rate) => interrupt_and_collect(&interrupts, &stopped, rate),
        };
        let thread = thread::Builder::new().name("weir-profile".to_owned()).spawn(collect)?;
        Ok(Self { is_stopped, thread: Some(thread) })
    }

    /// Stops the thread, and returns the collected stacks.
    pub(crate) fn finish(mut self) -> StackCounts {
        self.stop()
    }

    fn stop(&mut self) -> StackCounts {
        let Some(thread) = self.thread.take() else { return StackCounts::default() };
        self.is_stopped.store(true, Ordering::Relaxed);
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Collects the stacks that threads record when the timer interrupts them.
fn collect_recorded(interrupts: &Interrupts, is_stopped: &AtomicBool) -> StackCounts {
    let mut counts = StackCounts::default();
    while !is_stopped.load(Ordering::Relaxed) {
        thread::park_timeout(INTERVAL);
        counts.collect(interrupts);
    }
    counts.collect(interrupts);
    counts
}

/// Interrupts all waiting threads at a rate, and collects their stacks.
fn interrupt_and_collect(
    interrupts: &Interrupts,
    is_stopped: &AtomicBool,
    rate: SampleRate,
) -> StackCounts {
    let mut counts = StackCounts::default();
    let interval = Duration::from_secs(1) / rate.hz();
    let own = own_thread();
    let mut next = Instant::now();
    while !is_stopped.load(Ordering::Relaxed) {
        let now = Instant::now();
        if now < next {
            thread::park_timeout(next - now);
            continue;
        }
        for thread in threads().iter().filter(|it| Some(it.id) != own && it.state != 'R') {
            interrupt(thread.id);
        }
        counts.rounds += 1;
        counts.collect(interrupts);
        next = now + interval.max(now.elapsed() * (ROUND_PAUSES + 1));
    }
    // Waits for the stacks of the last round.
    thread::sleep(HANDLER_TIME);
    counts.collect(interrupts);
    counts
}

impl StackCounts {
    fn collect(&mut self, interrupts: &Interrupts) {
        let slots = interrupts.slots();
        slots.drain(|stack| {
            // The name is read now, because the thread may end before the profile does.
            let names = self.names.entry(stack.thread);
            let name = names.or_insert_with(|| thread_name(stack.thread).into()).clone();
            self.add(stack.addresses, name);
        });
        self.lost += slots.take_lost();
    }

    /// Counts a stack. Threads with the same stack share one entry, because the addresses take most
    /// memory.
    fn add(&mut self, addresses: Box<[usize]>, thread: Arc<str>) {
        let has_room = self.stacks.len() < STACKS_MAX || self.stacks.contains_key(&addresses);
        if !has_room {
            self.lost += 1;
            return;
        }
        let counts = self.stacks.entry(addresses).or_default();
        if let Some((_, samples)) = counts.iter_mut().find(|(name, _)| *name == thread) {
            *samples += 1;
        } else if self.counters < COUNTERS_MAX {
            counts.push((thread, 1));
            self.counters += 1;
        } else {
            self.lost += 1;
        }
    }

    /// Returns the number of samples in all stacks.
    pub(crate) fn samples(&self) -> u64 {
        self.stacks.values().flatten().map(|(_, samples)| samples).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{COUNTERS_MAX, STACKS_MAX, StackCounts};

    fn add(collected: &mut StackCounts, address: usize, thread: &str) {
        collected.add([address, 1].into(), Arc::from(thread));
    }

    #[test]
    fn threads_with_one_stack_share_an_entry() {
        let mut collected = StackCounts::default();
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
    fn stacks_beyond_the_limit_are_counted_as_lost() {
        let mut collected = StackCounts::default();
        for address in 0..STACKS_MAX + 3 {
            add(&mut collected, address, "one");
        }
        assert_eq!((collected.stacks.len(), collected.lost), (STACKS_MAX, 3));
        add(&mut collected, 0, "one");
        assert_eq!(collected.lost, 3, "known stacks are counted further");
        let threads = COUNTERS_MAX / STACKS_MAX;
        for thread in 0..threads {
            (0..STACKS_MAX).for_each(|address| add(&mut collected, address, &thread.to_string()));
        }
        assert_eq!(collected.counters, COUNTERS_MAX);
        assert_eq!(collected.lost, 3 + STACKS_MAX as u64);
        let all = STACKS_MAX + 3 + 1 + threads * STACKS_MAX;
        assert_eq!(collected.samples() + collected.lost, all as u64);
    }
}
