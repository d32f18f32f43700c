//! Runs commands and says which failed.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a chore ends with.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A command in the repository's root.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command with its output shown.
pub(crate) fn execute(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| missing(command, &error))?;
    if status.success() { Ok(()) } else { Err(failed(command).into()) }
}

/// Runs a command with its output shown, and gives back the lines that `keep` wants.
pub(crate) fn execute_and_keep(
    command: &mut Command,
    keep: impl Fn(&str) -> bool,
) -> Outcome<Vec<String>> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| missing(command, &error))?;
    let mut kept = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line?;
            println!("{line}");
            if keep(&line) {
                kept.push(line);
            }
        }
    }
    if child.wait()?.success() { Ok(kept) } else { Err(failed(command).into()) }
}

/// Runs a command and gives back what it printed.
pub(crate) fn output_of(command: &mut Command) -> Outcome<String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| missing(command, &error))?;
    if !output.status.success() {
        return Err(failed(command).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// True where a program can be started.
pub(crate) fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn missing(command: &Command, error: &std::io::Error) -> String {
    format!("{} cannot be started: {error}", command.get_program().display())
}

fn failed(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    format!("`{}` failed", words.join(" "))
}
