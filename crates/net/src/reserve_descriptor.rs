//! A reserve for the case that the system has no file descriptor left.

use std::fs::File;

/// A file descriptor that is released if the system has no other, so that a client can be accepted
/// and refused. Otherwise the client would wait in the kernel's queue without an answer.
#[derive(Debug, Default)]
pub(crate) struct ReserveDescriptor(Option<File>);

/// A file that every Unix system has. Without it there is no reserve.
const RESERVE_PATH: &str = "/dev/null";

impl ReserveDescriptor {
    /// Opens the descriptor, unless it is open.
    pub(crate) fn acquire(&mut self) {
        if self.0.is_none() {
            self.0 = File::open(RESERVE_PATH).ok();
        }
    }

    pub(crate) fn release(&mut self) {
        self.0 = None;
    }
}
