//! The signals about the terminal.

#[cfg(unix)]
pub(crate) use self::unix::{TerminalSignals, suspend};

#[cfg(not(unix))]
pub(crate) use self::other::{TerminalSignals, suspend};

/// What happened to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalEvent {
    /// It has another size.
    Resized,
    /// The program may use it again, after it was stopped.
    Continued,
    /// It is gone.
    Closed,
}

#[cfg(unix)]
mod unix {
    use std::io;

    use rustix::process::{Signal as SignalNumber, kill_current_process_group};
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::TerminalEvent;

    /// The signals about the terminal, from its creation on.
    #[derive(Debug)]
    pub(crate) struct TerminalSignals {
        resized: Signal,
        continued: Signal,
        closed: Signal,
    }

    impl TerminalSignals {
        /// Installs the handlers.
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                resized: signal(SignalKind::window_change())?,
                continued: signal(SignalKind::from_raw(SignalNumber::CONT.as_raw()))?,
                closed: signal(SignalKind::hangup())?,
            })
        }

        /// Returns the next event.
        pub(crate) async fn next(&mut self) -> TerminalEvent {
            tokio::select! {
                _ = self.resized.recv() => TerminalEvent::Resized,
                _ = self.continued.recv() => TerminalEvent::Continued,
                _ = self.closed.recv() => TerminalEvent::Closed,
            }
        }
    }

    /// Stops the programs of this job, as the terminal does for Ctrl-Z.
    pub(crate) fn suspend() -> io::Result<()> {
        Ok(kill_current_process_group(SignalNumber::TSTP)?)
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

    pub(crate) fn suspend() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
