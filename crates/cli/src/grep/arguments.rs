//! The arguments of `weir grep`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};

use super::context::Context;
use crate::display::safe;
use crate::options::{OutputArguments, OutputKind};
use crate::outcome::Failure;
use crate::scan::LogArguments;

/// Print the lines that match a regular expression, of any logs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub(crate) struct GrepArguments {
    /// The regular expression to search for, in the syntax of ripgrep. With --where, --since or
    /// --until it may be left out: if the first argument is a file or `-`, there is no pattern
    #[arg(value_name = "PATTERN")]
    first: Option<OsString>,

    /// The regular expression, also one that begins with a hyphen or is the name of a file. Of
    /// several, any may match
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN", allow_hyphen_values = true)]
    regexps: Vec<String>,

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

    /// A match has no letter, digit or underscore right before it or after it
    #[arg(short, long)]
    pub(crate) word_regexp: bool,

    /// Accepted because people type it: patterns are always extended regular expressions
    #[arg(short = 'E', long, hide = true)]
    extended_regexp: bool,

    /// Print nothing, and stop at the first line that matches: the exit code is 0 if there is one
    #[arg(short, long, visible_alias = "silent")]
    pub(crate) quiet: bool,

    /// Stop after this many lines that match, in each file
    #[arg(short = 'm', long, value_name = "N")]
    pub(crate) max_count: Option<u64>,

    /// Print this many lines after each line that matches
    #[arg(short = 'A', long, value_name = "N", conflicts_with_all = ["json", "csv", "output"])]
    after_context: Option<u32>,

    /// Print this many lines before each line that matches
    #[arg(short = 'B', long, value_name = "N", conflicts_with_all = ["json", "csv", "output"])]
    before_context: Option<u32>,

    /// Print this many lines before and after each line that matches, and `--` between groups
    #[arg(short = 'C', long, value_name = "N", conflicts_with_all = ["json", "csv", "output"])]
    context: Option<u32>,

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

    /// Print the name of the file before each line, even if there is only one
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    pub(crate) with_filename: bool,

    /// Print no file names, even if there are several files
    #[arg(short = 'h', long, overrides_with = "with_filename")]
    pub(crate) no_filename: bool,

    /// Search the working directory if no file is named. The files in and below a directory that is
    /// named are searched with and without this option
    #[arg(short, visible_short_alias = 'R', long)]
    recursive: bool,

    /// Show names, numbers and matches in colour: auto (on a terminal), always or never
    #[arg(long, visible_alias = "colour", value_name = "WHEN", num_args = 0..=1, require_equals = true,
        default_missing_value = "auto")]
    pub(crate) color: Option<ColourChoice>,

    /// Write each line as soon as it is found. So are the lines of a pipe, without this option
    #[arg(long)]
    pub(crate) line_buffered: bool,

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

    /// Print help
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl GrepArguments {
    /// Returns the patterns, if there are some, and the files. `is_typed` states whether standard
    /// input is a terminal.
    ///
    /// # Errors
    /// If there is neither a pattern nor a condition, or if the pattern is more likely the name of
    /// a missing file.
    pub(crate) fn patterns_and_files(
        &self,
        is_typed: bool,
    ) -> Result<(Vec<String>, Vec<PathBuf>), Failure> {
        let (patterns, mut files) = self.named_patterns_and_files(is_typed)?;
        if files.is_empty() && self.recursive {
            files.push(PathBuf::from("."));
        }
        Ok((patterns, files))
    }

    fn named_patterns_and_files(
        &self,
        is_typed: bool,
    ) -> Result<(Vec<String>, Vec<PathBuf>), Failure> {
        let first_and_files = || {
            let first = self.first.iter().map(PathBuf::from);
            first.chain(self.logs.files.iter().cloned()).collect()
        };
        let has_conditions = self.logs.has_conditions();
        match (&self.regexps[..], &self.first) {
            ([_, ..], _) => Ok((self.regexps.clone(), first_and_files())),
            ([], None) if !has_conditions => Err(Failure::new(
                "name what to search for: a pattern, conditions with --where, or both",
            )),
            ([], None) => Ok((Vec::new(), first_and_files())),
            ([], Some(first)) if has_conditions && self.is_log(first) => {
                Ok((Vec::new(), first_and_files()))
            }
            ([], Some(first))
                if is_typed && self.logs.files.is_empty() && has_conditions && is_path(first) =>
            {
                Err(Failure::new(format_args!(
                    "there is no file `{}`, and as a pattern it has no file to be searched in; \
                     name a file, or `-` to search what is typed",
                    safe(&first.to_string_lossy())
                )))
            }
            ([], Some(first)) => match first.to_str() {
                Some(pattern) => Ok((vec![pattern.to_owned()], self.logs.files.clone())),
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

    /// Returns how many lines are printed around each match; `None` if only matches are. As in grep,
    /// 0 lines still separate groups.
    pub(crate) fn context(&self) -> Option<Context> {
        let (before, after) =
            (self.before_context.or(self.context), self.after_context.or(self.context));
        let prints_lines = !self.quiet && !self.count && !self.files_with_matches;
        let lines = |number: Option<u32>| number.unwrap_or(0) as usize;
        (prints_lines && before.or(after).is_some())
            .then(|| Context { before: lines(before), after: lines(after) })
    }

    /// Whether the name of the file is printed before each line. `has_several` states whether several
    /// files are named or found.
    pub(crate) fn has_names(&self, has_several: bool, files: &[PathBuf]) -> bool {
        let is_recursive = || self.recursive && files.iter().any(|path| path.is_dir());
        self.with_filename || !self.no_filename && (has_several || is_recursive())
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
  tail -F access.log | weir grep --where status=5xx - | tee errors.log

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
            command.grep.patterns_and_files(is_typed).map(|(patterns, _)| patterns).ok()
        };
        let mistyped = ["--where", "status=404", "no-such.log"];
        assert_eq!(pattern(&mistyped, true), None);
        assert_eq!(pattern(&mistyped, false), Some(vec!["no-such.log".to_owned()]));
        assert_eq!(pattern(&["no-such.log"], true), Some(vec!["no-such.log".to_owned()]));
        for pattern_and_more in [&["-", "no.log"][..], &["other.log", "no.log"]] {
            let arguments = [&["--where", "status=404"], pattern_and_more].concat();
            assert!(pattern(&arguments, true).is_some(), "{pattern_and_more:?}");
        }
        let word = ["--where", "status=404", "bot"];
        assert_eq!(pattern(&word, true), Some(vec!["bot".to_owned()]));
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
