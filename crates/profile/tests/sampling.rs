//! Profiles of time, of functions whose time is known.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::hint::black_box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, MutexGuard};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use weir_profile::{
    Profile, ProfileError, ProfileKind, SampleRate, Sampling, Stack, ThreadStack, thread_stacks,
};
use weir_sync::Lock;

/// A process has one profile at a time, so the tests take turns.
static TURN: Lock<()> = Lock::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock()
}

/// Computes for some tenths of a second of processor time, however busy the machine is.
#[inline(never)]
fn busy_function() -> u64 {
    (0..400_000_000_u64).fold(0, |sum, number| black_box(sum.wrapping_mul(31).wrapping_add(number)))
}

#[inline(never)]
fn waiting_function(end: &Receiver<()>) {
    // Returns when the sender is dropped.
    let ended = end.recv();
    black_box(&ended);
}

/// A thread that waits until the sender is dropped.
fn waiting_thread() -> (Sender<()>, JoinHandle<()>) {
    let (sender, receiver) = channel();
    let thread =
        Builder::new().name("waiting".to_owned()).spawn(move || waiting_function(&receiver));
    (sender, thread.expect("a thread"))
}

/// Waits until the thread that waits is in its function. Returns its stack.
fn waiting_stack() -> ThreadStack {
    // The thread may not have reached its function yet, and its state is read before its stack.
    let found = (0..100).find_map(|_| {
        let stacks = thread_stacks().expect("nobody else asks");
        let is_waiting =
            |it: &ThreadStack| it.name == "waiting" && is_in(&it.functions, "waiting_function");
        let found = stacks.into_iter().find(is_waiting);
        if found.is_none() {
            sleep(Duration::from_millis(20));
        }
        found
    });
    found.expect("the thread that waits")
}

fn samples(profile: &Profile, is_wanted: impl Fn(&Stack) -> bool) -> u64 {
    profile.stacks.iter().filter(|it| is_wanted(it)).map(|it| it.samples).sum()
}

fn is_in(functions: &[Arc<str>], name: &str) -> bool {
    functions.iter().any(|it| it.ends_with(name))
}

#[test]
fn the_function_that_computes_is_found_and_the_one_that_waits_is_not() {
    let _turn = turn();
    let (end, waiting) = waiting_thread();
    let rate = SampleRate::new(499).expect("a rate");
    let sampling = Sampling::start(ProfileKind::Processor, rate).expect("a timer");
    let second = Sampling::start(ProfileKind::Waiting, rate);
    assert_eq!(second.err(), Some(ProfileError::Running));
    assert_eq!(thread_stacks(), Err(ProfileError::Running));
    let ((sender, result), (end_busy, busy_end)) = (channel(), channel());
    let compute = move || {
        sender.send(busy_function()).expect("the test waits for it");
        // The name of a thread that has ended cannot be read any more.
        waiting_function(&busy_end);
    };
    let busy = Builder::new().name("busy thread".to_owned()).spawn(compute).expect("a thread");
    assert!(result.recv().expect("no panic") > 0);
    let profile = sampling.finish();
    drop((end, end_busy));
    waiting.join().expect("no panic");
    busy.join().expect("no panic");
    let total = profile.samples();
    assert!(total >= 20, "{profile:?}");
    let is_busy =
        |stack: &Stack| stack.thread == "busy thread" && is_in(&stack.functions, "busy_function");
    let busy = samples(&profile, is_busy);
    assert!(busy * 10 >= total * 9, "{busy} of {total}: {}", profile.folded());
    // The thread may have been starting at the first sample.
    assert!(samples(&profile, |it| it.thread == "waiting") <= 1, "{}", profile.folded());
    // A stack starts with the thread's first function, and has no frames of the handler.
    let stacks = profile.stacks.iter().filter(|it| is_busy(it));
    for functions in stacks.map(|it| &it.functions) {
        assert!(
            is_in(&functions[..1], "clone3") || is_in(&functions[..1], "start_thread"),
            "{functions:?}"
        );
        let has = |part: &str| functions.iter().any(|name| name.contains(part));
        assert!(
            !has("note_stack") && !has("unknown") && has("sampling::busy_function"),
            "{functions:?}"
        );
    }
    // The previous profile has ended.
    let again = Sampling::start(ProfileKind::Processor, rate).expect("a timer");
    let empty = again.finish();
    assert!(empty.samples() <= 2, "{}", empty.folded());
}

#[test]
fn what_waits_is_found_with_the_time_that_it_waited() {
    let _turn = turn();
    let (end, waiting) = waiting_thread();
    waiting_stack();
    let rate = SampleRate::new(19).expect("a rate");
    let sampling = Sampling::start(ProfileKind::Waiting, rate).expect("a thread");
    let busy = Builder::new().name("busy thread".to_owned());
    let busy = busy.spawn(busy_function).expect("a thread");
    sleep(Duration::from_millis(500));
    assert!(busy.join().expect("no panic") > 0);
    let profile = sampling.finish();
    drop(end);
    waiting.join().expect("no panic");
    let waited = samples(&profile, |stack| {
        stack.thread == "waiting" && is_in(&stack.functions, "waiting_function")
    });
    let (waited, duration) = (Duration::from_nanos(profile.amount(waited)), profile.duration);
    // The thread waited the whole time. Rounds are missing in which it was still in the handler of
    // the previous one.
    let is_near = waited * 10 <= duration * 11 && waited * 4 >= duration;
    assert!(is_near, "{waited:?} of {duration:?}: {}", profile.folded());
}

#[test]
fn every_thread_has_a_stack() {
    let _turn = turn();
    let (end, waiting) = waiting_thread();
    assert!(waiting_stack().id > 0);
    drop(end);
    waiting.join().expect("no panic");
}
