//! Threads that serve connections, each with a runtime of its own.

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

/// Which of the [threads that serve connections](crate::ServeOptions::connection_threads) this is, from 0;
/// `None` on any other thread.
///
/// What only the connections of one thread use, such as a pool of connections to a backend, needs no waking
/// across threads.
pub fn connection_thread() -> Option<usize> {
    INDEX.get()
}

/// Blocking calls of all threads at a time, as many as tokio allows one runtime. Further ones wait.
const BLOCKING_CALLS_MAX: usize = 512;

/// How long the end of the threads is waited for. It is immediate unless a task blocks its thread.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// Threads, of which each serves a part of the connections, from their first byte to their last. They end when
/// this is dropped, and with them the tasks that are left.
#[derive(Debug)]
pub(crate) struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
    /// The thread that is asked first, so that equals take turns.
    turn: usize,
}

#[derive(Debug)]
struct ConnectionThread {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    #[expect(dead_code, reason = "the thread ends when this is dropped")]
    stop: oneshot::Sender<Infallible>,
    /// Fails when the tasks of the thread are dropped.
    ended: oneshot::Receiver<Infallible>,
}

/// A connection's place on a thread.
#[derive(Debug)]
pub(crate) struct ThreadPlace(Arc<AtomicUsize>);

impl ConnectionThreads {
    /// Starts threads, or fewer if the system has not so many.
    pub(crate) fn start(count: usize) -> Self {
        let blocking_calls = BLOCKING_CALLS_MAX.div_ceil(count.max(1));
        let threads = (0..count).map_while(|index| ConnectionThread::start(index, blocking_calls));
        Self { threads: threads.collect(), turn: 0 }
    }

    /// A place on the thread that has the fewest connections; `None` if there are no threads.
    pub(crate) fn place(&mut self) -> Option<(Handle, ThreadPlace)> {
        self.turn = (self.turn + 1) % self.threads.len().max(1);
        let (before, from) = self.threads.split_at_checked(self.turn)?;
        let in_turn = from.iter().chain(before);
        let thread = in_turn.min_by_key(|thread| thread.connections.load(Ordering::Relaxed))?;
        thread.connections.fetch_add(1, Ordering::Relaxed);
        Some((thread.runtime.clone(), ThreadPlace(thread.connections.clone())))
    }

    /// Ends the threads, and waits until the tasks that were left are dropped.
    pub(crate) async fn end(self) {
        let ended: Vec<_> = self.threads.into_iter().map(|thread| thread.ended).collect();
        let all = async {
            for ended in ended {
                // The other half is only ever dropped.
                let _ = ended.await;
            }
        };
        let _in_time = tokio::time::timeout(END_TIMEOUT, all).await;
    }
}

impl ConnectionThread {
    /// Starts a thread; `None` if the system has none, or no room for its runtime.
    fn start(index: usize, blocking_calls: usize) -> Option<Self> {
        let (stop, stopped) = oneshot::channel();
        let (ends, ended) = oneshot::channel();
        let (started, runtime) = mpsc::channel();
        let run = move || {
            // A runtime must not be dropped within another one, so it is built and dropped here.
            let mut builder = Builder::new_current_thread();
            builder.enable_all().max_blocking_threads(blocking_calls);
            let Ok(runtime) = builder.build() else { return };
            INDEX.set(Some(index));
            let name = format!("connections-{index}");
            let _runtime = observe_runtime(name, runtime.handle());
            let handle = runtime.handle().clone();
            let _thread = observe_thread(move || busy_time(&handle));
            if started.send(runtime.handle().clone()).is_ok() {
                // The other half is only ever dropped.
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
