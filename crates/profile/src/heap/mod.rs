//! Samples of allocations: which functions ask for memory, and which of it they keep.
//!
//! | step | file |
//! |---|---|
//! | every allocation passes here | `allocator.rs` |
//! | which of them are samples | `interval.rs` |
//! | what is known of the samples | `samples.rs` |
//! | beginning and ending a profile | `sampling.rs` |

mod allocator;
mod interval;
mod samples;
mod sampling;

pub use self::allocator::SampledAllocator;
pub(crate) use self::sampling::{HeapSamples, HeapSampling};
