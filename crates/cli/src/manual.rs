//! `weir completions` and `weir man`, generated from the declared arguments.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::outcome::{Exit, Failure, print};

/// Print a script with which a shell completes weir's options and commands
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
pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "weir", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Prints the manual page of a command, followed by those of its subcommands.
pub(crate) fn page(mut command: Command) -> Result<Exit, Failure> {
    command.build();
    let mut page = Vec::new();
    write_page(&command, &mut page).map_err(Failure::new)?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}

fn write_page(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render(page)?;
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help")
    {
        let name = format!("weir {}", subcommand.get_name());
        writeln!(page, ".SH \"{}\"", name.to_uppercase())?;
        let man = Man::new(subcommand.clone());
        man.render_synopsis_section(page)?;
        man.render_description_section(page)?;
        man.render_options_section(page)?;
        man.render_extra_section(page)?;
    }
    Ok(())
}
