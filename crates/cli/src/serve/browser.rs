//! Opens the page in a browser, where there is one.

use std::process::{Command, Stdio};
use std::thread;

/// The program that opens an address, by the system.
const PROGRAM: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Opens the address. Where that fails there is no harm: it is printed as well.
pub(super) fn open(url: &str) {
    if !has_screen() {
        return;
    }
    let mut command = Command::new(PROGRAM);
    command.arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Waited for, so that it leaves no zombie.
        thread::spawn(move || child.wait());
    }
}

/// True where a browser could show itself.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
