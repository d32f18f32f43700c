//! The arguments, as they are written on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Shows what happens to a web server's traffic: in the browser and in the terminal.
#[derive(Debug, Parser)]
#[command(name = "weir", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(ReportArguments),
}

/// How lines are read.
#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    /// The log's format, where it should not be found out: a known name such as COMBINED (see
    /// `weir formats`), or a log_format of nginx or a LogFormat of Apache, as it stands in
    /// their configuration
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

/// Print totals, a histogram and top lists
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArguments {
    /// The logs, plain or compressed with gzip or zstd; `-` is standard input, which is also
    /// read where no file is named and it is no terminal
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Leave out what was logged before: a date, an RFC 3339 time, or a time ago such as
    /// `-3d`, `2h` or `30 min ago`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) since: Option<String>,

    /// Leave out what was logged at this time or later; a date stands for the end of its day
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) until: Option<String>,

    /// Count only requests whose field compares so: field=value, or one of != ^= (begins with)
    /// ~ (matches the regular expression) !~ < <= > >=; several are joined by and, several
    /// with = on one field by or
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,

    /// Rows of each top list
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: u32,

    /// The most buckets the histogram may have [default: what fits the terminal; 400 in JSON]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) buckets: Option<u32>,

    /// The field that divides the histogram
    #[arg(long, value_name = "FIELD", default_value = "status_class")]
    pub(crate) stack: String,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  weir report access.log access.log.1.gz
  zcat access.log.*.gz | weir report --since -3d --where status=404
  weir report --where 'user_agent~(?i)bot' --where client!=192.0.2.0/24 access.log
  weir report --json access.log | jq '.top.client[0]'

Exit codes: 0 something was read; 1 no line fitted; 2 wrong usage, or a file could not be
read to its end.";
