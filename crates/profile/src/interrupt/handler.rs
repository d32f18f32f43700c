//! The `SIGPROF` handler.
#![expect(unsafe_code, reason = "a signal handler; the argument is in the parent module")]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::zeroed;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::slots::{FRAMES_MAX, Slots};

/// The state of the handler. It is initialized before the handler is installed.
static SHARED: OnceLock<Shared> = OnceLock::new();

#[derive(Debug)]
struct Shared {
    slots: Slots,
    is_installed: AtomicBool,
    is_active: AtomicBool,
    /// The addresses of the kernel's clock code, `vdso(7)`. Its unwind tables are unreliable, so a
    /// stack whose innermost frame is there is not walked.
    vdso: Range<usize>,
}

/// While this exists, interrupted threads record their stacks.
#[derive(Debug)]
pub(crate) struct Interrupts {
    shared: &'static Shared,
}

impl Interrupts {
    /// Installs the handler on the first call, and lets threads record their stacks. The caller
    /// ensures that only one exists at a time.
    ///
    /// # Errors
    /// If `sigaction` fails.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = SHARED.get_or_init(|| Shared {
            slots: Slots::new(),
            is_installed: AtomicBool::new(false),
            is_active: AtomicBool::new(false),
            vdso: vdso(),
        });
        if !shared.is_installed.load(Ordering::Relaxed) {
            install()?;
            shared.is_installed.store(true, Ordering::Relaxed);
        }
        // Discards stacks that arrived after the previous profile had ended.
        shared.slots.drain(|_| {});
        shared.slots.take_lost();
        shared.is_active.store(true, Ordering::Release);
        Ok(Self { shared })
    }

    /// Returns the table of recorded stacks.
    pub(crate) fn slots(&self) -> &'static Slots {
        &self.shared.slots
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.shared.is_active.store(false, Ordering::Release);
    }
}

fn install() -> io::Result<()> {
    // The unwinder initializes itself on its first call, which must not happen in the handler.
    walk(0, |_| false);
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = note_stack;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: `action` is valid, and the handler has the signature that `SA_SIGINFO` requires.
    let status = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the address range of the vDSO, from `/proc/self/maps`; empty if there is none.
fn vdso() -> Range<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let line = maps.lines().find(|line| line.ends_with("[vdso]"));
    let range = line.and_then(|line| {
        let (start, end) = line.split(' ').next()?.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    });
    range.unwrap_or_default()
}

/// Records the stack of the interrupted thread in a slot.
extern "C" fn note_stack(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(shared) = SHARED.get() else { return };
    if !shared.is_active.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: every thread has an `errno`.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(mut slot) = shared.slots.claim() {
        // SAFETY: `gettid` has no arguments and cannot fail.
        slot.set_thread(unsafe { libc::gettid() });
        let address = interrupted_at(context.cast());
        slot.push(address);
        if !shared.vdso.contains(&address) {
            walk(address, |address| slot.push(address));
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Returns the address of the interrupted instruction.
fn interrupted_at(context: *const libc::ucontext_t) -> usize {
    // SAFETY: the kernel passes a valid context to a handler with `SA_SIGINFO`.
    let registers = unsafe { &(*context).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return registers.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return registers.pc as usize;
}

/// Calls `push` with the return addresses of the interrupted function's callers, innermost first,
/// until it returns `false`.
fn walk(interrupted_at: usize, mut push: impl FnMut(usize) -> bool) {
    let mut is_interrupted = false;
    let mut frames = 0;
    let each = |frame: &backtrace::Frame| {
        frames += 1;
        let address = frame.ip() as usize;
        let wanted = match is_interrupted {
            // Skips the frames of the handler, which come first.
            false => true,
            // The outermost frame has the return address 0.
            true => address != 0 && push(address),
        };
        is_interrupted |= address == interrupted_at;
        wanted && frames < 2 * FRAMES_MAX
    };
    trace(each);
}

/// Calls `push` with the addresses of this thread's own stack, innermost first, until it returns
/// `false`.
pub(crate) fn walk_own_stack(mut push: impl FnMut(usize) -> bool) {
    trace(|frame| push(frame.ip() as usize));
}

fn trace(each: impl FnMut(&backtrace::Frame) -> bool) {
    // SAFETY: only the implementation for Windows has global state, which two threads must not use
    // at once.
    unsafe { backtrace::trace_unsynchronized(each) };
}

/// Interrupts a thread of this process. Returns `false` if there is no such thread.
pub(crate) fn interrupt(thread: i32) -> bool {
    let process = i32::try_from(std::process::id()).unwrap_or_default();
    // SAFETY: `tgkill` takes plain numbers, and fails if there is no such thread.
    unsafe { libc::tgkill(process, thread, libc::SIGPROF) == 0 }
}
