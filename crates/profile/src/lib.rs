//! Where a running program spends its processor time, and what its threads wait for.
//!
//! [`Sampling`] interrupts threads and notes their stacks: whatever thread runs, a fixed number of times for each
//! second of processor time (`setitimer`, `ITIMER_PROF`), or all those that wait, a fixed number of times a second.
//! What it has found is a [`Profile`], which is written as [folded stacks](Profile::folded) for flame graphs, or in
//! [the format of pprof](Profile::pprof). [`thread_stacks`] says what every thread is in at this moment.
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

// The system that the rest is for: the context of a signal, and the walk through its stack, depend on all three.
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
        mod slots;
        mod thread_stacks;
        mod threads;
        mod turn;

        pub use heap::SampledAllocator;
        pub use sampling::Sampling;
        pub use thread_stacks::{ThreadStack, thread_stacks};
    }
    _ => {
        mod no_sampling;

        // There are no profiles of memory.
        pub use std::alloc::System as SampledAllocator;
        pub use no_sampling::{Sampling, ThreadStack, thread_stacks};
    }
}

pub use error::ProfileError;
pub use profile::{Profile, ProfileKind, Stack};
pub use sample_rate::SampleRate;
