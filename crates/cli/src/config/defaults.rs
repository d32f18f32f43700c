//! Settings as defaults of options, which what is typed replaces.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, Error};

use super::settings::{SERVE, Setting};

/// Flags of which the last one that is typed counts, by their ids.
const OPPOSITES: [&str; 2] = ["with_filename", "no_filename"];

/// Options that mean nothing without one of others, by their ids.
const COMPANIONS: [(&str, &[&str]); 3] =
    [("columns", &["csv", "json"]), ("keep", &["follow"]), ("state", &["follow"])];

/// Parses a command line. A setting that excludes something that is typed does not count, nor one that
/// excludes a later setting, nor one that means nothing without an option that is not there. A flag that
/// is set to false excludes nothing.
pub(super) fn matches(
    weir: &Command,
    name: &str,
    settings: &[Setting],
    arguments: &[OsString],
) -> Result<ArgMatches, Error> {
    let mut configured = with_defaults(weir.clone(), name, settings);
    let matches = configured.try_get_matches_from_mut(arguments)?;
    let (of_command, own) = match matches.subcommand() {
        Some((name, own)) => (configured.find_subcommand(name), own),
        None => (Some(&configured), &matches),
    };
    let Some(of_command) = of_command else { return Ok(matches) };
    let is_typed = |arg: &&Arg| {
        let source = own.value_source(arg.get_id().as_str());
        source.is_some_and(|source| source != ValueSource::DefaultValue)
    };
    let typed: Vec<&Arg> = of_command.get_arguments().filter(is_typed).collect();
    let by_setting = |setting: &Setting| {
        let arg = of_command.get_arguments().find(|arg| *arg.get_id() == setting.id);
        arg.filter(|_| setting.values != ["false"])
    };
    let is_excluded = |at: usize, setting: &Setting| {
        let later = settings[at + 1..].iter().filter_map(by_setting);
        typed.iter().copied().chain(later).any(|arg| excludes(of_command, arg, setting))
    };
    let kept = settings.iter().enumerate().filter(|(at, setting)| !is_excluded(*at, setting));
    let kept: Vec<&Setting> = kept.map(|(_, setting)| setting).collect();
    let is_there = |id: &str| {
        typed.iter().any(|arg| arg.get_id() == id)
            || kept.iter().any(|it| it.id == id && it.values != ["false"])
    };
    let has_companion = |setting: &&&Setting| {
        let companions = COMPANIONS.iter().find(|(id, _)| setting.id == *id);
        let companions = companions.map_or(&[][..], |(_, others)| *others);
        let mut known = companions.iter().filter(|id| takes(of_command, id)).peekable();
        known.peek().is_none() || known.any(|id| is_there(id))
    };
    let kept: Vec<Setting> = kept.iter().filter(has_companion).map(|it| (*it).clone()).collect();
    if kept.len() == settings.len() {
        return Ok(matches);
    }
    with_defaults(weir.clone(), name, &kept).try_get_matches_from(arguments)
}

fn with_defaults(weir: Command, name: &str, settings: &[Setting]) -> Command {
    let set = |command: Command| {
        settings.iter().fold(command, |command, setting| {
            let values = setting.values.clone();
            command.mut_arg(setting.id.clone(), |arg| arg.default_values(values))
        })
    };
    match name {
        SERVE => set(weir),
        name => weir.mut_subcommand(name, set),
    }
}

/// Whether a command has an option.
fn takes(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|arg| *arg.get_id() == id)
}

/// Whether an argument that is typed cannot stand beside a setting.
fn excludes(command: &Command, typed: &Arg, setting: &Setting) -> bool {
    let is_setting = |arg: &&Arg| *arg.get_id() == setting.id;
    let Some(configured) = command.get_arguments().find(is_setting) else { return false };
    let conflicts = |one: &Arg, other: &Arg| {
        command.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let are_opposites = [typed, configured].map(|arg| OPPOSITES.contains(&arg.get_id().as_str()));
    typed.get_id() != configured.get_id()
        && (conflicts(typed, configured)
            || conflicts(configured, typed)
            || are_opposites == [true, true])
}
