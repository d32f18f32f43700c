//! Threads that serve connections. Each has its own runtime.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use weir_observe::thread::{busy_time, observe_runtime, observe_thread};

thread_local! {
    static INDEX: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the index, from 0, of the current
/// [connection thread](crate::ServeOptions::connection_threads); `None` on any other thread.
///
/// State that is kept for each thread, such as a pool of backend connections, needs no wake-ups
/// across threads.
pub fn connection_thread() -> Option<usize> {
    INDEX.get()
}

/// The maximum number of concurrent blocking calls of all threads together, which is tokio's
/// default for one runtime. Further calls wait.
const BLOCKING_CALLS_MAX: usize = 512;

/// The time limit of [`ConnectionThreads::end`]. The end is immediate unless a task blocks its
/// thread.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The threads that serve connections. A connection stays on its thread from its first byte to its
/// last. Dropping this ends the threads and the remaining tasks.
#[derive(Debug)]
pub(crate) struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
    /// The index of the thread that is preferred next, so that equally busy threads take turns.
    next_index: usize,
}

#[derive(Debug)]
struct ConnectionThread {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    #[expect(dead_code, reason = "the thread ends when this is dropped")]
    stop: oneshot::Sender<Infallible>,
    /// Resolves, with an error, when the tasks of the thread are dropped.
    ended: oneshot::Receiver<Infallible>,
}

/// The place of a connection on a thread. It counts the connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ThreadPlace(Arc<AtomicUsize>);

impl ConnectionThreads {
    /// Starts `count` threads, or fewer if the system cannot start more.
    pub(crate) fn start(count: usize) -> Self {
        let blocking_calls = BLOCKING_CALLS_MAX.div_ceil(count.max(1));
        let threads = (0..count).map_while(|index| ConnectionThread::start(index, blocking_calls));
        Self { threads: threads.collect(), next_index: 0 }
    }

    /// Returns a place on the thread with the fewest connections; `None` if there are no threads.
    pub(crate) fn place(&mut self) -> Option<(Handle, ThreadPlace)> {
        self.next_index = (self.next_index + 1) % self.threads.len().max(1);
        let (before, from) = self.threads.split_at_checked(self.next_index)?;
        let in_turn = from.iter().chain(before);
        let thread = in_turn.min_by_key(|thread| thread.connections.load(Ordering::Relaxed))?;
        thread.connections.fetch_add(1, Ordering::Relaxed);
        Some((thread.runtime.clone(), ThreadPlace(thread.connections.clone())))
    }

    /// Ends the threads, and waits until their remaining tasks are dropped.
    pub(crate) async fn end(self) {
        let ended: Vec<_> = self.threads.into_iter().map(|thread| thread.ended).collect();
        let all = async {
            for ended in ended {
                // The other half sends nothing; it is only dropped.
                let _ = ended.await;
            }
        };
        let _in_time = tokio::time::timeout(END_TIMEOUT, all).await;
    }
}

impl ConnectionThread {
    /// Starts a thread. Returns `None` if the system cannot start it or its runtime.
    fn start(index: usize, blocking_calls: usize) -> Option<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ends, ended) = oneshot::channel();
        let (started, runtime) = mpsc::channel();
        let run = move || {
            // A runtime must not be dropped within another one, so it is built and dropped here.
            let mut builder = Builder::new_current_thread();
            builder.enable_all().max_blocking_threads(blocking_calls);
            builder.thread_name("blocking-calls");
            let Ok(runtime) = builder.build() else { return };
            INDEX.set(Some(index));
            let name = format!("connections-{index}");
            let _runtime = observe_runtime(name, runtime.handle());
            let handle = runtime.handle().clone();
            let _thread = observe_thread(move || busy_time(&handle));
            if started.send(runtime.handle().clone()).is_ok() {
                // The other half sends nothing; it is only dropped.
                let _ = runtime.block_on(stopped);
            }
            // This drops the tasks before it returns.
            runtime.shutdown_background();
            drop(ends);
        };
        thread::Builder::new().name(format!("connections-{index}")).spawn(run).ok()?;
        Some(Self { runtime: runtime.recv().ok()?, connections: Arc::default(), stop, ended })
    }
}

impl Drop for ThreadPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_go_where_the_fewest_are() {
        let mut threads = ConnectionThreads::start(2);
        let mut places: Vec<_> = (0..4).filter_map(|_| threads.place()).collect();
        let loads = |threads: &ConnectionThreads| -> Vec<usize> {
            threads.threads.iter().map(|it| it.connections.load(Ordering::Relaxed)).collect()
        };
        assert_eq!(loads(&threads), [2, 2]);
        places.retain(|(_, ThreadPlace(counter))| {
            Arc::ptr_eq(counter, &threads.threads[0].connections)
        });
        assert_eq!(loads(&threads), [2, 0]);
        places.extend(threads.place());
        places.extend(threads.place());
        assert_eq!(loads(&threads), [2, 2]);
    }

    #[test]
    fn a_task_learns_its_thread() {
        let mut threads = ConnectionThreads::start(1);
        let (runtime, _place) = threads.place().expect("one thread");
        let (sender, receiver) = mpsc::channel();
        runtime.spawn(async move { sender.send(connection_thread()) });
        assert_eq!(receiver.recv(), Ok(Some(0)));
        assert_eq!(connection_thread(), None);
    }

    #[test]
    fn without_threads_there_is_no_place() {
        assert!(ConnectionThreads::start(0).place().is_none());
    }
}
