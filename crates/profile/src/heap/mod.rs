//! Profiles of memory: which functions allocate it, and how much they hold.
//!
//! | subject | file |
//! |---|---|
//! | the global allocator | `allocator.rs` |
//! | the choice of samples | `interval.rs` |
//! | the table of samples | `samples.rs` |
//! | starting and finishing a profile | `sampling.rs` |

mod allocator;
mod interval;
mod samples;
mod sampling;

pub use self::allocator::SampledAllocator;
pub(crate) use self::sampling::{HeapSamples, HeapSampling};
