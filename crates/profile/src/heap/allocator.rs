//! The allocator through which samples are taken.
//!
//! Its argument: every call is passed on to the allocator of the system with the same arguments, and its answer is
//! returned as it is, so what holds for that one holds here. What is noted beside it is safe code, which takes
//! memory itself: [`samples`] sees to it that a thread that notes something notes nothing of that.
#![expect(unsafe_code, reason = "an allocator is unsafe to write; the argument is above")]

use std::alloc::{GlobalAlloc, Layout, System};

use super::samples;

/// The allocator of the system. While a profile of memory is taken, samples of its
/// allocations are noted; otherwise a call costs a load and a branch more.
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
        // SAFETY: the caller's promises are those that are asked for.
        let memory = unsafe { System.alloc(layout) };
        if samples::are_taken() {
            samples::note(memory.addr(), layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if samples::are_taken() {
            samples::note(memory.addr(), layout.size());
        }
        memory
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // Before another thread can get the same memory.
        if samples::are_taken() {
            samples::forget(memory.addr());
        }
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let is_noted = samples::are_taken();
        if is_noted {
            samples::forget(memory.addr());
        }
        // SAFETY: as above.
        let moved = unsafe { System.realloc(memory, layout, size) };
        if is_noted {
            // If there was no room, the memory is where it was.
            let kept = if moved.is_null() { (memory, layout.size()) } else { (moved, size) };
            samples::note(kept.0.addr(), kept.1);
        }
        moved
    }
}
