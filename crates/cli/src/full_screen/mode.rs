//! The mode of a terminal: whether it edits lines, or passes each key at once.

#[cfg(unix)]
pub(super) use self::unix::{
    Mode, drop_output_if_full, is_there, restore, restore_without_wait, set_raw, write_without_wait,
};

#[cfg(not(unix))]
pub(super) use self::other::{Mode, is_there, restore, set_raw};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{Mode as FileMode, OFlags, open};
    use rustix::termios::{
        OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr, ttyname,
    };

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

    /// Restores a mode, even if the terminal never takes what was written to it.
    pub(crate) fn restore_without_wait(terminal: &File, mode: &Mode) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(terminal, OptionalActions::Now, mode);
        let _ = tcflush(terminal, QueueSelector::IFlush);
    }

    /// Drops what was written to a terminal and not taken, if the terminal takes no more.
    pub(crate) fn drop_output_if_full(terminal: impl AsFd) {
        let mut room = [PollFd::new(&terminal, PollFlags::OUT)];
        if let Ok(0) = poll(&mut room, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            let _ = tcflush(terminal, QueueSelector::OFlush);
        }
    }

    /// Writes to a terminal what it takes at once.
    pub(crate) fn write_without_wait(terminal: impl AsFd, text: &str) {
        let Ok(name) = ttyname(terminal, Vec::new()) else { return };
        // Opened again, because the mark would be that of every program on the terminal.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        if let Ok(terminal) = open(name.as_c_str(), flags, FileMode::empty()) {
            let _ = rustix::io::write(terminal, text.as_bytes());
        }
    }

    /// Whether a terminal is there: its other side is open.
    pub(crate) fn is_there(terminal: &File) -> bool {
        tcgetattr(terminal).is_ok()
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

    /// A terminal without keys has none to read.
    pub(crate) fn is_there(_: &File) -> bool {
        false
    }
}
