//! The global allocator that samples allocations.
//!
//! The `unsafe` code is sound because every call goes to the system allocator with the same
//! arguments, and its result is returned unchanged. So the guarantees of the system allocator hold
//! here. The recording of samples is safe code. It allocates memory itself; [`samples`] ignores
//! these allocations, so it does not recurse.
#![expect(unsafe_code, reason = "an allocator is unsafe to write; the argument is above")]

use std::alloc::{GlobalAlloc, Layout, System};

use super::samples;

/// The system allocator, with samples of its allocations while a profile of memory is running.
/// Otherwise a call costs one more load and branch.
///
/// ```
/// use weir_profile::SampledAllocator;
///
/// #[global_allocator]
/// static ALLOCATOR: SampledAllocator = SampledAllocator;
/// ```
#[derive(Debug, Default, Clone, Copy)]
pub struct SampledAllocator;

// SAFETY: see the argument above.
unsafe impl GlobalAlloc for SampledAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract, which is the same.
        let memory = unsafe { System.alloc(layout) };
        if samples::is_sampling() {
            samples::record_allocation(memory.addr(), layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if samples::is_sampling() {
            samples::record_allocation(memory.addr(), layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // This must come before another thread can get the same address.
        if samples::is_sampling() {
            samples::record_free(memory.addr());
        }
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_sampling = samples::is_sampling();
        if is_sampling {
            samples::record_free(memory.addr());
        }
        // SAFETY: as above.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if is_sampling {
            // If it failed, the memory is still at its old address.
            let kept = if moved.is_null() { (memory, layout.size()) } else { (moved, size) };
            samples::record_allocation(kept.0.addr(), kept.1);
        }
        moved
    }
}
