//! The mode of a terminal: whether it edits lines, or passes each key at once.

#[cfg(unix)]
pub(super) use self::unix::{Mode, restore, set_raw};

#[cfg(not(unix))]
pub(super) use self::other::{Mode, restore, set_raw};

#[cfg(unix)]
mod unix {
    use std::io::stdin;

    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

    /// A mode of the terminal.
    pub(crate) type Mode = Termios;

    /// Makes the terminal of standard input pass each key at once, without showing it. Returns the
    /// mode before that, or `None` if it cannot be changed.
    pub(crate) fn set_raw() -> Option<Mode> {
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(before)
    }

    /// Restores a mode. Keys that were not read yet do not reach the shell.
    pub(crate) fn restore(mode: &Mode) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, mode);
    }
}

#[cfg(not(unix))]
mod other {
    /// A mode of the terminal, which is never changed.
    #[derive(Debug)]
    pub(crate) enum Mode {}

    /// Keys are not read on this system.
    pub(crate) fn set_raw() -> Option<Mode> {
        None
    }

    pub(crate) fn restore(mode: &Mode) {
        match *mode {}
    }
}
