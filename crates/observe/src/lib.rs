//! Instrumentation that records what the program does: tasks, threads, calls, waits and single
//! requests.
//!
//! Any code of the program can use it. Without an admin address, nothing is recorded.
//! Instrumentation that is switched off costs one atomic load and a branch. `weir-inside` reads the
//! records and shows them.

pub mod call;
pub mod capture;
pub mod task;
pub mod thread;
mod wait;

pub use wait::{OpenWait, WaitClock, WaitTimes};
