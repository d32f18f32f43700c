//! The distance between the cores of two threads, as the latency of a cache line.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const BATCHES: u32 = 5;
const ROUNDS: u32 = 2_000;

/// The time that a cache line takes from one core to another, the least of a few batches.
///
/// It changes on a virtual machine: the host may move two virtual cores from processors with a common
/// cache to processors without one at any time. A program that hands memory from thread to thread
/// then runs at a fraction of its speed.
pub fn distance_of_cores() -> Duration {
    let turn = AtomicU32::new(0);
    let wait_for = |number: u32| {
        while turn.load(Ordering::Acquire) != number {
            spin_loop();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..BATCHES * ROUNDS {
                wait_for(2 * round + 1);
                turn.store(2 * round + 2, Ordering::Release);
            }
        });
        let batches = (0..BATCHES).map(|batch| {
            let start = Instant::now();
            for round in batch * ROUNDS..(batch + 1) * ROUNDS {
                turn.store(2 * round + 1, Ordering::Release);
                wait_for(2 * round + 2);
            }
            start.elapsed() / (2 * ROUNDS)
        });
        batches.min().unwrap_or_default()
    })
}
