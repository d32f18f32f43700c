//! The arguments of `weir FILE...`.

use std::path::PathBuf;

use clap::Args;

use crate::options::{KeepArguments, PageArguments, StateArguments};

/// The logs and the filter that the page shows.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The logs, or directories of them: plain, compressed with gzip, zstd, bzip2, xz or lz4,
    /// in tar or zip archives; `-` is standard input. Without any, the page waits for logs to
    /// be dropped on it
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Also read lines that are appended to the logs later, through their rotation, and logs that
    /// appear in a named directory or match a pattern in quotes, such as '/var/log/nginx/*.log';
    /// compressed logs and Parquet files are read once
    #[arg(long, requires = "files")]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) state: StateArguments,

    #[command(flatten)]
    pub(crate) page: PageArguments,
}
