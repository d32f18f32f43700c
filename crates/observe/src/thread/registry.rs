//! The registry of threads that measure their own busy time.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_sync::Lock;

/// The registered threads, in the order of their registration.
static THREADS: Lock<Vec<BusyClock>> = Lock::new(Vec::new());

struct BusyClock {
    /// The number of the registration.
    number: u64,
    id: Option<u64>,
    name: String,
    busy: Box<dyn Fn() -> Duration + Send>,
}

/// The busy time of a registered thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadBusyTime {
    /// The unique number of the registration.
    pub number: u64,
    /// The thread's number in the operating system; known on Linux only.
    pub id: Option<u64>,
    /// The thread's name; empty if it has none.
    pub name: String,
    /// How long it has worked, in wall-clock time.
    pub busy: Duration,
}

/// The registration of a thread, which ends when this is dropped.
#[derive(Debug)]
pub struct ObservedThread(u64);

/// Registers the calling thread. `busy` returns how long the thread has worked since it began, in
/// wall-clock time. It excludes waits for work, and includes waits for a processor.
pub fn observe_thread(busy: impl Fn() -> Duration + Send + 'static) -> ObservedThread {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let clock = BusyClock { number, id: own_id(), name, busy: Box::new(busy) };
    THREADS.lock().push(clock);
    ObservedThread(number)
}

/// Returns the busy times of the registered threads, in the order of registration.
pub fn thread_busy_times() -> Vec<ThreadBusyTime> {
    let threads = THREADS.lock();
    threads.iter().map(BusyClock::read).collect()
}

impl BusyClock {
    fn read(&self) -> ThreadBusyTime {
        let Self { number, id, name, busy } = self;
        ThreadBusyTime { number: *number, id: *id, name: name.clone(), busy: busy() }
    }
}

impl Drop for ObservedThread {
    fn drop(&mut self) {
        let mut threads = THREADS.lock();
        threads.retain(|clock| clock.number != self.0);
    }
}

impl fmt::Debug for BusyClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BusyClock").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns this thread's number in the operating system, from the link `/proc/thread-self`
/// (`proc_thread-self(5)`).
fn own_id() -> Option<u64> {
    let folder = std::fs::read_link("/proc/thread-self").ok()?;
    folder.file_name()?.to_str()?.parse().ok()
}
