//! The handler of `SIGPROF`.
#![expect(unsafe_code, reason = "a signal handler; the argument is in the module above")]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::zeroed;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::slots::{FRAMES_MAX, Slots};

/// What the handler needs. It is there before the handler is.
static SHARED: OnceLock<Shared> = OnceLock::new();

#[derive(Debug)]
struct Shared {
    slots: Slots,
    is_installed: AtomicBool,
    is_active: AtomicBool,
    /// The code of the kernel that reads the clock, `vdso(7)`. Its tables are not always right, so no stack is
    /// walked that ends in it.
    vdso: Range<usize>,
}

/// While there is one, interrupted threads note their stacks.
#[derive(Debug)]
pub(crate) struct Interrupts {
    shared: &'static Shared,
}

impl Interrupts {
    /// Installs the handler, if it is not there already, and lets threads note their stacks. The caller takes care
    /// that there is one of these at a time.
    ///
    /// # Errors
    /// If the system refuses the handler.
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
        // Left by threads that were late for the one before.
        shared.slots.take_all(|_| {});
        shared.slots.take_lost();
        shared.is_active.store(true, Ordering::Release);
        Ok(Self { shared })
    }

    /// Where the stacks are.
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
    // What walks stacks sets itself up when it is first called.
    walk(0, |_| false);
    // SAFETY: all zeros are a valid `sigaction`.
    let mut action: libc::sigaction = unsafe { zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = note_stack;
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: `action` is valid, and the handler has the signature that `SA_SIGINFO` asks for.
    let refused = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Where the kernel has put its own code.
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

extern "C" fn note_stack(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(shared) = SHARED.get() else { return };
    if !shared.is_active.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: every thread has one.
    let errno = unsafe { *libc::__errno_location() };
    if let Some(mut slot) = shared.slots.claim() {
        // SAFETY: it has no argument, and does not fail.
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

/// The address of the instruction that comes next when the handler has returned.
fn interrupted_at(context: *const libc::ucontext_t) -> usize {
    // SAFETY: the kernel hands a valid context to a handler with `SA_SIGINFO`.
    let registers = unsafe { &(*context).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    return registers.gregs[libc::REG_RIP as usize] as usize;
    #[cfg(target_arch = "aarch64")]
    return registers.pc as usize;
}

/// Hands over the addresses of the callers of the function that was interrupted at an address, while they are
/// wanted.
fn walk(interrupted_at: usize, mut push: impl FnMut(usize) -> bool) {
    let mut is_interrupted = false;
    let mut frames = 0;
    let each = |frame: &backtrace::Frame| {
        frames += 1;
        let address = frame.ip() as usize;
        let wanted = match is_interrupted {
            // The handler itself comes first.
            false => true,
            // What began the thread returns to nowhere.
            true => address != 0 && push(address),
        };
        is_interrupted |= address == interrupted_at;
        wanted && frames < 2 * FRAMES_MAX
    };
    trace(each);
}

/// Hands over the addresses of the functions that this thread is in, the innermost first, while they are wanted.
pub(crate) fn walk_own(mut push: impl FnMut(usize) -> bool) {
    trace(|frame| push(frame.ip() as usize));
}

fn trace(each: impl FnMut(&backtrace::Frame) -> bool) {
    // SAFETY: it must not run on two threads at once only where it needs global state, which it does on Windows
    // alone.
    unsafe { backtrace::trace_unsynchronized(each) };
}

/// Interrupts a thread of this process. Returns whether there is such a thread.
pub(crate) fn interrupt(thread: i32) -> bool {
    let process = i32::try_from(std::process::id()).unwrap_or_default();
    // SAFETY: it takes numbers, and a number that is no thread is refused.
    unsafe { libc::tgkill(process, thread, libc::SIGPROF) == 0 }
}
