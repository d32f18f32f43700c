//! `weir man`: the pages of the manual, generated from the declared arguments.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::display::safe;
use crate::outcome::{Exit, Failure, print};

/// Print a page of the manual, for man
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManualArguments {
    /// The command that the page is about [default: weir itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,

    /// Write the pages of weir and all commands into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  weir man | man -l -
  weir man report > report.1
  weir man --folder ~/.local/share/man/man1";

/// Prints the page of a command.
pub(crate) fn run(arguments: &ManualArguments, mut weir: Command) -> Result<Exit, Failure> {
    weir.build();
    if let Some(folder) = &arguments.folder {
        return write_pages(&weir, folder);
    }
    let command = match &arguments.command {
        None => &weir,
        Some(name) => find_command(&weir, name)?,
    };
    let mut page = Vec::new();
    write_page(command, &weir, &mut page).map_err(Failure::new)?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Done)
}

/// Writes the page of each command into a file of a folder.
fn write_pages(weir: &Command, folder: &Path) -> Result<Exit, Failure> {
    for command in std::iter::once(weir).chain(subcommands(weir)) {
        let mut page = Vec::new();
        write_page(command, weir, &mut page).map_err(Failure::new)?;
        let path = folder.join(format!("{}.1", page_name(command, weir)));
        std::fs::write(&path, page).map_err(|error| {
            let path = path.to_string_lossy();
            Failure::new(format_args!("--folder: {} cannot be written: {error}", safe(&path)))
        })?;
    }
    Ok(Exit::Done)
}

/// Returns the commands that have a page, except `weir` itself.
fn subcommands(weir: &Command) -> impl Iterator<Item = &Command> {
    let shown = |command: &&Command| command.get_name() != "help" && !command.is_hide_set();
    weir.get_subcommands().filter(shown)
}

fn find_command<'a>(weir: &'a Command, name: &str) -> Result<&'a Command, Failure> {
    let found = subcommands(weir).find(|command| command.get_name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = subcommands(weir).map(Command::get_name).collect();
        Failure::new(format_args!("`{name}` is not a command; choose one of {}", names.join(", ")))
    })
}

fn write_page(command: &Command, weir: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let (name, version) = (page_name(command, weir), env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone());
    writeln!(page, ".TH \"{name}\" \"1\" \"\" \"weir {version}\" \"\"")?;
    writeln!(page, ".SH NAME\n{} \\- {}", escape(&name), escape(&about(command)))?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    let is_main = command.get_name() == weir.get_name();
    if is_main {
        writeln!(page, ".SH COMMANDS")?;
        for subcommand in subcommands(weir) {
            let (name, about) = (page_name(subcommand, weir), about(subcommand));
            writeln!(page, ".TP\n{}(1)\n{}", escape(&name), escape(&about))?;
        }
    }
    if let Some(text) = command.get_after_help() {
        write_sections(&text.to_string(), page)?;
    }
    if !is_main {
        writeln!(page, ".SH SEE ALSO\n{}", other_pages(command, weir).join(", "))?;
    }
    Ok(())
}

/// Returns the names of the pages about other commands, with their section.
fn other_pages(command: &Command, weir: &Command) -> Vec<String> {
    let all = std::iter::once(weir).chain(subcommands(weir));
    let others = all.filter(|other| other.get_name() != command.get_name());
    others.map(|other| format!("{}(1)", escape(&page_name(other, weir)))).collect()
}

/// `weir` or `weir-report`.
fn page_name(command: &Command, weir: &Command) -> String {
    match command.get_name() == weir.get_name() {
        true => "weir".to_owned(),
        false => format!("weir-{}", command.get_name()),
    }
}

fn about(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    about.trim_end_matches('.').to_owned()
}

/// Writes the paragraphs below the options. `Examples:` and `Conditions:` begin sections whose
/// lines are kept as they are. `Exit codes:` begins a section of text. Other paragraphs are notes.
fn write_sections(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let mut notes: Vec<&str> = Vec::new();
    let mut exit_codes = None;
    for paragraph in text.split("\n\n") {
        let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
        if let Some(heading) = first.strip_suffix(':').filter(|_| rest.starts_with("  ")) {
            let lines: Vec<String> = rest.lines().map(escape).collect();
            writeln!(page, ".SH {}\n.nf\n{}\n.fi", heading.to_uppercase(), lines.join("\n"))?;
            continue;
        }
        let (note, codes) = match paragraph.split_once("Exit codes: ") {
            Some((note, codes)) => (note, Some(codes)),
            None => (paragraph, None),
        };
        notes.extend(Some(note.trim()).filter(|note| !note.is_empty()));
        exit_codes = exit_codes.or(codes);
    }
    if !notes.is_empty() {
        let notes: Vec<String> = notes.into_iter().map(escape).collect();
        writeln!(page, ".SH NOTES\n{}", notes.join("\n.PP\n"))?;
    }
    exit_codes.map_or(Ok(()), |codes| write_exit_codes(codes, page))
}

/// Writes a list such as `0 a line was found; 1 none was.`
fn write_exit_codes(codes: &str, page: &mut Vec<u8>) -> io::Result<()> {
    writeln!(page, ".SH EXIT STATUS")?;
    for code in codes.replace('\n', " ").trim_end_matches('.').split("; ") {
        let (code, meaning) = code.split_once(' ').unwrap_or((code, ""));
        writeln!(page, ".TP\n.B {code}\n{}", escape(meaning))?;
    }
    Ok(())
}

/// Escapes text for troff, so that hyphens can be copied and no line is a request.
fn escape(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let lines: Vec<String> = escaped
        .lines()
        .map(|line| match line.starts_with(['.', '\'']) {
            true => format!("\\&{line}"),
            false => line.to_owned(),
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{escape, write_sections};

    #[test]
    fn troff_requests_are_text() {
        assert_eq!(escape(".so x\n'a-b\\n"), "\\&.so x\n\\&'a\\-b\\en");
    }

    #[test]
    fn paragraphs_become_sections() {
        let mut page = Vec::new();
        let text =
            "Examples:\n  weir a.log\n\nA note. Exit codes: 0 a line; 1 none; 2 wrong\nusage.";
        write_sections(text, &mut page).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&page),
            ".SH EXAMPLES\n.nf\n  weir a.log\n.fi\n.SH NOTES\nA note.\n.SH EXIT STATUS\n\
             .TP\n.B 0\na line\n.TP\n.B 1\nnone\n.TP\n.B 2\nwrong usage\n"
        );
    }
}
