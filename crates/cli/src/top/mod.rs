//! `weir top --admin ADDRESS`: what flows through a running program.

mod table;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use weir_inside::AdminAddress;
use weir_view::Route;

use crate::display::safe;
use crate::outcome::{Exit, Failure, print};
use crate::terminal::Screen;

/// Show what flows through a running weir, and what it waits for
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArguments {
    /// The --admin address of the program: 127.0.0.1:PORT, `[::1]:PORT` or unix:/PATH
    #[arg(long, value_name = "ADDRESS")]
    admin: AdminAddress,

    /// The file with its token, if it was started with --token-file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  weir gateway --admin 127.0.0.1:9464 gateway.toml
  weir top --admin 127.0.0.1:9464
  weir top --admin 127.0.0.1:9464 | cat      one look, as text

On a terminal it goes on until Ctrl-C.";

/// The pause between two looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Moves the cursor to the first cell, and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Runs the command.
pub(crate) fn run(arguments: &TopArguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::new(format_args!("the network cannot be used: {error}")))?;
    let token = arguments.token()?;
    let look = async || {
        let route = arguments.admin.route(token.as_deref()).await;
        route.map_err(|error| Failure::new(format_args!("--admin: {error}")))
    };
    runtime.block_on(async {
        // Rates need two looks.
        look().await?;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let route = look().await?;
            // Its window may have changed.
            let screen = Screen::of_stdout(false);
            let text = page(&route, screen);
            if !stdout().is_terminal() {
                print(&text)?;
                return Ok(Exit::Done);
            }
            print(&format!("{CLEAR}{text}"))?;
        }
    })
}

impl TopArguments {
    fn token(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let name = safe(&path.to_string_lossy());
            Failure::new(format_args!("--token-file: {name}: {error}"))
        })?;
        Ok(Some(text.trim().to_owned()))
    }
}

/// The sentence about the slowest stage, and the table of all.
fn page(route: &Route, screen: Screen) -> String {
    format!("{}\n\n{}", safe(&route.slowest.reason), table::table(route, screen))
}
