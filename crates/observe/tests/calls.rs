//! Calls of marked functions, beside a naive count of the same calls.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::MutexGuard;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use weir_observe::call::{CallCounts, CallSite, Recording};
use weir_sync::Lock;

/// There is one recording at a time, so the tests take turns.
static TURN: Lock<()> = Lock::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

static SITES: [CallSite; 3] =
    [CallSite::new("first"), CallSite::new("second"), CallSite::new("third")];

/// A call of the site with this index, and the calls in it.
#[derive(Debug, Clone)]
struct Tree(usize, Vec<Tree>);

fn trees() -> impl Strategy<Value = Vec<Tree>> {
    let leaf = (0..3_usize).prop_map(|site| Tree(site, Vec::new()));
    let tree = leaf.prop_recursive(5, 40, 4, |inner| {
        (0..3_usize, prop::collection::vec(inner, 0..4)).prop_map(|(site, inner)| Tree(site, inner))
    });
    prop::collection::vec(tree, 0..4)
}

fn run(trees: &[Tree]) {
    for Tree(site, inner) in trees {
        let _call = SITES[*site].enter();
        run(inner);
    }
}

type Edges = BTreeMap<(Option<&'static str>, &'static str), u64>;

fn naive(trees: &[Tree], caller: Option<&'static str>, edges: &mut Edges) {
    for Tree(site, inner) in trees {
        let name = SITES[*site].name();
        *edges.entry((caller, name)).or_default() += 1;
        naive(inner, Some(name), edges);
    }
}

fn edges(calls: &[CallCounts]) -> Edges {
    calls.iter().map(|it| ((it.caller, it.name), it.calls)).collect()
}

proptest! {
    #[test]
    fn every_call_is_counted_for_its_caller(one in trees(), other in trees()) {
        let _turn = turn();
        run(&one);
        let recording = Recording::start().expect("no other one");
        let began = Instant::now();
        run(&one);
        let beside = thread::scope(|scope| {
            scope.spawn(|| run(&other)).join().expect("no panic");
            began.elapsed()
        });
        let calls = recording.finish();
        run(&one);
        let mut expected = Edges::new();
        naive(&one, None, &mut expected);
        naive(&other, None, &mut expected);
        prop_assert_eq!(edges(&calls), expected);
        // No time is counted twice: by itself, and from the outermost calls, it is the same time.
        let own: Duration = calls.iter().map(|it| it.own).sum();
        let outermost = calls.iter().filter(|it| it.caller.is_none());
        let outermost: Duration = outermost.map(|it| it.accumulated).sum();
        prop_assert_eq!(own, outermost);
        prop_assert!(own <= beside);
    }
}

#[test]
fn time_is_that_of_the_function_that_takes_it() {
    static OUTER: CallSite = CallSite::new("outer");
    static INNER: CallSite = CallSite::new("inner");
    let _turn = turn();
    let recording = Recording::start().expect("no other one");
    assert!(Recording::start().is_err(), "one at a time");
    let spent = {
        let _outer = OUTER.enter();
        let began = Instant::now();
        let _inner = INNER.enter();
        thread::sleep(Duration::from_millis(20));
        began.elapsed()
    };
    let calls = recording.finish();
    assert_eq!(calls.len(), 2, "{calls:?}");
    // Their order depends on the time that `outer` itself took.
    let find = |name: &str| calls.iter().find(|it| it.name == name).expect("it was called");
    let (inner, outer) = (find("inner"), find("outer"));
    assert_eq!((inner.caller, outer.caller), (Some("outer"), None));
    assert!(inner.own >= Duration::from_millis(20) && inner.own == inner.accumulated, "{calls:?}");
    assert!(outer.accumulated >= spent && outer.own + inner.own == outer.accumulated, "{calls:?}");
    assert!(Recording::start().is_ok(), "the other one has ended");
}

#[test]
fn a_future_is_one_call_and_its_waiting_no_time() {
    static SITE: CallSite = CallSite::new("future");
    let _turn = turn();
    let recording = Recording::start().expect("no other one");
    let mut polls = 0;
    let future = std::future::poll_fn(|_| {
        polls += 1;
        if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
    });
    let mut future = pin!(SITE.poll_with(future));
    let mut context = Context::from_waker(Waker::noop());
    let (began, mut slept) = (Instant::now(), Duration::ZERO);
    while future.as_mut().poll(&mut context).is_pending() {
        let asleep = Instant::now();
        thread::sleep(Duration::from_millis(20));
        slept += asleep.elapsed();
    }
    let whole = began.elapsed();
    let calls = recording.finish();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((call.name, call.calls), ("future", 1));
    assert!(call.accumulated + slept <= whole, "{slept:?} of {whole:?} asleep: {calls:?}");
}

#[test]
fn a_call_that_is_open_at_the_end_is_in_no_recording() {
    static SITE: CallSite = CallSite::new("open");
    static INNER: CallSite = CallSite::new("within an open one");
    let _turn = turn();
    let recording = Recording::start().expect("no other one");
    let call = SITE.enter();
    assert_eq!(recording.finish(), []);
    let recording = Recording::start().expect("no other one");
    drop(INNER.enter());
    drop(call);
    let calls = recording.finish();
    let [inner] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((inner.name, inner.caller), ("within an open one", None));
}
