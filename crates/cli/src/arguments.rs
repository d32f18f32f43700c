//! The arguments, as they are written on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::count::CountArguments;
use crate::grep::GrepArguments;
use crate::listen::ListenArguments;
use crate::manual::CompletionsArguments;
use crate::options::KeepArguments;
use crate::report::ReportArguments;

/// Shows what happens to a web server's traffic: in the browser and in the terminal.
///
/// With log files, or with nothing, it serves a page that shows them, prints the page's
/// address and opens a browser where there is one. Nothing is written to disk, and nobody but
/// this machine can reach the page.
#[derive(Debug, Parser)]
#[command(name = "weir", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) serve: ServeArguments,
}

const EXAMPLES: &str = "\
Examples:
  weir                               a page to drop logs on
  weir access.log access.log.1.gz    the page with these logs
  weir --follow access.log           the same, and what is written from now on
  weir --follow --keep 1h access.log of that, the last hour
  weir listen udp://127.0.0.1:5140   the page of what servers send
  weir report access.log             the same in the terminal
  weir grep -c 404 access.log        the lines that match
  weir count --by status access.log  how many requests have each value
  weir demo                          the page with made-up traffic

A log that has the name of a command is given as ./report.
Exit codes: 0 something was read; 1 no line fitted; 2 wrong usage, or a file could not be
read to its end.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(ReportArguments),
    Grep(GrepArguments),
    Count(CountArguments),
    Listen(ListenArguments),
    Formats(FormatsArguments),
    Demo(DemoArguments),
    Bench(BenchArguments),
    Completions(CompletionsArguments),
    /// Print the manual page, for man
    Man,
}

/// What the page shows.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The logs, or directories of them: plain, compressed with gzip, zstd, bzip2, xz or lz4,
    /// in tar or zip archives; `-` is standard input. Without any, the page waits for logs to
    /// be dropped on it
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Go on reading what is written to the logs, through their rotation; packed ones are read
    /// once
    #[arg(long, requires = "files")]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    #[command(flatten)]
    pub(crate) page: PageArguments,
}

/// How the page is served.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Where to listen [default: 127.0.0.1:7878, or a free port where that is taken]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

    /// Open no browser
    #[arg(long)]
    pub(crate) no_open: bool,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

/// List the known formats, or say how well each fits a file
#[derive(Debug, Args)]
#[command(after_help = FORMATS_EXAMPLES)]
pub(crate) struct FormatsArguments {
    /// The log to look at, its first 1,000 lines or so; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Try this format only: a known name, a definition, or a file that ends with .toml
    #[arg(long, visible_alias = "log-format", value_name = "NAME|DEFINITION", requires = "file")]
    pub(crate) format: Option<String>,
}

const FORMATS_EXAMPLES: &str = "\
Examples:
  weir formats
  weir formats access.log
  weir formats --format '$remote_addr [$time_local] \"$request\" $status' access.log

Exit codes: 0 some format fits some line; 1 none does; 2 wrong usage, or the file could not
be read.";

/// Show made-up traffic on the page, or write it to a file
#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArguments {
    /// How much traffic, in bytes of log
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) size: String,

    /// The same seed gives the same traffic
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// What kind: combined, or one that is hard on parsers: many-agents, empty-lines,
    /// one-line, long-lines, nul-run, every-second
    #[arg(long, value_name = "NAME", default_value = "combined")]
    pub(crate) shape: String,

    /// Write the log to this file instead; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) serve: PageArguments,
}

const DEMO_EXAMPLES: &str = "\
Examples:
  weir demo
  weir demo --size 100MiB --write access.log
  weir demo --size 1GiB --write - | weir report";

/// Measure this machine
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) what: Measured,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Measured {
    /// Serve a page that measures how fast the browser that opens it uploads a file: as the
    /// page of a log does, in the plain way, and reading the file alone
    Upload(PageArguments),
}

/// How lines are read.
#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    /// The log's format, where it should not be found out: a known name such as COMBINED (see
    /// `weir formats`), also in a wrapper (`COMBINED in SYSLOG`), a log_format of nginx or a
    /// LogFormat of Apache, as it stands in their configuration, or a file that ends with .toml
    #[arg(long, visible_alias = "log-format", value_name = "NAME|DEFINITION")]
    pub(crate) format: Option<String>,

    /// The time zone to show times in: an IANA name, UTC, local, or an offset such as +02:00
    /// [default: the log's own offset]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) tz: Option<String>,

    /// The most memory the data may take, such as 512MiB or 2G; where it is spent, rare values
    /// are counted together, and the report says so
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub(crate) memory: String,

    /// Threads that parse [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
}
