//! What the code of a thread knows of its time, beside what the system knows.

mod registry;
mod runtime;

pub use registry::{BusyThread, SeenThread, busy_threads, observe_thread};
pub use runtime::{ObservedRuntime, RuntimeNumbers, busy_time, observe_runtime, runtimes};
