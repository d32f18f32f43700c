//! The command `weir`: shows what happens to a web server's traffic.
//!
//! Arguments are in [`arguments`]; each subcommand has its own module, and ends in an
//! [`outcome::Exit`] or in an [`outcome::Failure`], which is one sentence for a person.

mod arguments;
mod options;
mod outcome;
mod report;
mod sources;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Report(arguments) => report::run(&arguments),
    };
    outcome::exit_code(result)
}
