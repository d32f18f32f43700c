//! `weir bench upload`: a page that measures how fast this browser uploads.

use clap::{Args, Subcommand};

use crate::options::PageArguments;
use crate::outcome::{Exit, Failure};
use crate::serve::Page;

/// Measure this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

const EXAMPLES: &str = "\
Examples:
  weir bench upload";

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Serve a page that measures how fast the browser that opens it uploads a file: as the
    /// page of a log does, in the plain way, and reading the file alone
    Upload(PageArguments),
}

/// Runs the command.
pub(crate) fn run(arguments: &BenchArguments) -> Result<Exit, Failure> {
    match &arguments.benchmark {
        Benchmark::Upload(page) => Page::open_for_bench(page)?.serve_at("/bench/upload"),
    }
}
