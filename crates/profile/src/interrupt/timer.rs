//! The timer of a process that counts its processor time.
#![expect(unsafe_code, reason = "a foreign function; the argument is in the module above")]

use std::io;
use std::ptr::null_mut;

use crate::sample_rate::SampleRate;

/// Interrupts a thread that runs, so often for each second of the processor time of all, until this is dropped.
#[derive(Debug)]
pub(crate) struct Timer(());

impl Timer {
    /// Starts the timer.
    ///
    /// # Errors
    /// If the system refuses it.
    pub(crate) fn start(sample_rate: SampleRate) -> io::Result<Self> {
        set(1_000_000 / i64::from(sample_rate.hz())).map(Self)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Stopping a timer does not fail.
        let _ = set(0);
    }
}

/// Sets the timer to an interval; 0 stops it.
fn set(interval_us: i64) -> io::Result<()> {
    let (seconds, rest) = (interval_us / 1_000_000, interval_us % 1_000_000);
    let interval = libc::timeval { tv_sec: seconds as _, tv_usec: rest as _ };
    let timer = libc::itimerval { it_interval: interval, it_value: interval };
    // SAFETY: `timer` is valid, and nothing is asked for.
    let refused = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, null_mut()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
