//! `weir watch FILE...`: a screen of the terminal to stay in.
//!
//! Keys change the [`state`], which asks a [`question`]. The [`desk`] has a thread, the [`clerk`], that
//! answers the newest question, and [`draw`] makes the lines of the screen from the state and the last answers.
//! [`live`] is the loop around them; [`reading`] fills the data set meanwhile.

mod answers;
mod arguments;
mod clerk;
mod desk;
mod draw;
mod live;
mod question;
mod reading;
mod state;
mod waiting;

use std::io::{IsTerminal, stdin, stdout};

pub(crate) use arguments::WatchArguments;

use crate::outcome::{Exit, Failure, say};
use crate::terminal::is_dumb;
use reading::Log;

/// Runs the command.
pub(crate) fn run(arguments: &WatchArguments) -> Result<Exit, Failure> {
    if !stdout().is_terminal() || is_dumb() {
        return Err(Failure::new(
            "standard output is not a terminal that can be drawn on; print a text with weir report",
        ));
    }
    let mut files = arguments.files.clone();
    if files.is_empty() && !stdin().is_terminal() {
        files.push("-".into());
    }
    if files.is_empty() {
        return Err(Failure::new(
            "name a log file to watch, or - for standard input; see weir watch --help",
        ));
    }
    if stdin().is_terminal() && files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Failure::new(
            "`-`: standard input is this terminal, which has the keys; name a log file, or pipe a \
             log in, as in tail -F access.log | weir watch -",
        ));
    }
    let log = Log::find(arguments, &files)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::new(format_args!("signals cannot be received: {error}")))?;
    runtime.block_on(live::run(arguments, log))
}

/// Runs the command for the files of `weir top FILE`, which is what the fingers of many people type.
pub(crate) fn run_for_top(files: &[std::path::PathBuf]) -> Result<Exit, Failure> {
    say("`weir top` with a file is `weir watch`; a running weir is named by --admin");
    run(&WatchArguments::of_files(files))
}
