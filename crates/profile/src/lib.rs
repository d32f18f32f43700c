//! A sampling profiler for the running process: processor time, waiting threads and allocated
//! memory.
//!
//! [`Sampling`] takes the samples. For processor time, a timer interrupts running threads at a
//! fixed rate per second of processor time (`setitimer`, `ITIMER_PROF`). For waiting, it interrupts
//! all waiting threads at a fixed rate per second. For memory, [`SampledAllocator`] records samples
//! of the allocations. The result is a [`Profile`], which can be written as [folded
//! stacks](Profile::folded) for flame graphs, or in [the pprof format](Profile::pprof).
//! [`thread_stacks`] returns the current stack of every thread.
//!
//! ```
//! # fn main() -> Result<(), weir_profile::ProfileError> {
//! use weir_profile::{ProfileKind, SampleRate, Sampling};
//!
//! # if cfg!(all(target_os = "linux", target_env = "gnu")) {
//! let sampling = Sampling::start(ProfileKind::Processor, SampleRate::default())?;
//! let sum: u64 = (0..1_000_000).sum();
//! let profile = sampling.finish();
//! println!("{sum}\n{}", profile.folded());
//! # }
//! # Ok(())
//! # }
//! ```

mod error;
mod folded;
mod pprof_format;
mod profile;
mod sample_rate;

// The context of a signal handler and the stack walk depend on the system, the C library and the
// architecture.
cfg_select! {
    all(
        target_os = "linux",
        target_env = "gnu",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ) => {
        mod collector;
        mod function_names;
        mod heap;
        mod interrupt;
        mod sampling;
        mod sampling_lock;
        mod slots;
        mod thread_stacks;
        mod threads;

        pub use heap::SampledAllocator;
        pub use sampling::Sampling;
        pub use thread_stacks::{ThreadStack, thread_stacks};
    }
    _ => {
        mod unsupported;

        // Profiles of memory are not supported.
        pub use std::alloc::System as SampledAllocator;
        pub use unsupported::{Sampling, ThreadStack, thread_stacks};
    }
}

pub use error::ProfileError;
pub use profile::{Profile, ProfileKind, Stack};
pub use sample_rate::SampleRate;
