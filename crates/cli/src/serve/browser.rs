//! Opens the page in a browser, if there is one.

use std::process::{Command, Stdio};
use std::thread;

/// The program that opens an address on this operating system.
const PROGRAM: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Opens the address. Failures are ignored, because the address is printed as well.
pub(super) fn open(url: &str) {
    if !has_screen() {
        return;
    }
    let mut command = Command::new(PROGRAM);
    command.arg(url);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Without a wait, the child would stay as a zombie.
        thread::spawn(move || child.wait());
    }
}

/// Whether a browser could open a window.
fn has_screen() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(any(target_os = "macos", windows)) || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
