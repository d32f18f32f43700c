//! The arguments of `weir count`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Count lines, or requests by the values of one field or two
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CountArguments {
    /// The logs, plain or compressed; `-` is standard input, which is also read where no file
    /// is named
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Count requests by the values of this field; of two, `status,method`, in a table with a
    /// row for each value of the first
    #[arg(long, value_name = "FIELD[,FIELD]", value_delimiter = ',')]
    pub(crate) by: Vec<String>,

    /// Count only requests whose field compares so, as in `weir report`
    #[arg(long = "where", value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,

    /// Print the most frequent values only, of each field
    #[arg(long, value_name = "N", requires = "by")]
    pub(crate) top: Option<usize>,

    /// How to print the counts
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "KIND")]
    pub(crate) output: Output,

    /// The log's format, where it should not be found out; see `weir report --help`
    #[arg(long, visible_alias = "log-format", value_name = "NAME|DEFINITION")]
    pub(crate) format: Option<String>,

    /// Files that are read at once [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: Option<u16>,
}

/// How counts are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Columns for a person
    Text,
    /// CSV with a header, safe to open in a spreadsheet
    Csv,
    /// One JSON object
    Json,
}

const EXAMPLES: &str = "\
Examples:
  weir count access.log access.log.*.gz
  weir count --by path --where status=404 --top 20 access.log
  weir count --by client,status_class --output csv access.log

Without --by and --where it counts lines as `wc -l` does, and a last line that has no line
end. NULs behind the last line end are no line.
Exit codes: 0 something was counted; 1 nothing was; 2 wrong usage, or a file could not be read
to its end.";
