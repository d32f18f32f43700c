//! Interrupting threads, so that each notes its own stack.
//!
//! The only `unsafe` of this crate is here. Its argument:
//!
//! - A signal handler is the one way by which a thread can be made to walk its own stack while it does something
//!   else, and no safe function installs one. The handler may only do what is safe at any instruction
//!   (`signal-safety(7)`): it takes no lock and no memory. It reads the context that the kernel hands to it, walks
//!   the stack, and writes atomics that exist before it is installed ([`crate::slots`]). It keeps `errno`.
//! - `_Unwind_Backtrace` of libgcc, which walks the stack, finds the tables of a function without a lock by
//!   `_dl_find_object` of the C library: glibc has it from 2.35 on, and libgcc calls it from GCC 12 on.
//!   [`check_library`] refuses an older glibc; systems that have this one have that libgcc or a later one. What
//!   it sets up when it is first called is set up before the handler can run.
//! - `sigaction`, `setitimer`, `tgkill` and `gnu_get_libc_version` are called with values and pointers that live
//!   longer than the calls.
//!
//! The system calls of an interrupted thread begin again by themselves (`SA_RESTART`), or end with `EINTR`, which
//! the standard library, tokio and mio expect.

mod handler;
mod library;
mod timer;

pub(crate) use self::handler::{Interrupts, interrupt, walk_own};
pub(crate) use self::library::check_library;
pub(crate) use self::timer::Timer;
