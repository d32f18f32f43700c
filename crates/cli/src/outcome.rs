//! How a run ends: the exit code, and messages on standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use weir_view::LogLevel;

use crate::display::{safe, safe_rows};
use crate::full_screen;
use crate::process_log;

/// The end of a run without a [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was read.
    Done,
    /// Nothing failed, but no line matched.
    NoMatch,
    /// Everything was read, and a rule would have rejected something.
    Rejected,
    /// Some input could not be read, which was reported. The results of the rest are valid.
    Failed,
}

/// Why a run had to stop.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A message: what went wrong, with which input, and what to do.
    Message(String),
    /// The reader of the output has closed it, which is not an error.
    BrokenPipe,
}

impl Failure {
    /// A failure with this message.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self::Message(message.to_string())
    }

    /// Creates the failure to write the named output.
    pub(crate) fn output(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            io::ErrorKind::NotFound => Self::new(format_args!(
                "{name}: cannot be written: its folder does not exist; create it, or check the name"
            )),
            _ => Self::new(format_args!("{name}: cannot be written: {error}")),
        }
    }
}

/// Prints a message on standard error. File names and arguments in it may contain control
/// characters, so every message is escaped here, except its line feeds.
pub(crate) fn say(message: impl fmt::Display) {
    say_at(LogLevel::Info, &message.to_string());
}

/// Prints a warning on standard error.
pub(crate) fn warn(message: impl fmt::Display) {
    say_at(LogLevel::Warn, &message.to_string());
}

/// Prints a message. A long-running command has a log, which may use another form.
fn say_at(level: LogLevel, message: &str) {
    // The lines after the first mark a place by its column, which tabs belong to.
    let with_tabs = |line: &str| line.split('\t').map(safe).collect::<Vec<_>>().join("\t");
    let shown =
        |(number, line): (usize, &str)| if number == 0 { safe(line) } else { with_tabs(line) };
    let lines: Vec<String> = message.split('\n').enumerate().map(shown).collect();
    let line = format!("weir: {}\n", lines.join("\n"));
    if !full_screen::hold(&line) && !process_log::announce(level, message, &line) {
        // If standard error is closed, the error cannot be reported anywhere.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}

/// Writes to standard output, all at once.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::output("standard output", &error))
}

/// Writes CSV to standard output. For a terminal, control characters are escaped.
pub(crate) fn print_csv(rows: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(&safe_rows(rows)) } else { print(rows) }
}

/// Prints the message of a failed run, and returns the exit code.
pub(crate) fn exit_code(result: Result<Exit, Failure>) -> ExitCode {
    process_log::flush();
    match result {
        Ok(Exit::Done) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Exit::NoMatch) => ExitCode::from(1),
        Ok(Exit::Rejected) => ExitCode::from(3),
        Ok(Exit::Failed) => ExitCode::from(2),
        Err(Failure::Message(message)) => {
            say_at(LogLevel::Error, &message);
            ExitCode::from(2)
        }
    }
}
