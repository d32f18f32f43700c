//! `weir version`: the version, and the commit that it was built from.

use clap::Args;
use weir_agents::AgentLists;

use crate::outcome::{Exit, Failure, print};

/// The version and the commit; `build.rs` finds the commit.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_BUILD"), ")");

/// Print the version and the commit that it was built from
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VersionArguments {
    /// Print the lists of agents and crawlers too: where they are from, when they were published and
    /// taken, and their licences
    #[arg(long)]
    lists: bool,
}

const EXAMPLES: &str = "\
Examples:
  weir version
  weir version --lists

A release names the commit, the same for every build of it; put it into a report of a fault.";

/// Runs the command.
pub(crate) fn run(arguments: &VersionArguments) -> Result<Exit, Failure> {
    let mut text = format!("weir {VERSION}\n");
    if arguments.lists {
        for list in AgentLists::embedded().summaries() {
            let (subject, count, origin) = (list.subject, list.expressions, list.origin);
            text += &format!(
                "{subject}: {count} expressions of {}, published {}, taken {}, {}\n",
                origin.source, origin.published, origin.taken, origin.licence
            );
        }
    }
    print(&text)?;
    Ok(Exit::Done)
}
