//! The threads that know how long they were busy.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long each thread was busy, by the number of the registration.
static THREADS: Mutex<Vec<(u64, BusyClock)>> = Mutex::new(Vec::new());

struct BusyClock {
    thread: u64,
    busy: Box<dyn Fn() -> Duration + Send>,
}

/// A thread that is listed until this is dropped.
#[derive(Debug)]
pub struct BusyThread(Option<u64>);

/// Lists the calling thread. `busy` returns how long it has worked since it began, in wall-clock time: without
/// its waits for work, but with those for a processor.
///
/// A thread whose number in the system is not known is not listed: only Linux tells it.
pub fn observe_thread(busy: impl Fn() -> Duration + Send + 'static) -> BusyThread {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let Some(thread) = own_id() else { return BusyThread(None) };
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let clock = BusyClock { thread, busy: Box::new(busy) };
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push((number, clock));
    BusyThread(Some(number))
}

/// The listed threads by their numbers in the system, and how long each was busy.
pub fn busy_threads() -> Vec<(u64, Duration)> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.iter().map(|(_, clock)| (clock.thread, (clock.busy)())).collect()
}

impl Drop for BusyThread {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
            threads.retain(|(other, _)| *other != number);
        }
    }
}

impl fmt::Debug for BusyClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BusyClock").field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// The number of this thread in the system, from the name of its folder (`proc_thread-self(5)`).
fn own_id() -> Option<u64> {
    let folder = std::fs::read_link("/proc/thread-self").ok()?;
    folder.file_name()?.to_str()?.parse().ok()
}
