//! `weir version`: the version, and the commit that it was built from.

use clap::Args;

use crate::outcome::{Exit, Failure, print};

/// The version and the commit; `build.rs` finds the commit.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_BUILD"), ")");

/// Print the version and the commit that it was built from
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VersionArguments {}

const EXAMPLES: &str = "\
Examples:
  weir version

A release names the commit, the same for every build of it; put it into a report of a fault.";

/// Runs the command.
pub(crate) fn run(_: &VersionArguments) -> Result<Exit, Failure> {
    print(&format!("weir {VERSION}\n"))?;
    Ok(Exit::Done)
}
