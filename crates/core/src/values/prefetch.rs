//! Prefetches memory into the cache before it is needed.
//!
//! The only `unsafe` here is the call of the instruction. Prefetching is a hint: it reads and
//! writes no memory that the program can observe, changes no register, and never faults, whatever
//! the address (AMD64 Architecture Programmer's Manual, volume 3, PREFETCHlevel; Intel SDM, volume
//! 2, PREFETCHh). So the safe equivalent is to do nothing, as on processors without an
//! implementation here. `cargo xtask bench parse` measures the gain, which
//! docs/experiments/2026-11-21-parsing-speed.md records.

/// The size of a cache line.
pub(super) const CACHE_LINE_BYTES: usize = 64;

/// Prefetches the cache line in which the item starts. An index outside the slice has no effect on
/// correctness.
///
/// The line stays in the first-level cache until other accesses displace it, so few should be in
/// flight at once: [`super::BATCH`] fits.
#[inline]
pub(super) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let item = items.as_ptr().wrapping_add(index);
        // SAFETY: every x86-64 processor has the instruction, and it has no effect that the program
        // can observe.
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
