//! Memory that the server returns to the system.

/// Blocks of at least this size are returned to the system when they are freed. The size is that
/// of the buffers of uploads, which come and go with sessions.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const RETURNED_BYTES: libc::c_int = 1 << 20;

/// The number of heaps of a machine with fewer cores. glibc would make eight for each core, one for almost
/// each thread that computes views, and free blocks in one are of no use to the others.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAPS_MIN: usize = 4;

/// Makes glibc share heaps between threads, and return large blocks to the system when they are freed. Without this, its threshold
/// rises to 32 MiB with the first large block that is freed, and the buffers of sessions that have
/// ended stay in the process, scattered over its heaps.
///
/// Call it before the server starts its threads. Other allocators return memory by themselves.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt is a foreign function")]
pub(super) fn prepare_heaps() {
    let cores = std::thread::available_parallelism().map_or(HEAPS_MIN, usize::from);
    let heaps = libc::c_int::try_from(cores.max(HEAPS_MIN)).unwrap_or(libc::c_int::MAX);
    // SAFETY: mallopt(3) takes two numbers by value and touches no memory of the caller. It is
    // safe to call at any time; glibc locks its own state. If it fails, nothing changes. The two
    // calls do not depend on each other.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, RETURNED_BYTES);
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
}

/// Does nothing, because only glibc needs it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn prepare_heaps() {}

/// Returns the free pages of all heaps to the system. The blocks of uploads and views that are
/// smaller than the threshold lie between others in the heaps of the threads that made them, so
/// glibc keeps their pages after they are freed. For heaps of 50 MB this takes 1 to 3 ms.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "malloc_trim is a foreign function")]
pub(super) fn return_free_pages() {
    // SAFETY: malloc_trim(3) takes a number by value, and frees no block that is in use. It is safe
    // to call from any thread at any time; glibc locks each heap meanwhile.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Does nothing, because only glibc needs it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn return_free_pages() {}
