//! The end by a signal while the terminal takes nothing, as that of a frozen connection. The thread
//! that draws waits for the terminal then, and cannot end the program.

#[cfg(unix)]
pub(super) use self::unix::end_after_signals;

#[cfg(not(unix))]
pub(super) use self::other::end_after_signals;

#[cfg(unix)]
mod unix {
    use std::io;
    use std::thread;
    use std::time::Duration;

    use tokio::runtime::Builder;
    use tokio::signal::unix::{SignalKind, signal};

    use crate::full_screen::console::{drop_unread, leave_without_wait};

    /// How long the ordinary end may take.
    const ORDINARY_END_MAX: Duration = Duration::from_secs(1);

    /// How often room is made in the terminal after that, and the pause for the loop to use it. A
    /// terminal has room for some kilobytes, and a screen may have a hundred.
    const ROOM_MADE_MAX: usize = 50;
    const ROOM_PAUSE: Duration = Duration::from_millis(20);

    /// Starts a thread that ends the program if a signal asked for that and it goes on. The signals
    /// are those at which the loops around a [`FullScreen`](crate::full_screen::FullScreen) end.
    pub(crate) fn end_after_signals() {
        let thread = thread::Builder::new().name("end".to_owned());
        // Without this thread, the ordinary end stays.
        let _ = thread.spawn(|| {
            if wait_for_signal().is_ok() {
                thread::sleep(ORDINARY_END_MAX);
                for _ in 0..ROOM_MADE_MAX {
                    drop_unread();
                    thread::sleep(ROOM_PAUSE);
                }
                leave_without_wait();
                std::process::exit(0);
            }
        });
    }

    /// Waits in a runtime of its own, because that of the loop waits with it.
    fn wait_for_signal() -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut closed = signal(SignalKind::hangup())?;
            let mut quit = signal(SignalKind::quit())?;
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = closed.recv() => {}
                _ = quit.recv() => {}
            }
            Ok(())
        })
    }
}

#[cfg(not(unix))]
mod other {
    /// This system has no such signals.
    pub(crate) fn end_after_signals() {}
}
