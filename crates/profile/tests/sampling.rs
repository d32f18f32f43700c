//! Samples of programs whose time is known.
#![cfg(unix)]

use std::hint::black_box;
use std::time::Duration;

use weir_profile::{ProfileError, SampleRate, Sampling, Stack};

/// Computes for some tenths of a second of processor time, however busy the machine is.
#[inline(never)]
fn busy_function() -> u64 {
    (0..400_000_000_u64).fold(0, |sum, number| black_box(sum.wrapping_mul(31).wrapping_add(number)))
}

/// One test, because a process has one profile at a time.
#[test]
fn the_function_that_computes_is_found_and_the_one_that_waits_is_not() {
    let rate = SampleRate::new(499).expect("a rate");
    let sampling = Sampling::start(rate).expect("a timer");
    assert_eq!(Sampling::start(rate).err(), Some(ProfileError::Running));
    let waiting = std::thread::Builder::new().name("waiting".to_owned());
    let waiting = waiting.spawn(|| std::thread::sleep(Duration::from_millis(500)));
    let busy = std::thread::Builder::new().name("busy thread".to_owned());
    let busy = busy.spawn(busy_function).expect("a thread");
    assert!(busy.join().expect("no panic") > 0);
    waiting.expect("a thread").join().expect("no panic");
    let profile = sampling.finish().expect("samples");
    let samples = |is_wanted: &dyn Fn(&Stack) -> bool| -> u64 {
        profile.stacks.iter().filter(|it| is_wanted(it)).map(|it| it.samples).sum()
    };
    let total = profile.samples();
    assert!(total >= 20, "{profile:?}");
    let busy = samples(&|stack| {
        stack.thread == "busy thread"
            && stack.functions.iter().any(|name| name.ends_with("busy_function"))
    });
    assert!(busy * 10 >= total * 9, "{busy} of {total}: {}", profile.folded());
    assert_eq!(samples(&|stack| stack.thread == "waiting"), 0, "{}", profile.folded());
    // The one before has ended.
    let again = Sampling::start(rate).expect("a timer");
    let empty = again.finish().expect("no samples");
    assert!(empty.samples() <= 2, "{}", empty.folded());
}
