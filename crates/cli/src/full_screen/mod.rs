//! A program that draws on a whole terminal until it ends: the terminal itself, its signals, and
//! the keys of a person.

mod console;
mod held;
mod input;
#[cfg(unix)]
mod job;
mod key;
mod keyboard;
mod mode;
mod picture;
mod rescue;
mod signals;

pub(crate) use console::FullScreen;
pub(crate) use held::{hold, last_held};
pub(crate) use key::Key;
pub(crate) use keyboard::Keyboard;
pub(crate) use picture::Picture;
pub(crate) use signals::{TerminalEvent, TerminalSignals};

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// The assumed size of a terminal whose size is unknown.
    const UNKNOWN: Self = Self { columns: 80, rows: 24 };

    /// The size of the terminal of standard output.
    pub(crate) fn of_terminal() -> Self {
        terminal_size::terminal_size().map_or(Self::UNKNOWN, |(width, height)| Self {
            columns: width.0.into(),
            rows: height.0.into(),
        })
    }
}
