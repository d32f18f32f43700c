//! Interrupts threads with `SIGPROF`, so that each records its own stack.
//!
//! The `unsafe` code here is sound because:
//!
//! - Only a signal handler can make a busy thread walk its own stack, and no safe function installs
//!   one. A handler may only do what is async-signal-safe (`signal-safety(7)`). This one takes no
//!   lock and allocates nothing. It reads the context from the kernel, walks the stack, and writes
//!   atomics that exist before it is installed ([`crate::slots`]). It preserves `errno`.
//! - libgcc's `_Unwind_Backtrace` walks the stack. It finds unwind tables without a lock through
//!   `_dl_find_object`, which glibc has since 2.35 and libgcc calls since GCC 12. [`check_library`]
//!   refuses an older glibc; systems with glibc 2.35 ship that libgcc or a later one. Its lazy
//!   initialization runs before the handler is installed.
//! - `sigaction`, `setitimer`, `tgkill` and `gnu_get_libc_version` get values and pointers that
//!   outlive the calls.
//!
//! An interrupted system call restarts (`SA_RESTART`) or fails with `EINTR`, which the standard
//! library, tokio and mio handle.

mod handler;
mod library;
mod timer;

pub(crate) use self::handler::{Interrupts, interrupt, walk_own_stack};
pub(crate) use self::library::check_library;
pub(crate) use self::timer::Timer;
