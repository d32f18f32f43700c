//! Where the output goes.

use std::io::{self, Write};

use crate::output_file::OutputFile;
use crate::withheld::Withheld;

/// The destination of the output.
pub(super) enum Output {
    Stdout(io::Stdout),
    File(OutputFile),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

impl Output {
    /// Whether the output can be written a second time.
    pub(super) fn is_repeatable(&self) -> bool {
        matches!(self, Self::File(file) if file.is_replacement())
    }

    /// Drops what was written so far.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(_) => Ok(()),
            Self::File(file) => file.restart(),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut stdout) => stdout.flush(),
            Self::File(file) => file.finish(),
        }
    }

    /// Finishes the output, unless it is a file that is still as it was and is to stay so. Returns
    /// why it was left.
    pub(super) fn finish_unless(self, withheld: Option<Withheld>) -> io::Result<Option<Withheld>> {
        match (&self, withheld) {
            (Self::File(file), Some(_)) if file.is_replacement() => Ok(withheld),
            _ => self.finish().map(|()| None),
        }
    }
}
