//! The process's timer of processor time (`setitimer(2)`).
#![expect(unsafe_code, reason = "a foreign function; the argument is in the parent module")]

use std::io;
use std::ptr::null_mut;

use crate::sample_rate::SampleRate;

/// Interrupts a running thread at a fixed rate per second of the process's processor time, until it
/// is dropped.
#[derive(Debug)]
pub(crate) struct Timer(());

impl Timer {
    /// Starts the timer.
    ///
    /// # Errors
    /// If `setitimer` fails.
    pub(crate) fn start(sample_rate: SampleRate) -> io::Result<Self> {
        set(1_000_000 / i64::from(sample_rate.hz())).map(Self)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Stopping the timer cannot fail.
        let _ = set(0);
    }
}

/// Sets the interval of the timer; 0 stops it.
fn set(interval_us: i64) -> io::Result<()> {
    let (seconds, rest) = (interval_us / 1_000_000, interval_us % 1_000_000);
    let interval = libc::timeval { tv_sec: seconds as _, tv_usec: rest as _ };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: `timer` is valid, and a null pointer means that the old value is not returned.
    let status = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
