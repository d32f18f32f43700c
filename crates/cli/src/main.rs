//! The command `weir`: shows what happens to a web server's traffic.
//!
//! Arguments are in [`arguments`]; each subcommand has its own module, and ends in an
//! [`outcome::Exit`] or in an [`outcome::Failure`], which holds the message to print.

mod arguments;
mod bench;
mod completions;
mod config;
mod count;
mod demo;
mod display;
mod export;
mod follow;
mod format_file;
mod formats;
mod full_screen;
mod gateway;
mod grep;
mod head;
mod listen;
mod logging;
mod manual;
mod messages;
mod mistype;
mod nameless_file;
mod options;
mod outcome;
mod output_file;
mod process_log;
mod report;
mod rules;
mod save;
mod saved;
mod scan;
mod serve;
mod sources;
mod terminal;
mod top;
mod unmatched;
mod version;
mod watch;
mod withheld;
mod zone;

use std::process::ExitCode;

use clap::CommandFactory;

use arguments::{Arguments, Command};
use weir_profile::SampledAllocator;

/// The allocator, which lets the profiles of `--admin` sample allocations.
#[global_allocator]
static ALLOCATOR: SampledAllocator = SampledAllocator;

fn main() -> ExitCode {
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let result = match arguments.command {
        None => {
            let serve = &arguments.serve;
            mistype::check_files(&serve.files, serve.follow, &Arguments::command())
                .and_then(|()| serve::run(serve))
        }
        Some(Command::Report(arguments)) => report::run(&arguments),
        Some(Command::Grep(arguments)) => grep::run(&arguments),
        Some(Command::Count(arguments)) => count::run(&arguments),
        Some(Command::Save(arguments)) => save::run(&arguments),
        Some(Command::Export(arguments)) => export::run(&arguments),
        Some(Command::Listen(arguments)) => listen::run(&arguments),
        Some(Command::Gateway(arguments)) => gateway::run(&arguments),
        Some(Command::Rules(arguments)) => rules::run(&arguments),
        Some(Command::Watch(arguments)) => watch::run(&arguments),
        Some(Command::Top(arguments)) => top::run(&arguments),
        Some(Command::Formats(arguments)) => formats::run(&arguments),
        Some(Command::Demo(arguments)) => demo::run(&arguments),
        Some(Command::Completions(arguments)) => completions::run(&arguments, Arguments::command()),
        Some(Command::Man(arguments)) => manual::run(&arguments, Arguments::command()),
        Some(Command::Bench(arguments)) => bench::run(&arguments),
        Some(Command::Config(arguments)) => config::run(&arguments, &Arguments::command()),
        Some(Command::Version(arguments)) => version::run(&arguments),
    };
    outcome::exit_code(result)
}
