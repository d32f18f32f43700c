//! The thread that takes the stacks which others have noted, and interrupts those that wait.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::interrupt::{Interrupts, interrupt};
use crate::sample_rate::SampleRate;
use crate::slots::RawStack;
use crate::threads::{own_thread, thread_name, threads};

/// How often stacks are taken.
const INTERVAL: Duration = Duration::from_millis(50);

/// In this time most threads that were interrupted have noted their stacks.
const HANDLER_TIME: Duration = Duration::from_millis(2);

/// Distinct stacks at most: some 20 MB. Further ones are lost, and counted.
const STACKS_MAX: usize = 20_000;

/// Between two rounds through all threads passes at least so many times the time of a round.
const ROUND_PAUSES: u32 = 9;

/// What a collector has found.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// How often each stack was found.
    pub(crate) stacks: HashMap<RawStack, u64>,
    /// The names of the threads.
    pub(crate) names: HashMap<i32, String>,
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
            self.names.entry(stack.thread).or_insert_with(|| thread_name(stack.thread));
            if let Some(samples) = self.stacks.get_mut(&stack) {
                *samples += 1;
            } else if self.stacks.len() < STACKS_MAX {
                self.stacks.insert(stack, 1);
            } else {
                self.lost += 1;
            }
        });
        self.lost += slots.take_lost();
    }
}
