//! `weir top --admin ADDRESS`: what flows through a running program, and what it does.

mod stages;
mod table;
mod tasks;

use std::io::{IsTerminal, stdout};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use weir_inside::AdminAddress;
use weir_view::{Route, Tasks};

use crate::display::safe;
use crate::outcome::{Exit, Failure, print};
use crate::terminal::{Screen, fit};

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

/// Moves the cursor to the first cell. What is there is written over, so that nothing flickers.
const HOME: &str = "\x1b[H";

/// Clears the rest of a line.
const CLEAR_LINE: &str = "\x1b[K";

/// Clears what is below the cursor.
const CLEAR_BELOW: &str = "\x1b[J";

/// Tasks, and threads, that are shown at most.
const TASKS_MAX: usize = 10;

/// The height of a terminal that does not say it.
const ROWS: usize = 24;

/// Runs the command.
pub(crate) fn run(arguments: &TopArguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::new(format_args!("the network cannot be used: {error}")))?;
    let token = arguments.token()?;
    let look = async || {
        let fail = |error| Failure::new(format_args!("--admin: {error}"));
        let route = arguments.admin.route(token.as_deref()).await.map_err(fail)?;
        let tasks = arguments.admin.tasks(token.as_deref(), TASKS_MAX).await.map_err(fail)?;
        Ok((route, tasks))
    };
    runtime.block_on(async {
        // Rates need two looks.
        look().await?;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let (route, tasks) = look().await?;
            // Its window may have changed.
            let screen = Screen::of_stdout(false);
            if !stdout().is_terminal() {
                print(&(page(&route, &tasks, usize::MAX, screen).join("\n") + "\n"))?;
                return Ok(Exit::Done);
            }
            let size = terminal_size::terminal_size();
            let rows = size.map_or(ROWS, |(_, height)| usize::from(height.0));
            // The cursor stays in the last row: after a line in that, all would scroll.
            let lines = page(&route, &tasks, rows.saturating_sub(1), screen);
            let text: String = lines.iter().map(|it| format!("{it}{CLEAR_LINE}\n")).collect();
            print(&format!("{HOME}{text}{CLEAR_BELOW}"))?;
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

/// Lines around the tables: the sentence, and before each table an empty one and its head.
const OTHER_LINES: usize = 7;

/// The sentence about the slowest stage, and the tables of all stages and of the busiest tasks and threads, in
/// so many lines at most. In fewer than the heads of the tables take, it is cut.
fn page(route: &Route, seen: &Tasks, lines_max: usize, screen: Screen) -> Vec<String> {
    let (stages, tasks, threads) =
        (stages::stages(route), tasks::tasks(seen), tasks::threads(seen));
    let wanted = [stages.rows.len(), tasks.rows.len(), threads.rows.len().min(TASKS_MAX)];
    let [of_stages, of_tasks, of_threads] =
        table::share(lines_max.saturating_sub(OTHER_LINES), wanted);
    let mut lines = vec![fit(&safe(&route.slowest.reason), screen.text_columns)];
    for table in [
        stages.lines(of_stages, screen),
        tasks.lines(of_tasks, screen),
        threads.lines(of_threads, screen),
    ] {
        lines.push(String::new());
        lines.extend(table);
    }
    lines.truncate(lines_max);
    lines
}

#[cfg(test)]
mod tests {
    use weir_view::{Route, RouteStage, RouteStageKind, SlowestStage, Tasks};

    use super::page;
    use crate::terminal::Screen;

    #[test]
    fn a_page_fits_its_window() {
        let stage = |index: usize| RouteStage::new(RouteStageKind::Source, &index.to_string());
        let route = Route {
            stages: (0..50).map(stage).collect(),
            slowest: SlowestStage { stage: Some(49), reason: "A reason.".to_owned() },
            ..Route::default()
        };
        let screen = Screen { columns: 80, text_columns: 80, colour: false };
        for rows in [0, 1, 5, 8, 23, 56, 57, 100] {
            let lines = page(&route, &Tasks::default(), rows, screen);
            assert!(lines.len() <= rows, "{rows}: {lines:?}");
            let is_cut = lines.iter().any(|line| line.ends_with(" more"));
            assert_eq!(is_cut, (8..57).contains(&rows), "{rows}: {lines:?}");
            let has_slowest = lines.iter().any(|line| line.starts_with("> source  49"));
            assert_eq!(has_slowest, rows >= 23, "{rows}: {lines:?}");
        }
    }
}
