//! `weir bench upload`: a page that measures how fast this browser uploads.

use crate::arguments::{BenchArguments, Measured};
use crate::outcome::{Exit, Failure};
use crate::serve::Page;

/// Runs the command.
pub(crate) fn run(arguments: &BenchArguments) -> Result<Exit, Failure> {
    match &arguments.what {
        Measured::Upload(page) => Page::open_for_bench(page)?.serve_at("/bench/upload"),
    }
}
