//! `weir completions`: scripts that let shells complete commands, options and their values.

mod fish;
mod zsh;

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};
use clap_complete::Shell;
use weir_core::{Field, STATUS_CLASS, format_notes};
use weir_view::Measure;

use crate::options::known_names;
use crate::outcome::{Exit, Failure, print};
use crate::report::step_names;

/// Print a script with which a shell completes weir's commands, options and values
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  weir completions bash > ~/.local/share/bash-completion/completions/weir
  weir completions zsh > ~/.zfunc/_weir
  weir completions fish > ~/.config/fish/completions/weir.fish";

/// Prints the completions of a command for a shell.
pub(crate) fn run(arguments: &CompletionsArguments, weir: Command) -> Result<Exit, Failure> {
    let names: Vec<String> =
        weir.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut weir = weir.mut_args(with_values).mut_subcommands(|command| match command.get_name() {
        "man" => command
            .mut_arg("command", |arg| arg.value_parser(PossibleValuesParser::new(names.clone()))),
        _ => command.mut_args(with_values),
    });
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut weir, "weir", &mut script);
    let script = String::from_utf8_lossy(&script);
    print(&match arguments.shell {
        Shell::Zsh => zsh::with_files(&script),
        Shell::Fish => fish::with_options_after_files(&script, &names),
        _ => script.into_owned(),
    })?;
    Ok(Exit::Done)
}

/// Adds the values that a shell should offer to an argument. Weir still accepts others, because
/// only the shell sees this argument.
fn with_values(argument: Arg) -> Arg {
    let values = match argument.get_id().as_str() {
        "by" | "group" | "stack" => fields(false),
        "fields" => derived_fields().collect(),
        "field" | "conditions" => fields(true),
        "format" => format_notes().iter().map(|notes| notes.name.to_owned()).collect(),
        "tz" => zones(),
        "step" => step_names().map(str::to_owned).collect(),
        "sort" | "measure" => measures(),
        "active" => ["passive", "once", "unlimited"].map(str::to_owned).to_vec(),
        "framing" => ["newline", "octets", "auto"].map(str::to_owned).to_vec(),
        _ => return argument,
    };
    argument.value_parser(PossibleValuesParser::new(values))
}

/// Returns the names of the fields that every format may have, and of those that follow from them;
/// with `with_numbers`, also the time and the numbers.
fn fields(with_numbers: bool) -> Vec<String> {
    let text = Field::TEXT.into_iter();
    let numbers = [Field::Time].into_iter().chain(Field::NUMBERS).filter(|_| with_numbers);
    let names = text.chain(numbers).map(|field| field.name().to_owned());
    names.chain([STATUS_CLASS.to_owned()]).chain(derived_fields()).collect()
}

/// The names of the derived fields. A part to choose has the value that people choose most often.
fn derived_fields() -> impl Iterator<Item = String> {
    let chosen = |name: &'static str| match name {
        "network/N" => Some("network/16"),
        "path/N" => Some("path/1"),
        // Every parameter is one.
        "query:NAME" => None,
        name => Some(name),
    };
    known_names().filter_map(chosen).map(str::to_owned)
}

/// The measures of groups, with the percentiles that people look at most often.
fn measures() -> Vec<String> {
    let statistics = ["mean", "sum", "max", "p50", "p95", "p99"];
    Measure::words().chain(statistics).map(str::to_owned).collect()
}

/// The names of the time zones.
fn zones() -> Vec<String> {
    let mut names: Vec<String> = ["UTC", "local"].map(str::to_owned).to_vec();
    let known = jiff::tz::db().available().map(|name| name.to_string());
    names.extend(known.filter(|name| name != "UTC"));
    names
}
