//! The signals about the terminal.

#[cfg(unix)]
pub(crate) use self::unix::TerminalSignals;
#[cfg(unix)]
pub(super) use self::unix::{stop_group, stop_process};

#[cfg(not(unix))]
pub(crate) use self::other::TerminalSignals;
#[cfg(not(unix))]
pub(super) use self::other::{stop_group, stop_process};

/// What happened to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalEvent {
    /// It has another size.
    Resized,
    /// The program was asked to stop, and to give the terminal back before.
    Stopping,
    /// The program may use it again, after it was stopped.
    Continued,
    /// It is gone, or the program was asked to quit.
    Closed,
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{
        Signal as SignalNumber, getpid, kill_current_process_group, kill_process,
    };
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::TerminalEvent;
    use crate::full_screen::job::can_be_continued;

    /// The signals about the terminal, from its creation on.
    #[derive(Debug)]
    pub(crate) struct TerminalSignals {
        resized: Signal,
        stopping: Signal,
        continued: Signal,
        closed: Signal,
        quit: Signal,
    }

    impl TerminalSignals {
        /// Installs the handlers.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                resized: signal(SignalKind::window_change())?,
                stopping: signal(SignalKind::from_raw(SignalNumber::TSTP.as_raw()))?,
                continued: signal(SignalKind::from_raw(SignalNumber::CONT.as_raw()))?,
                closed: signal(SignalKind::hangup())?,
                quit: signal(SignalKind::quit())?,
            })
        }

        /// Returns the next event.
        pub(crate) async fn next(&mut self) -> TerminalEvent {
            tokio::select! {
                _ = self.resized.recv() => TerminalEvent::Resized,
                _ = self.stopping.recv() => TerminalEvent::Stopping,
                _ = self.continued.recv() => TerminalEvent::Continued,
                _ = self.closed.recv() => TerminalEvent::Closed,
                _ = self.quit.recv() => TerminalEvent::Closed,
            }
        }
    }

    /// Asks the programs of this job to stop, as the terminal does for Ctrl-Z. This program gets
    /// [`TerminalEvent::Stopping`].
    pub(crate) fn stop_group() {
        if can_be_continued() {
            // A program that cannot be asked goes on.
            let _ = kill_current_process_group(SignalNumber::TSTP);
        }
    }

    /// Stops this program. Returns when it is continued.
    pub(crate) fn stop_process() {
        if can_be_continued() {
            let _ = kill_process(getpid(), SignalNumber::STOP);
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::io;

    use super::TerminalEvent;

    /// This system has no such signals.
    #[derive(Debug)]
    pub(crate) struct TerminalSignals;

    impl TerminalSignals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) async fn next(&mut self) -> TerminalEvent {
            std::future::pending().await
        }
    }

    pub(crate) fn stop_group() {}

    pub(crate) fn stop_process() {}
}
