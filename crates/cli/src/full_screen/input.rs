//! The terminal on which a person presses keys: standard input, or if that is something else, the
//! terminal of the process.

use std::fs::File;
use std::io::{IsTerminal, stdin};
use std::sync::OnceLock;

/// Returns the terminal of the keys; `None` without one.
pub(super) fn terminal() -> Option<&'static File> {
    static TERMINAL: OnceLock<Option<File>> = OnceLock::new();
    TERMINAL.get_or_init(open).as_ref()
}

#[cfg(unix)]
fn open() -> Option<File> {
    use std::os::fd::AsFd;
    if stdin().is_terminal() {
        return stdin().as_fd().try_clone_to_owned().ok().map(File::from);
    }
    File::options().read(true).write(true).open("/dev/tty").ok()
}

#[cfg(not(unix))]
fn open() -> Option<File> {
    let _ = stdin().is_terminal();
    None
}
