//! Hints about mistyped commands and options.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use weir_core::nearest_name;

use crate::outcome::Failure;

/// Adds a hint to an error about the command line, if an option is mistyped or belongs to another
/// command.
pub(crate) fn with_hint(mut error: Error, weir: &Command, arguments: &[OsString]) -> Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if error.kind() != ErrorKind::UnknownArgument || !option.starts_with('-') {
        return error;
    }
    let own = command_of(weir, arguments);
    let hint = hint(option, own, weir);
    // Replaces the advice to pass the option as a value, which is never what was meant.
    error.remove(ContextKind::Suggested);
    if let Some(hint) = hint {
        error.remove(ContextKind::SuggestedArg);
        let hint = ContextValue::StyledStrs(vec![StyledStr::from(hint)]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}

/// Returns the command of a line of arguments: the first argument that is the name of one.
fn command_of<'a>(weir: &'a Command, arguments: &[OsString]) -> &'a Command {
    let named = arguments.iter().skip(1).find_map(|argument| weir.find_subcommand(argument));
    named.unwrap_or(weir)
}

/// Describes which commands have an option, or how the option is probably spelled.
fn hint(option: &str, own: &Command, weir: &Command) -> Option<String> {
    let own_name = full_name(own, weir);
    let owners: Vec<String> = commands(weir)
        .filter(|command| has_option(command, option))
        .map(|command| format!("'{}'", full_name(command, weir)))
        .collect();
    if let [first @ .., last] = &owners[..] {
        let names = match first {
            [] => last.clone(),
            _ => format!("{} and {last}", first.join(", ")),
        };
        return Some(format!("'{option}' is an option of {names}, not of '{own_name}'"));
    }
    // Clap only knows the options of the command itself, and suggests any that is slightly similar.
    let long = option.strip_prefix("--")?;
    let nearest = |command: &Command| {
        nearest_name(long, command.get_opts().filter_map(clap::Arg::get_long)).map(str::to_owned)
    };
    match nearest(own) {
        Some(nearest) => Some(format!("did you mean '--{nearest}'?")),
        None => commands(weir).find_map(|command| {
            let (nearest, name) = (nearest(command)?, full_name(command, weir));
            Some(format!("did you mean '--{nearest}' of '{name}'?"))
        }),
    }
}

/// Returns all visible commands; first the one without a name.
fn commands(weir: &Command) -> impl Iterator<Item = &Command> {
    let subcommands = weir.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(weir).chain(subcommands.filter(|command| command.get_name() != "help"))
}

fn full_name(command: &Command, weir: &Command) -> String {
    match command.get_name() == weir.get_name() {
        true => "weir".to_owned(),
        false => format!("weir {}", command.get_name()),
    }
}

/// Whether a command has an option of that spelling, such as `--top` or `-c`.
fn has_option(command: &Command, option: &str) -> bool {
    let is_same = |argument: &clap::Arg| match option.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument
            .get_short()
            .is_some_and(|short| option.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
    };
    command.get_arguments().any(|argument| !argument.is_hide_set() && is_same(argument))
}

/// Words that people type as commands, and what does it in Weir.
const OTHER_COMMANDS: [(&str, &str); 13] = [
    ("tail", "weir --follow FILE"),
    ("follow", "weir --follow FILE"),
    ("cat", "weir FILE"),
    ("less", "weir FILE"),
    ("open", "weir FILE"),
    ("serve", "weir FILE"),
    ("show", "weir FILE"),
    ("view", "weir FILE"),
    ("find", "weir grep PATTERN FILE"),
    ("search", "weir grep PATTERN FILE"),
    ("stats", "weir report FILE"),
    ("summary", "weir report FILE"),
    ("wc", "weir count FILE"),
];

/// Checks that the first file is not a mistyped command.
///
/// # Errors
/// If there is no such file, and its name is nearly that of a command, or a word before the names of
/// files.
pub(crate) fn check_files(
    files: &[PathBuf],
    is_following: bool,
    weir: &Command,
) -> Result<(), Failure> {
    let first = files.first().and_then(|first| first.to_str());
    let Some(name) = first.filter(|name| is_word(name) && !Path::new(name).exists()) else {
        return Ok(());
    };
    let other = OTHER_COMMANDS.iter().find(|(other, _)| *other == name);
    let nearest = || nearest_name(name, commands(weir).skip(1).map(Command::get_name));
    let advice = match (other, files.len() > 1 && !is_following) {
        (Some((_, meant)), true) => format!("write `{meant}`"),
        _ => match (nearest(), files.len() > 1 && !is_following) {
            (Some(command), _) => format!("did you mean `weir {command}`?"),
            (None, true) => "see `weir --help` for the commands".to_owned(),
            // A file that is followed may come later, and a single file that is missing is reported.
            (None, false) => return Ok(()),
        },
    };
    Err(Failure::new(format_args!("`{name}` is neither a command nor a file; {advice}")))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{CommandFactory, Parser};

    use super::{check_files, with_hint};
    use crate::arguments::Arguments;
    use crate::outcome::Failure;

    /// The tip of the error about these arguments.
    fn tip(line: &str) -> Option<String> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Arguments::try_parse_from(&arguments).expect_err(line);
        let message = with_hint(error, &Arguments::command(), &arguments).to_string();
        let tip =
            message.lines().find_map(|line| line.trim().strip_prefix("tip: ").map(str::to_owned));
        assert!(!message.contains("as a value"), "{message}");
        tip
    }

    #[test]
    fn options_of_other_commands_are_explained() {
        for (line, expected) in [
            (
                "weir report --follow a.log",
                "'--follow' is an option of 'weir' and 'weir watch', not of 'weir report'",
            ),
            ("weir --by status a.log", "'--by' is an option of 'weir count', not of 'weir'"),
            ("weir report -o a.log", "'-o' is an option of 'weir grep', not of 'weir report'"),
            (
                "weir grep --top 3 x a.log",
                "'--top' is an option of 'weir report', 'weir count' and 'weir rules', not of 'weir grep'",
            ),
            ("weir report --formt x a.log", "did you mean '--format'?"),
            ("weir report --folow a.log", "did you mean '--follow' of 'weir'?"),
        ] {
            assert_eq!(tip(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(tip("weir report --nothing-like-it a.log"), None);
        assert_eq!(tip("weir report -y a.log"), None);
    }

    #[test]
    fn commands_may_be_mistyped() {
        let advice = |line: &str, is_following| {
            let files: Vec<_> = line.split(' ').map(Into::into).collect();
            let checked = check_files(&files, is_following, &Arguments::command());
            checked.err().map(|failure| match failure {
                Failure::Message(message) => message.split("; ").last().map(str::to_owned),
                Failure::BrokenPipe => None,
            })
        };
        for (line, expected) in [
            ("reprot", Some("did you mean `weir report`?")),
            ("cuont a.log", Some("did you mean `weir count`?")),
            ("tail a.log", Some("write `weir --follow FILE`")),
            ("cat a.log b.log", Some("write `weir FILE`")),
            ("frobnicate a.log", Some("see `weir --help` for the commands")),
            ("access", None),
            ("tail", None),
            ("reprot.log", None),
            ("./reprot", None),
            ("./tail a.log", None),
        ] {
            let expected = expected.map(|text| Some(text.to_owned()));
            assert_eq!(advice(line, false), expected, "{line}");
        }
        // These files may come later.
        assert_eq!(advice("today a.log", true), None);
    }
}
