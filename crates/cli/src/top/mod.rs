//! `weir top --admin ADDRESS`: the data flow and the tasks of a running program.
//!
//! A [`snapshot`] is printed as text, or drawn again and again by [`live`]. The [`layout`] of a
//! screen depends on its size, and on the [`controls`] that keys change.

mod controls;
mod keys;
mod layout;
mod live;
mod snapshot;
mod stage_order;
mod stages;
mod table;
mod tasks;
mod threads;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use weir_inside::AdminAddress;

use self::snapshot::Program;
use crate::options::read_token_text;
use crate::outcome::{Exit, Failure, print};
use crate::terminal::{Screen, is_dumb};
use crate::watch;

/// Show what flows through a running weir, and what it waits for
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArguments {
    /// The --admin address of the program: PORT, localhost:PORT, `[::1]:PORT` or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    admin: Option<AdminAddress>,

    /// The file with its token, if it was started with --token-file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Logs, which `weir watch` shows.
    #[arg(value_name = "FILE", hide = true)]
    files: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  weir gateway --admin 127.0.0.1:9464 gateway.toml
  weir top --admin 127.0.0.1:9464
  weir top --admin 127.0.0.1:9464 | cat      one look, as text

Keys on a terminal:
  q, Escape, Ctrl-C  quit
  s                  sort tasks by busy, scheduled, polls, requests, bytes, memory, age or name
  r                  reverse the order
  t                  show tasks, threads or both
  space              pause
  h, ?               help";

/// The time between the two requests that rates need.
const RATE_PERIOD: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(arguments: &TopArguments) -> Result<Exit, Failure> {
    let admin = match (&arguments.files[..], &arguments.admin) {
        ([], Some(admin)) => admin.clone(),
        ([], None) => {
            return Err(Failure::new(
                "name a running weir by --admin ADDRESS, with the address of its own --admin",
            ));
        }
        (files, None) => return watch::run_for_top(files),
        (_, Some(_)) => {
            return Err(Failure::new(
                "--admin names a running weir, and a file a log; name one of them",
            ));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::new(format_args!("the network cannot be used: {error}")))?;
    let token = arguments.token_file.as_deref().map(read_token_text).transpose()?;
    let program = Program { admin, token };
    runtime.block_on(async {
        // A dumb terminal cannot draw over old text.
        match stdout().is_terminal() && !is_dumb() {
            true => live::run(&program).await,
            false => print_once(&program).await,
        }
    })
}

async fn print_once(program: &Program) -> Result<Exit, Failure> {
    let fail = |error| Failure::new(format_args!("--admin: {error}"));
    program.look_for_text().await.map_err(fail)?;
    tokio::time::sleep(RATE_PERIOD).await;
    let snapshot = program.look_for_text().await.map_err(fail)?;
    print(&snapshot.text(Screen::of_stdout(false)))?;
    Ok(Exit::Done)
}
