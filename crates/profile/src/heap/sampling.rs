//! Beginning and ending a profile of memory.

use std::hint::black_box;
use std::sync::Arc;

use super::interval::MEAN_BYTES;
use super::samples;
use crate::error::ProfileError;
use crate::function_names::FunctionNames;
use crate::profile::{ProfileKind, Stack};

/// An allocation of this size is a sample, but for one time in a thousand million million.
const SURE_BYTES: usize = 5 << 20;

/// The stacks have no threads: memory is often freed by another one than has allocated it.
const ALL_THREADS: &str = "all threads";

/// Samples of allocations that are being taken, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeapSampling(());

/// What was found.
#[derive(Debug)]
pub(crate) struct HeapSamples {
    pub(crate) stacks: Vec<Stack>,
    /// Samples for which there was no room.
    pub(crate) lost: u64,
}

impl HeapSampling {
    /// Bytes for each sample, on average.
    pub(crate) const PERIOD_BYTES: u64 = MEAN_BYTES as u64;

    /// Begins to take samples. The caller takes care that there is one of these at a time.
    ///
    /// # Errors
    /// If the program does not allocate by [`SampledAllocator`](super::SampledAllocator).
    pub(crate) fn start() -> Result<Self, ProfileError> {
        samples::start();
        let sampling = Self(());
        drop(black_box(Vec::<u8>::with_capacity(SURE_BYTES)));
        match samples::take_any() {
            true => Ok(sampling),
            false => Err(ProfileError::Refused("the program has another allocator".to_owned())),
        }
    }

    /// Ends it. The bytes of the stacks are those that were allocated meanwhile, or those that are held.
    pub(crate) fn finish(self, kind: ProfileKind) -> HeapSamples {
        let samples = samples::finish().unwrap_or_default();
        let mut functions = FunctionNames::default();
        let stacks = samples.stacks().map(|(addresses, sums)| Stack {
            thread: ALL_THREADS.to_owned(),
            functions: without_allocator(functions.functions(addresses)).into(),
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

/// The functions that the allocator itself is in, by parts of their names.
const OF_ALLOCATOR: [&str; 4] = ["SampledAllocator", "__rust_alloc", "__rust_realloc", "__rg_"];

/// The functions of a stack, up to the one that asks for memory.
fn without_allocator(mut functions: Vec<Arc<str>>) -> Vec<Arc<str>> {
    let is_of_allocator = |name: &Arc<str>| OF_ALLOCATOR.iter().any(|part| name.contains(part));
    let asked = functions.iter().position(is_of_allocator);
    functions.truncate(asked.unwrap_or(functions.len()));
    functions
}
