//! The mode of a terminal: whether it edits lines, or passes each key at once.

#[cfg(unix)]
pub(super) use self::unix::{Mode, restore, set_raw};

#[cfg(not(unix))]
pub(super) use self::other::{Mode, restore, set_raw};

#[cfg(unix)]
mod unix {
    use std::fs::File;

    use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

    /// A mode of the terminal.
    pub(crate) type Mode = Termios;

    /// Makes a terminal pass each key at once, without showing it. Returns the mode before that, or
    /// `None` if it cannot be changed.
    pub(crate) fn set_raw(terminal: &File) -> Option<Mode> {
        let before = tcgetattr(terminal).ok()?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Now, &raw).ok()?;
        Some(before)
    }

    /// Restores a mode. Keys that were not read yet do not reach the shell.
    pub(crate) fn restore(terminal: &File, mode: &Mode) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(terminal, OptionalActions::Flush, mode);
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::File;

    /// A mode of the terminal, which is never changed.
    #[derive(Debug)]
    pub(crate) enum Mode {}

    /// Keys are not read on this system.
    pub(crate) fn set_raw(_: &File) -> Option<Mode> {
        None
    }

    pub(crate) fn restore(_: &File, mode: &Mode) {
        match *mode {}
    }
}
