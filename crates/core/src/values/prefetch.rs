//! Asks the processor to bring memory near before it is needed.
//!
//! The only `unsafe` here is the call of the instruction. What such a call must not do is
//! touch memory that is not there, and prefetching touches none: it is a hint, which changes
//! no register and no memory and never faults, whatever the address (AMD64 Architecture
//! Programmer's Manual, volume 3, PREFETCHlevel; Intel SDM, volume 2, PREFETCHh). So leaving it
//! out is its safe twin, and what is done on processors for which none is written here.
//! `cargo xtask bench parse` shows the gain; docs/experiments/2026-11-21-parsing-speed.md has it.

/// Bytes that come near together.
pub(super) const CACHE_LINE_BYTES: usize = 64;

/// Asks for the cache line in which the item starts. An index that is not in the slice asks
/// for something useless, and does no harm.
#[inline]
pub(super) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let item = items.as_ptr().wrapping_add(index);
        // SAFETY: the instruction is part of every x86-64 processor, and reads nothing that
        // the program could tell.
        #[expect(unsafe_code, reason = "a hint that has no effect but on time")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(item.cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn asks_for_anything() {
        let items = [1u64, 2, 3];
        for index in [0, 2, 3, 1 << 40, usize::MAX] {
            prefetch(&items, index);
            prefetch::<u8>(&[], index);
        }
        assert_eq!(items, [1, 2, 3]);
    }
}
