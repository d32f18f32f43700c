//! The arguments of `weir grep`.

use clap::{Args, ValueEnum};

use crate::scan::LogArguments;

/// Print the lines that match a regular expression, of any logs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GrepArguments {
    /// What to look for: a regular expression in the syntax of ripgrep; `--` stands in front of
    /// one that begins with a hyphen
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,

    /// Print the lines that do not match
    #[arg(short = 'v', long)]
    pub(crate) invert_match: bool,

    /// Let small and capital letters match each other
    #[arg(short, long)]
    pub(crate) ignore_case: bool,

    /// Look for the text as it stands; it is no regular expression
    #[arg(short = 'F', long)]
    pub(crate) fixed_strings: bool,

    /// Print only how many lines match, of each file
    #[arg(short, long)]
    pub(crate) count: bool,

    /// Print only the names of files with a line that matches
    #[arg(short = 'l', long, conflicts_with = "count")]
    pub(crate) files_with_matches: bool,

    /// Print each line's number
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,

    /// Print only the parts that match, each on a line of its own
    #[arg(short, long)]
    pub(crate) only_matching: bool,

    /// Print no file names, also where there are several
    #[arg(long)]
    pub(crate) no_filename: bool,

    /// Look in this field of each record instead of in the whole line
    #[arg(long, value_name = "FIELD")]
    pub(crate) field: Option<String>,

    /// What to print: lines as they are, or each line's fields
    #[arg(long, value_enum, default_value_t = Output::Raw, value_name = "KIND",
        conflicts_with_all = ["count", "files_with_matches", "only_matching"])]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

/// How lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// The bytes of the line; a terminal is shown no control characters
    Raw,
    /// A JSON object a line: file, line, the record's fields by name, and the line as raw
    Jsonl,
    /// CSV with a header, safe to open in a spreadsheet
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  weir grep -c 'POST /login' access.log access.log.*.gz
  weir grep --field user_agent -i bot --where status=404 access.log
  weir grep --where 'bytes>10000000' --output jsonl '' access.log | jq .path

NUL bytes in front of a line are no part of it, and hide nothing. With --field, --where or
--output, lines that do not fit the format are counted and said; without --field those alone
that the pattern chooses. --output prints them too, unless there is --field or --where.
Exit codes: 0 something was found; 1 nothing was; 2 wrong usage, or a file could not be read
to its end.";
