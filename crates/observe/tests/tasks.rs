//! Tests of task snapshots.

use std::future::poll_fn;
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use weir_observe::task::{self, Snapshot, TaskKind, TaskName, TaskSnapshot, TaskState, snapshot};

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tests that compare two snapshots take turns, because a snapshot is of the whole program.
static TURN: weir_sync::Lock<()> = weir_sync::Lock::new(());

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock()
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(test);
}

/// Yields once to other tasks.
async fn step_aside() {
    let mut has_run = false;
    poll_fn(|context| {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut has_run, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn of_kind<'l>(snapshot: &'l Snapshot, kind: &TaskKind) -> Vec<&'l TaskSnapshot> {
    snapshot.tasks.iter().filter(|task| task.kind == kind.name()).collect()
}

fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_task_is_listed_while_it_lives() {
    let _turn = turn();
    run(async {
        static KIND: TaskKind = TaskKind::new("listed");
        task::enable();
        let go = std::sync::Arc::new(Notify::new());
        let waiting = go.clone();
        let line = line!() + 1;
        let spawned = tokio::spawn(KIND.observe("a <name>", async move {
            task::add_requests(2);
            task::add_bytes(10);
            waiting.notified().await;
            task::set_name("another");
            waiting.notified().await;
        }));
        let seen = snapshot();
        let [seen] = of_kind(&seen, &KIND)[..] else { panic!("{seen:?}") };
        assert_eq!((seen.state, seen.work.polls), (TaskState::Scheduled, 0));
        assert_eq!(seen.place.file(), file!());
        assert_eq!((seen.place.line(), seen.name.to_string()), (line, "a <name>".to_owned()));
        assert!(seen.memory_bytes > 0);
        tokio::task::yield_now().await;
        let seen = snapshot();
        let [first] = of_kind(&seen, &KIND)[..] else { panic!("{seen:?}") };
        assert_eq!((first.state, first.work.polls), (TaskState::Idle, 1));
        assert_eq!((first.work.requests, first.work.bytes), (2, 10));
        go.notify_one();
        let seen = snapshot();
        let [second] = of_kind(&seen, &KIND)[..] else { panic!("{seen:?}") };
        assert_eq!(second.state, TaskState::Scheduled, "it was woken");
        assert_eq!(second.work_before.polls, 1);
        tokio::task::yield_now().await;
        let seen = snapshot();
        let [third] = of_kind(&seen, &KIND)[..] else { panic!("{seen:?}") };
        assert_eq!((third.work.polls, &third.name), (2, &TaskName::from("another")));
        spawned.abort();
        assert!(spawned.await.is_err());
        let seen = snapshot();
        assert!(of_kind(&seen, &KIND).is_empty());
        let kind = seen.kinds.iter().find(|kind| kind.kind == KIND.name()).expect("the kind");
        assert_eq!((kind.tasks, kind.begun, kind.work.polls), (0, 1, 2));
        assert_eq!((kind.work.requests, kind.work.bytes), (2, 10));
    });
}

#[test]
fn times_are_those_of_the_polls() {
    static KIND: TaskKind = TaskKind::new("timed");
    const POLLS: u32 = 200;
    const EACH: Duration = Duration::from_millis(2);
    task::enable();
    let _turn = turn();
    let busy = || async {
        let begun = Instant::now();
        let mut sum = Duration::ZERO;
        for number in 0..POLLS {
            let poll = Instant::now();
            // All polls are timed only for some seconds after a snapshot.
            if number.is_multiple_of(10) {
                snapshot();
            }
            compute(EACH);
            sum += poll.elapsed();
            step_aside().await;
        }
        (sum, begun.elapsed())
    };
    run(async {
        snapshot();
        let one = tokio::spawn(KIND.observe("one", busy()));
        let other = tokio::spawn(KIND.observe("other", busy()));
        let (one, other) = (one.await.expect("no panic"), other.await.expect("no panic"));
        let seen = snapshot();
        let kind = seen.kinds.iter().find(|kind| kind.kind == KIND.name()).expect("the kind");
        let is_near =
            |found: Duration, expected: Duration| found.abs_diff(expected) < expected / 10;
        assert!(is_near(kind.work.busy, one.0 + other.0), "{kind:?} {one:?} {other:?}");
        // One task waits while the other runs.
        let waited = (one.1 - one.0) + (other.1 - other.0);
        assert!(is_near(kind.work.scheduled, waited), "{kind:?} {one:?} {other:?}");
    });
}

#[test]
fn what_runs_for_long_is_seen_meanwhile() {
    static KIND: TaskKind = TaskKind::new("call");
    task::enable();
    let _turn = turn();
    let ((begins, begun), (end, ends)) = (mpsc::channel(), mpsc::channel::<()>());
    run(async {
        let call = KIND.observe_call("a file", move || {
            begins.send(()).expect("it waits");
            ends.recv_timeout(PATIENCE).is_ok()
        });
        let called = tokio::task::spawn_blocking(call);
        begun.recv_timeout(PATIENCE).expect("it begins");
        compute(Duration::from_millis(5));
        let seen = snapshot();
        let [running] = of_kind(&seen, &KIND)[..] else { panic!("{seen:?}") };
        assert_eq!(running.state, TaskState::Running);
        assert!(running.work.busy >= Duration::from_millis(5), "{running:?}");
        end.send(()).expect("it waits");
        assert!(called.await.expect("no panic"));
        assert!(of_kind(&snapshot(), &KIND).is_empty());
    });
}

#[test]
fn a_panic_leaves_the_list() {
    let _turn = turn();
    run(async {
        static KIND: TaskKind = TaskKind::new("panics");
        task::enable();
        let spawned = tokio::spawn(KIND.observe("", async { panic!("on purpose") }));
        assert!(spawned.await.is_err());
        assert!(of_kind(&snapshot(), &KIND).is_empty());
        // The task that panicked is not the current one any more.
        task::add_requests(1);
        let seen = snapshot();
        let kind = seen.kinds.iter().find(|kind| kind.kind == KIND.name()).expect("the kind");
        assert_eq!((kind.work.polls, kind.work.requests), (1, 0));
    });
}

/// A future that moves to another task is woken in that task.
#[test]
fn a_future_that_changes_its_task_goes_on() {
    let _turn = turn();
    run(async {
        static KIND: TaskKind = TaskKind::new("moves");
        task::enable();
        snapshot();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut moving = Box::pin(KIND.observe("", receiver));
        poll_fn(|context| {
            assert!(moving.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        let moved = tokio::spawn(moving);
        tokio::task::yield_now().await;
        sender.send(7).expect("it waits");
        let received = tokio::time::timeout(PATIENCE, moved).await.expect("it is woken");
        assert_eq!(received.expect("no panic"), Ok(7));
    });
}

#[test]
fn a_hundred_thousand_tasks_are_listed() {
    let _turn = turn();
    run(async {
        static KIND: TaskKind = TaskKind::new("many");
        const TASKS: usize = 100_000;
        task::enable();
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..TASKS {
            let address = std::net::SocketAddr::from(([192, 0, 2, 1], number as u16));
            tasks.spawn(KIND.observe(address, std::future::pending::<()>()));
        }
        let seen = snapshot();
        assert_eq!(of_kind(&seen, &KIND).len(), TASKS);
        tasks.shutdown().await;
        assert!(of_kind(&snapshot(), &KIND).is_empty());
    });
}
