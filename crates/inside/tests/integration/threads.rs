//! Tests of the times of threads, compared with other measurements of the system.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use weir_view::{BusySource, Tasks, Thread};

use crate::serving::{PATIENCE, Running, start};
use crate::tasks::{get, tasks};

/// The tolerated relative error of a time.
const ERROR: f64 = 0.05;

/// The time after which a request gets a new snapshot.
const BETWEEN_LOOKS: Duration = Duration::from_millis(950);

/// A thread that works on orders.
struct Worker {
    name: &'static str,
    orders: Sender<Work>,
    done: Receiver<f64>,
    thread: JoinHandle<()>,
}

/// The work of an order.
enum Work {
    /// Use this much processor time, in short pieces with pauses between them.
    Processor(Duration),
    /// Compute without waits until this is true.
    Until(Arc<AtomicBool>),
}

impl Worker {
    fn start(name: &'static str) -> Self {
        let (orders, ordered) = channel();
        let (finish, done) = channel();
        let work = move || {
            // Reports that the thread runs, because a thread sets its own name first.
            if finish.send(0.0).is_err() {
                return;
            }
            for work in ordered {
                if finish.send(carry_out(&work)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let worker = Self { name, orders, done, thread: thread.expect("a thread") };
        worker.done.recv_timeout(PATIENCE).expect("it begins");
        worker
    }

    fn begin(&self, work: Work) {
        self.orders.send(work).expect("the worker waits");
    }

    /// Waits for the end of the work, and returns its processor time by the thread's own clock, in
    /// seconds.
    async fn processor_seconds(&self) -> f64 {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Ok(seconds) = self.done.try_recv() {
                return seconds;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{} has not ended its work", self.name);
    }

    async fn seen(&self, running: &Running) -> Thread {
        let Tasks { threads, .. } = tasks(running, "").await;
        threads.into_iter().find(|it| it.name == self.name).expect("the thread")
    }

    fn end(self) {
        drop(self.orders);
        self.thread.join().expect("no panic");
    }
}

/// Returns the processor time of the work, in seconds.
fn carry_out(work: &Work) -> f64 {
    let begun_on_processor = own_processor_time();
    let mut piece = Duration::ZERO;
    loop {
        black_box(0);
        let on_processor = own_processor_time() - begun_on_processor;
        let is_over = match work {
            Work::Processor(span) => on_processor >= *span,
            Work::Until(is_over) => is_over.load(Ordering::Relaxed),
        };
        if is_over {
            return on_processor.as_secs_f64();
        }
        if matches!(work, Work::Processor(_)) && on_processor - piece > Duration::from_millis(3) {
            piece = on_processor;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Returns the processor time of the calling thread, by its clock in the system.
fn own_processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn is_about(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= ERROR * expected
}

#[tokio::test]
async fn processor_time_agrees_with_the_clock_of_the_thread() {
    let running = start(None).await;
    // `stat` has the name in parentheses.
    let worker = Worker::start("works (a bit)");
    let before = worker.seen(&running).await;
    tokio::time::sleep(BETWEEN_LOOKS).await;
    worker.begin(Work::Processor(Duration::from_millis(600)));
    let expected = worker.processor_seconds().await;
    assert!(expected >= 0.6, "{expected}");
    let after = worker.seen(&running).await;
    let of = |thread: &Thread| thread.work.running.expect("the system tells");
    let found = of(&after) - of(&before);
    assert!(is_about(found, expected), "{found} by the page, {expected} by the thread");
    worker.end();
}

#[tokio::test]
async fn a_thread_that_never_waits_is_always_busy() {
    let running = start(None).await;
    let worker = Worker::start("never-waits");
    let is_over = Arc::new(AtomicBool::new(false));
    worker.begin(Work::Until(is_over.clone()));
    // It has begun for sure.
    tokio::time::sleep(BETWEEN_LOOKS / 4).await;
    let look = async || {
        let before = Instant::now();
        let thread = worker.seen(&running).await;
        (before, thread, Instant::now())
    };
    let (begun_first, first, ended_first) = look().await;
    tokio::time::sleep(BETWEEN_LOOKS).await;
    let (begun_second, second, ended_second) = look().await;
    is_over.store(true, Ordering::Relaxed);
    for thread in [&first, &second] {
        assert_eq!(thread.busy_source, Some(BusySource::System), "{thread:?}");
    }
    // However busy the machine is, the thread runs or waits for a processor. Only the time that a
    // host takes away from a virtual machine counts nowhere.
    let of = |thread: &Thread| thread.work.busy.expect("the system tells");
    let found = of(&second) - of(&first);
    let least = (begun_second - ended_first).as_secs_f64() * 0.5;
    let most = (ended_second - begun_first).as_secs_f64() * (1.0 + ERROR);
    assert!((least..=most).contains(&found), "{found}, not {least} to {most}");
    worker.processor_seconds().await;
    worker.end();
}

#[tokio::test]
async fn metrics_have_the_threads_of_a_kind_as_one() {
    let running = start(None).await;
    let workers = ["counted-0", "counted-1"].map(Worker::start);
    for worker in &workers {
        worker.begin(Work::Processor(Duration::from_millis(100)));
    }
    let mut expected = 0.0;
    for worker in &workers {
        expected += worker.processor_seconds().await;
    }
    let (_, text) = get(&running, "/metrics", "").await;
    let series = "weir_thread_cpu_seconds_total{thread=\"counted\"} ";
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    let found: f64 = line.expect("the series").parse().expect("a number");
    assert!(is_about(found, expected), "{found} by the metric, {expected} by the threads");
    for worker in workers {
        worker.end();
    }
}
