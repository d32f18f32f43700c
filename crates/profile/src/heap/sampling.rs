//! Starting and finishing a profile of memory.

use std::hint::black_box;
use std::sync::Arc;

use super::interval::MEAN_BYTES;
use super::samples;
use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::profile::{ProfileKind, Stack};

/// An allocation of this size is a sample except with a probability of e⁻⁴⁰ (5 MiB / 128 KiB).
const SURE_BYTES: usize = 5 << 20;

/// The thread name of all stacks. Threads are not told apart, because memory is often freed on
/// another thread.
const ALL_THREADS: &str = "all threads";

/// A running profile of memory. Dropping it stops the sampling.
#[derive(Debug)]
pub(crate) struct HeapSampling(());

/// The result of a profile of memory.
#[derive(Debug)]
pub(crate) struct HeapSamples {
    pub(crate) stacks: Vec<Stack>,
    /// Samples lost because a table was full.
    pub(crate) lost: u64,
}

impl HeapSampling {
    /// The average number of allocated bytes per sample.
    pub(crate) const PERIOD_BYTES: u64 = MEAN_BYTES as u64;

    /// Starts sampling. The caller ensures that only one exists at a time.
    ///
    /// # Errors
    /// If the program's allocator is not [`SampledAllocator`](super::SampledAllocator).
    pub(crate) fn start() -> Result<Self, ProfileError> {
        samples::start();
        let sampling = Self(());
        drop(black_box(Vec::<u8>::with_capacity(SURE_BYTES)));
        match samples::discard() {
            true => Ok(sampling),
            false => Err(ProfileError::Refused("the program has another allocator".to_owned())),
        }
    }

    /// Stops sampling. `kind` selects the bytes of each stack: all allocated ones, or those that
    /// are still held.
    pub(crate) fn finish(self, kind: ProfileKind) -> HeapSamples {
        let samples = samples::finish().unwrap_or_default();
        let mut functions = FunctionNames::default();
        let stacks = samples.stacks().map(|(addresses, sums)| Stack {
            thread: ALL_THREADS.to_owned(),
            functions: strip_allocator(functions.resolve(addresses)).into(),
            samples: if kind == ProfileKind::Held { sums.held } else { sums.allocated }.round() as u64,
        });
        let stacks = stacks.filter(|stack| stack.samples > 0).collect();
        let not_held = if kind == ProfileKind::Held { samples.not_held } else { 0 };
        HeapSamples { stacks, lost: samples.lost + not_held }
    }
}

impl Drop for HeapSampling {
    fn drop(&mut self) {
        samples::finish();
    }
}

/// Parts of the names of the allocator's own functions.
const ALLOCATOR_NAMES: [&str; 4] = ["SampledAllocator", "__rust_alloc", "__rust_realloc", "__rg_"];

/// Removes the functions of the allocator, so that the innermost function is the one that
/// allocates.
fn strip_allocator(mut functions: Vec<Arc<str>>) -> Vec<Arc<str>> {
    let is_of_allocator = |name: &Arc<str>| ALLOCATOR_NAMES.iter().any(|part| name.contains(part));
    let first = functions.iter().position(is_of_allocator);
    functions.truncate(first.unwrap_or(functions.len()));
    functions
}
