//! The configuration of the command line: options that hold without being typed.
//!
//! [`files`] reads the files, [`settings`] understands them, and [`defaults`] makes their settings the
//! defaults of options. The command line wins. `weir config` prints what is in force.

mod defaults;
mod files;
mod settings;

use clap::{ArgMatches, Args, Command, Error};

use crate::display::safe;
use crate::outcome::{Exit, Failure, print, say};
use files::ConfigFile;
use settings::{Problem, SERVE, Setting, Settings};

/// Print the options that the configuration sets, and where
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigArguments {}

const EXAMPLES: &str = "\
Examples:
  weir config
  weir report --no-config access.log
  WEIR_CONFIG=nightly.toml weir report access.log

The files are /etc/weir/weir.toml and ~/.config/weir/config.toml, whose settings win; with the
variable WEIR_CONFIG, the file that it names instead of both. An option has its long name as a key:
before the first table for all commands that have it, in [report], [grep] and so on for one, in [serve]
for `weir` without a command. What is typed wins, and --no-config leaves all files out.
Exit codes: 0 the files are right; 2 there is a mistake in one.";

/// The commands that read no configuration, so that a mistake in it cannot keep anyone from them.
const WITHOUT: [&str; 6] = ["bench", "completions", "config", "help", "man", "version"];

/// Why a command line cannot be used.
pub(crate) enum Refusal {
    /// It is not valid.
    Arguments(Error),
    /// The configuration is not.
    Configuration(Failure),
}

/// Parses a command line, with the settings of the configuration as defaults.
///
/// # Errors
/// If the command line is not valid, or the configuration of its command is not.
pub(crate) fn matches(
    weir: &Command,
    arguments: &[std::ffi::OsString],
) -> Result<ArgMatches, Refusal> {
    let name = command_name(weir, arguments);
    let settings = match is_left_out(weir, arguments) || WITHOUT.contains(&name.as_str()) {
        true => Vec::new(),
        false => settings_of(weir, &name).map_err(Refusal::Configuration)?,
    };
    defaults::matches(weir, &name, &settings, arguments).map_err(Refusal::Arguments)
}

/// Whether `--no-config` is typed, and is not a pattern or the value of another option.
fn is_left_out(weir: &Command, arguments: &[std::ffi::OsString]) -> bool {
    arguments.iter().any(|argument| argument == "--no-config")
        && match weir.clone().try_get_matches_from(arguments) {
            Ok(matches) => is_set(&matches),
            // Without the settings it may lack an option, or there is a mistake in it.
            Err(_) => true,
        }
}

/// Whether the flag `--no-config` is set.
fn is_set(matches: &ArgMatches) -> bool {
    let own = matches.subcommand().map_or(matches, |(_, own)| own);
    own.get_flag("no_config")
}

/// The command that a command line names: commands come first.
fn command_name(weir: &Command, arguments: &[std::ffi::OsString]) -> String {
    let found = arguments.get(1).and_then(|first| weir.find_subcommand(first));
    found.map_or(SERVE, Command::get_name).to_owned()
}

/// The settings of a command.
fn settings_of(weir: &Command, name: &str) -> Result<Vec<Setting>, Failure> {
    let mut all = Settings::default();
    for file in files::read()? {
        all.add(&file, weir);
    }
    if let Some(problem) = all.problems.iter().find(|problem| problem.concerns(name)) {
        let advice = "mend it, or leave the configuration out with --no-config";
        return Err(Failure::new(format_args!("{problem}; {advice}")));
    }
    Ok(all.settings.into_iter().filter(|setting| setting.command == name).collect())
}

/// Runs the command.
pub(crate) fn run(_: &ConfigArguments, weir: &Command) -> Result<Exit, Failure> {
    let mut all = Settings::default();
    let files = files::read()?;
    let mut text = String::new();
    for file in &files {
        let state = if file.text.is_some() { "read" } else { "not there" };
        text += &format!("# {}: {state}\n", safe(&file.path.to_string_lossy()));
        all.add(file, weir);
    }
    text += &listed(&all.settings, weir);
    print(&text)?;
    all.problems.iter().for_each(|problem: &Problem| say(problem));
    Ok(if all.problems.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Lists settings as a file of the configuration, with the place of each.
fn listed(settings: &[Setting], weir: &Command) -> String {
    let mut text = String::new();
    for (command, _) in settings::commands(weir) {
        let mut own: Vec<&Setting> = settings.iter().filter(|it| it.command == command).collect();
        if own.is_empty() {
            continue;
        }
        own.sort_by(|one, other| one.option.cmp(&other.option));
        text += &format!("\n[{command}]\n");
        for setting in own {
            text += &format!("{} = {}    # {}\n", setting.option, setting.value(), setting.place());
        }
    }
    text
}
