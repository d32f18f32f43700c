//! The threads that know how long they were busy.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The threads in the order of their registration.
static THREADS: Mutex<Vec<BusyClock>> = Mutex::new(Vec::new());

struct BusyClock {
    /// That of the registration.
    number: u64,
    id: Option<u64>,
    name: String,
    busy: Box<dyn Fn() -> Duration + Send>,
}

/// A thread that knows how long it was busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenThread {
    /// A number that no other of them has.
    pub number: u64,
    /// Its number in the system, which only Linux tells.
    pub id: Option<u64>,
    /// Its name; empty if it has none.
    pub name: String,
    /// How long it has worked, in wall-clock time.
    pub busy: Duration,
}

/// A thread that is listed until this is dropped.
#[derive(Debug)]
pub struct BusyThread(u64);

/// Lists the calling thread. `busy` returns how long it has worked since it began, in wall-clock time: without
/// its waits for work, but with those for a processor.
pub fn observe_thread(busy: impl Fn() -> Duration + Send + 'static) -> BusyThread {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let clock = BusyClock { number, id: own_id(), name, busy: Box::new(busy) };
    THREADS.lock().unwrap_or_else(PoisonError::into_inner).push(clock);
    BusyThread(number)
}

/// The listed threads, in the order in which they were listed.
pub fn busy_threads() -> Vec<SeenThread> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.iter().map(BusyClock::seen).collect()
}

impl BusyClock {
    fn seen(&self) -> SeenThread {
        let Self { number, id, name, busy } = self;
        SeenThread { number: *number, id: *id, name: name.clone(), busy: busy() }
    }
}

impl Drop for BusyThread {
    fn drop(&mut self) {
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|clock| clock.number != self.0);
    }
}

impl fmt::Debug for BusyClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BusyClock").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The number of this thread in the system, from the name of its folder (`proc_thread-self(5)`).
fn own_id() -> Option<u64> {
    let folder = std::fs::read_link("/proc/thread-self").ok()?;
    folder.file_name()?.to_str()?.parse().ok()
}
