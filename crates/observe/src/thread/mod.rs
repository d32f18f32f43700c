//! The busy times of threads and runtimes as the program itself measures them.

mod registry;
mod runtime;

pub use registry::{ObservedThread, ThreadBusyTime, observe_thread, thread_busy_times};
pub use runtime::{ObservedRuntime, RuntimeMetrics, busy_time, observe_runtime, runtimes};
