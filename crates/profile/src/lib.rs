//! Where a running program spends its processor time.
//!
//! [`Sampling`] interrupts whatever thread runs, a fixed number of times for each second of processor time
//! (`setitimer`, `ITIMER_PROF`), and notes its stack. What it has found is a [`Profile`], which is written as
//! [folded stacks](Profile::folded) for flame graphs, or in [the format of pprof](Profile::pprof).
//!
//! ```
//! # fn main() -> Result<(), weir_profile::ProfileError> {
//! use weir_profile::{SampleRate, Sampling};
//!
//! # if cfg!(unix) {
//! let sampling = Sampling::start(SampleRate::default())?;
//! let sum: u64 = (0..1_000_000).sum();
//! let profile = sampling.finish()?;
//! println!("{sum}\n{}", profile.folded());
//! # }
//! # Ok(())
//! # }
//! ```

mod error;
mod folded;
mod function_name;
mod pprof_format;
mod profile;
mod sample_rate;
#[cfg(unix)]
mod sampling;
#[cfg(not(unix))]
#[path = "no_sampling.rs"]
mod sampling;

pub use error::ProfileError;
pub use profile::{Profile, Stack};
pub use sample_rate::SampleRate;
pub use sampling::Sampling;
