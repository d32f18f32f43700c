//! The distance between the cores of two threads, as the latency of a cache line.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BATCHES: u32 = 100;
/// Few, because a round takes milliseconds if the cores have other work.
const ROUNDS: u32 = 100;
/// No batch begins later than this. All of them take a few milliseconds on idle cores.
const BEGINNING_MAX: Duration = Duration::from_millis(50);
/// Tells the second thread that no more rounds come.
const END: u32 = u32::MAX;

/// The time that a cache line takes from one core to another, the least of a few batches.
///
/// It changes on a virtual machine: the host may move two virtual cores from processors with a
/// common cache to processors without one at any time. A program that hands memory from thread to
/// thread then runs at a fraction of its speed.
pub fn distance_of_cores() -> Duration {
    let turn = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| answer(&turn));
        let least = measure(&turn);
        turn.store(END, Ordering::Release);
        least
    })
}

/// Adds one to each odd number until the end.
fn answer(turn: &AtomicU32) {
    loop {
        match turn.load(Ordering::Acquire) {
            END => return,
            number if number % 2 == 1 => turn.store(number + 1, Ordering::Release),
            _ => spin_loop(),
        }
    }
}

fn measure(turn: &AtomicU32) -> Duration {
    let beginning = Instant::now();
    let mut least = Duration::MAX;
    for batch in 0..BATCHES {
        if batch > 0 && beginning.elapsed() > BEGINNING_MAX {
            break;
        }
        let start = Instant::now();
        for round in batch * ROUNDS..(batch + 1) * ROUNDS {
            turn.store(2 * round + 1, Ordering::Release);
            while turn.load(Ordering::Acquire) != 2 * round + 2 {
                spin_loop();
            }
        }
        least = least.min(start.elapsed() / (2 * ROUNDS));
    }
    least
}
