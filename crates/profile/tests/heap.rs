//! Profiles of memory, of functions whose allocations are known.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::hint::black_box;
use std::thread;

use weir_profile::{Profile, ProfileKind, SampleRate, SampledAllocator, Sampling};

#[global_allocator]
static ALLOCATOR: SampledAllocator = SampledAllocator;

const MEGABYTE: u64 = 1_000_000;

/// 100 MB in small parts, each freed at once.
#[inline(never)]
fn allocate_and_free() {
    for _ in 0..100_000 {
        drop(black_box(vec![1_u8; 1_000]));
    }
}

/// 50 MB in parts of two sizes, which grow.
#[inline(never)]
fn allocate_and_hold() -> Vec<Vec<u8>> {
    let mut held = Vec::new();
    for number in 0..1_000 {
        let mut part = black_box(Vec::with_capacity(10));
        part.resize(if number % 2 == 0 { 1_000 } else { 99_000 }, 1);
        held.push(part);
    }
    held
}

fn bytes_in(profile: &Profile, function: &str) -> u64 {
    let stacks = profile.stacks.iter();
    let found = stacks.filter(|it| it.functions.iter().any(|name| name.ends_with(function)));
    found.map(|it| it.samples).sum()
}

fn profile(kind: ProfileKind) -> (Profile, Vec<Vec<u8>>) {
    let sampling = Sampling::start(kind, SampleRate::default()).expect("our allocator");
    assert!(Sampling::start(kind, SampleRate::default()).is_err(), "one at a time");
    allocate_and_free();
    let held = thread::spawn(allocate_and_hold).join().expect("no panic");
    // This memory is freed on another thread than the one that allocated it.
    let freed = thread::spawn(allocate_and_hold).join().expect("no panic");
    drop(freed);
    (sampling.finish(), held)
}

/// One test, because a process has one profile at a time.
#[test]
fn bytes_are_those_that_were_allocated_and_those_that_are_held() {
    let (allocated, _held) = profile(ProfileKind::Allocated);
    let (freed, kept) =
        (bytes_in(&allocated, "allocate_and_free"), bytes_in(&allocated, "allocate_and_hold"));
    // 800 samples have a standard deviation of 4 %.
    assert!(freed.abs_diff(100 * MEGABYTE) < 25 * MEGABYTE, "{freed}: {}", allocated.folded());
    assert!(kept.abs_diff(100 * MEGABYTE) < 25 * MEGABYTE, "{kept}: {}", allocated.folded());
    let last = |name: &str| {
        allocated.stacks.iter().any(|it| it.functions.last().is_some_and(|it| it.contains(name)))
    };
    assert!(!last("SampledAllocator") && !last("backtrace"), "{}", allocated.folded());

    let (held, vectors) = profile(ProfileKind::Held);
    assert_eq!(bytes_in(&held, "allocate_and_free"), 0, "{}", held.folded());
    let kept = bytes_in(&held, "allocate_and_hold");
    assert!(kept.abs_diff(50 * MEGABYTE) < 15 * MEGABYTE, "{kept}: {}", held.folded());
    assert_eq!(held.total, held.samples());
    drop(vectors);

    // The previous profile has ended.
    let again = Sampling::start(ProfileKind::Held, SampleRate::default()).expect("our allocator");
    let again = again.finish();
    assert!(again.total < 10 * MEGABYTE, "{}", again.folded());
}
