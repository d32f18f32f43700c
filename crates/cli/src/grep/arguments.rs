//! The arguments of `weir grep`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::display::safe;
use crate::options::{OutputArguments, OutputKind};
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

    /// Print the lines that do not match. Without a pattern, those of the records that do not meet
    /// the conditions
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

    /// With --csv or --json, print these columns, in this order: fields, `file`, `line` and `raw`. `*`
    /// stands for those that are printed by default, and `other_fields` has what no other column has
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) logs: LogArguments,
}

impl GrepArguments {
    /// Returns the pattern, if there is one, and the files. `is_typed` states whether standard
    /// input is a terminal.
    ///
    /// # Errors
    /// If there is neither a pattern nor a condition, or if the pattern is more likely the name of
    /// a missing file.
    pub(crate) fn pattern_and_files(
        &self,
        is_typed: bool,
    ) -> Result<(Option<String>, Vec<PathBuf>), Failure> {
        let first_and_files = || {
            let first = self.first.iter().map(PathBuf::from);
            first.chain(self.logs.files.iter().cloned()).collect()
        };
        let has_conditions = self.logs.has_conditions();
        match (&self.regexp, &self.first) {
            (Some(pattern), _) => Ok((Some(pattern.clone()), first_and_files())),
            (None, None) if !has_conditions => Err(Failure::new(
                "name what to search for: a pattern, conditions with --where, or both",
            )),
            (None, None) => Ok((None, first_and_files())),
            (None, Some(first)) if has_conditions && self.is_log(first) => {
                Ok((None, first_and_files()))
            }
            (None, Some(first))
                if is_typed && self.logs.files.is_empty() && has_conditions && is_path(first) =>
            {
                Err(Failure::new(format_args!(
                    "there is no file `{}`, and as a pattern it has no file to be searched in; \
                     name a file, or `-` to search what is typed",
                    safe(&first.to_string_lossy())
                )))
            }
            (None, Some(first)) => match first.to_str() {
                Some(pattern) => Ok((Some(pattern.to_owned()), self.logs.files.clone())),
                None => Err(Failure::new(format_args!(
                    "PATTERN: `{}` is not valid UTF-8; write its bytes as \\xFF",
                    first.display()
                ))),
            },
        }
    }

    /// Returns how lines are printed.
    ///
    /// # Errors
    /// If columns are named, but the lines themselves are printed.
    pub(crate) fn output_kind(&self) -> Result<OutputKind, Failure> {
        match self.output.kind() {
            OutputKind::Text if !self.columns.is_empty() => Err(Failure::new(
                "--columns: lines are printed as they are in the logs; add --csv or --json",
            )),
            kind => Ok(kind),
        }
    }

    /// Whether the first argument is a log. The name of a directory counts only without further
    /// files: beside files it is more likely a word to search for.
    fn is_log(&self, first: &OsStr) -> bool {
        let path = Path::new(first);
        first == "-" || path.exists() && (!path.is_dir() || self.logs.files.is_empty())
    }
}

/// Whether a text that is not the name of a file looks like a path: it has a slash, or it is a word
/// with an extension.
fn is_path(text: &OsStr) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-');
    let path = Path::new(text);
    let extension = path.extension().map(OsStr::as_encoded_bytes);
    let has_extension =
        extension.is_some_and(|end| !end.is_empty() && end.iter().copied().all(is_plain));
    let is_word = text.as_encoded_bytes().iter().all(|byte| is_plain(*byte) || *byte == b'.');
    text.as_encoded_bytes().contains(&b'/') || has_extension && is_word
}

const EXAMPLES: &str = "\
Examples:
  weir grep -c 'POST /login' access.log access.log.*.gz
  weir grep --field user_agent -i bot --where status=404 access.log
  weir grep --where 'bytes>10000000' --json access.log | jq .path
  weir grep --csv --columns time,client,path --where status=500 access.log

NUL bytes before a line are not part of it. If records are read, for --field, --where, --since,
--until, --json or --csv, lines that do not match the format are counted and reported; without
--field, only those that match the pattern. --json and --csv print them too, unless a field or a
condition is given.
Exit codes: 0 a line was found; 1 none was; 2 wrong usage, or a file could not be read
to its end.";

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::Parser;

    use super::{GrepArguments, is_path};

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        grep: GrepArguments,
    }

    #[test]
    fn the_name_of_a_missing_file_is_not_a_pattern_in_a_terminal() {
        let pattern = |arguments: &[&str], is_typed| {
            let arguments = ["grep"].iter().chain(arguments);
            let command = Command::try_parse_from(arguments).expect("arguments of grep");
            command.grep.pattern_and_files(is_typed).map(|(pattern, _)| pattern).ok()
        };
        let mistyped = ["--where", "status=404", "no-such.log"];
        assert_eq!(pattern(&mistyped, true), None);
        assert_eq!(pattern(&mistyped, false), Some(Some("no-such.log".to_owned())));
        assert_eq!(pattern(&["no-such.log"], true), Some(Some("no-such.log".to_owned())));
        for pattern_and_more in [&["-", "no.log"][..], &["other.log", "no.log"]] {
            let arguments = [&["--where", "status=404"], pattern_and_more].concat();
            assert!(pattern(&arguments, true).is_some(), "{pattern_and_more:?}");
        }
        let word = ["--where", "status=404", "bot"];
        assert_eq!(pattern(&word, true), Some(Some("bot".to_owned())));
    }

    #[test]
    fn a_path_has_a_slash_or_an_extension() {
        for (text, expected) in [
            ("acces.log", true),
            ("acces.log.2.gz", true),
            ("/var/log/ngin", true),
            ("bot", false),
            ("GET .*php", false),
            ("ends.", false),
        ] {
            assert_eq!(is_path(OsStr::new(text)), expected, "{text}");
        }
    }
}
