//! The arguments of `weir watch`.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use crate::options::{KeepArguments, KindArgument, PeriodArguments, ReadArguments};

/// Watch logs on a screen of the terminal: chart, totals and lists, which keys filter and zoom
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchArguments {
    /// The logs, or directories of them: plain, compressed with gzip, zstd, bzip2, xz or lz4,
    /// in tar or zip archives; `-` is standard input, which is also read if no file is named
    /// and it is not a terminal
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Also read lines that are appended to the logs later, through their rotation, and logs that
    /// appear in a named directory or match a pattern in quotes, such as '/var/log/nginx/*.log';
    /// compressed logs and Parquet files are read once
    #[arg(long)]
    pub(crate) follow: bool,

    #[command(flatten)]
    pub(crate) keep: KeepArguments,

    /// Begin with the requests that meet this condition, such as status=404,403 or
    /// 'status=5xx and not path^=/health'; several are joined by and. Keys change them
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,

    #[command(flatten)]
    pub(crate) period: PeriodArguments,

    /// Begin with the records of this kind [default: requests, if there are any]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Option<KindArgument>,

    /// The field by which the chart is stacked
    #[arg(long, value_name = "FIELD", default_value = "status_class")]
    pub(crate) stack: String,

    /// A file with rules, as `weir rules` reads it, or a folder with such files: the page of the key b
    /// says what they would have done with the selected requests
    #[arg(long = "rule", value_name = "FILE")]
    pub(crate) rule_files: Vec<PathBuf>,

    /// The text of a rule, such as the lines of a limit in an nginx.conf
    #[arg(long = "rule-text", value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) rule_texts: Vec<String>,

    #[command(flatten)]
    pub(crate) read: ReadArguments,
}

impl WatchArguments {
    /// The arguments with these files and the defaults.
    pub(crate) fn of_files(files: &[PathBuf]) -> Self {
        let command = Self::augment_args(clap::Command::new("watch"));
        let matches = command.get_matches_from(["watch"]);
        // All arguments are optional.
        let defaults = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        Self { files: files.to_vec(), ..defaults }
    }
}

const EXAMPLES: &str = "\
Examples:
  weir watch access.log
  weir watch --follow /var/log/nginx/access.log
  weir watch --where status=5xx access.log access.log.1.gz
  weir watch --since -2h --follow /var/log/nginx/access.log
  weir watch --rule-text 'limit 100 requests in 1m by client' access.log
  tail -F access.log | weir watch -

Keys:
  q, Ctrl-C            quit
  arrows, hjkl, Tab    move in a list, and between the chart and the lists
  Enter                drill down: into a client, or a value, or a part of the chart
  = ! Backspace        include a value, exclude it, drop the last condition
  /                    type the filter; Tab completes it
  + - 0                zoom in, out, and to the whole time
  o b                  the lines of the log; what tripped the rules
  1 2 3                the kinds of records
  f                    freeze what is followed, and go on
  Esc                  back
  ?                    help";
