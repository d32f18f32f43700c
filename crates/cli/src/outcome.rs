//! How a run ends: the exit code, and the sentence for a person.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use crate::terminal::{safe, safe_rows};

/// How a run ended that was not stopped by a [`Failure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was read.
    Done,
    /// Nothing failed, but no line fitted, or none was found.
    NothingFitted,
    /// Something could not be read, and was said; the rest stands.
    Failed,
}

/// Why a run had to stop.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A sentence: what happened, to what, and what to do.
    Sentence(String),
    /// Nobody reads the output any more, which is no failure of ours.
    BrokenPipe,
}

impl Failure {
    /// A failure with this sentence.
    pub(crate) fn new(sentence: impl fmt::Display) -> Self {
        Self::Sentence(sentence.to_string())
    }

    /// Writing the output failed.
    pub(crate) fn output(name: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::new(format_args!("{name}: cannot be written: {error}")),
        }
    }
}

/// Says a sentence on standard error. Names and arguments in it may hold anything; what a
/// terminal would obey is shown instead, here, where no sentence can pass by. The lines of a
/// sentence stay lines.
pub(crate) fn say(sentence: impl fmt::Display) {
    let sentence = sentence.to_string();
    let lines: Vec<String> = sentence.split('\n').map(safe).collect();
    // Where even standard error is gone, nobody is left to be told.
    let _ = writeln!(io::stderr(), "weir: {}", lines.join("\n"));
}

/// Writes to standard output, all at once.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::output("standard output", &error))
}

/// Writes CSV to standard output: as it is, but for a terminal, which may obey none of it.
pub(crate) fn print_csv(rows: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(&safe_rows(rows)) } else { print(rows) }
}

/// The exit code of a run, after its sentence was said.
pub(crate) fn exit_code(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(Exit::Done) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Ok(Exit::NothingFitted) => ExitCode::from(1),
        Ok(Exit::Failed) => ExitCode::from(2),
        Err(Failure::Sentence(sentence)) => {
            say(sentence);
            ExitCode::from(2)
        }
    }
}
