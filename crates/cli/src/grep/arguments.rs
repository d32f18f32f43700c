//! The arguments of `weir grep`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::options::OutputArguments;
use crate::outcome::Failure;
use crate::scan::LogArguments;

/// Print the lines that match a regular expression, of any logs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GrepArguments {
    /// The regular expression to search for, in the syntax of ripgrep. With --where, --since or
    /// --until it may be left out: if the first argument is a file or `-`, there is no pattern
    #[arg(value_name = "PATTERN")]
    first: Option<OsString>,

    /// The regular expression, also one that begins with a hyphen or is the name of a file
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN", allow_hyphen_values = true)]
    regexp: Option<String>,

    /// Print the lines that do not match
    #[arg(short = 'v', long)]
    pub(crate) invert_match: bool,

    /// Ignore the case of letters
    #[arg(short, long)]
    pub(crate) ignore_case: bool,

    /// Search for the text itself; it is not a regular expression
    #[arg(short = 'F', long)]
    pub(crate) fixed_strings: bool,

    /// Print only the number of lines that match, for each file
    #[arg(short, long, conflicts_with_all = ["json", "csv", "output"])]
    pub(crate) count: bool,

    /// Print only the names of files with a line that matches
    #[arg(short = 'l', long, conflicts_with_all = ["count", "json", "csv", "output"])]
    pub(crate) files_with_matches: bool,

    /// Print each line's number
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,

    /// Print only the parts that match, each on a line of its own
    #[arg(short, long, conflicts_with_all = ["json", "csv", "output"])]
    pub(crate) only_matching: bool,

    /// Print no file names, even if there are several files
    #[arg(long)]
    pub(crate) no_filename: bool,

    /// Search in this field of each record instead of in the whole line
    #[arg(long, value_name = "FIELD")]
    pub(crate) field: Option<String>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

impl GrepArguments {
    /// The pattern and the files. Without a pattern, every line of the records matches.
    ///
    /// # Errors
    /// If there is neither a pattern nor a condition.
    pub(crate) fn pattern_and_files(&self) -> Result<(String, Vec<PathBuf>), Failure> {
        let first_and_files = || {
            let first = self.first.iter().map(PathBuf::from);
            first.chain(self.logs.files.iter().cloned()).collect()
        };
        let has_conditions = self.logs.has_conditions();
        match (&self.regexp, &self.first) {
            (Some(pattern), _) => Ok((pattern.clone(), first_and_files())),
            (None, None) if !has_conditions => Err(Failure::new(
                "name what to search for: a pattern, conditions with --where, or both",
            )),
            (None, None) => Ok((String::new(), first_and_files())),
            (None, Some(first)) if has_conditions && self.is_log(first) => {
                Ok((String::new(), first_and_files()))
            }
            (None, Some(first)) => match first.to_str() {
                Some(pattern) => Ok((pattern.to_owned(), self.logs.files.clone())),
                None => Err(Failure::new(format_args!(
                    "PATTERN: `{}` is not valid UTF-8; write its bytes as \\xFF",
                    first.display()
                ))),
            },
        }
    }

    /// Whether the first argument is a log. The name of a directory is one only if it stands
    /// alone: beside files it is more likely a word to search for.
    fn is_log(&self, first: &OsStr) -> bool {
        let path = Path::new(first);
        first == "-" || path.exists() && (!path.is_dir() || self.logs.files.is_empty())
    }
}

const EXAMPLES: &str = "\
Examples:
  weir grep -c 'POST /login' access.log access.log.*.gz
  weir grep --field user_agent -i bot --where status=404 access.log
  weir grep --where 'bytes>10000000' --json access.log | jq .path

NUL bytes before a line are not part of it. If records are read, for --field, --where, --since,
--until, --json or --csv, lines that do not match the format are counted and reported; without
--field, only those that match the pattern. --json and --csv print them too, unless a field or a
condition is given.
Exit codes: 0 a line was found; 1 none was; 2 wrong usage, or a file could not be read
to its end.";
