//! Runs commands. The error of a command names it with its arguments.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a chore.
pub type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// The folder of cargo's build output.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The variable that is set below the test command after it has built all programs and examples in
/// debug mode. Cargo would find that nothing has changed, but it lets only one process look at a
/// time.
pub const IS_BUILT: &str = "WEIR_IS_BUILT";

/// The features with which the test command compiles everything. The example that writes the page's
/// types needs them; its dependencies give other features to those of most crates, which would be
/// compiled a second time.
pub const FEATURES: [&str; 2] = ["--features", "weir-view/typescript"];

/// Whether all programs and examples have been built in debug mode.
pub fn is_built() -> bool {
    std::env::var_os(IS_BUILT).is_some()
}

/// Builds a target of the workspace in debug mode and returns the folder of the programs.
///
/// `--workspace` gives all crates one set of features, so that nothing is built again that the
/// tests have built.
pub fn build_workspace(target: &[&str]) -> Outcome<PathBuf> {
    if !is_built() {
        execute(command("cargo", &["build", "--quiet", "--workspace"]).args(target))?;
    }
    Ok(root().join(target_folder()).join("debug"))
}

/// What `cargo run` tells a program about its package. The build script of ring looks at the same
/// variables, so cargo would compile it, and all that depends on it, once from the shell and once
/// from here.
const ABOUT_PACKAGE: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// A command that runs in the root of the repository.
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os() {
        if ABOUT_PACKAGE.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command and shows its output. Fails if the command fails.
pub fn execute(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    if status.success() { Ok(()) } else { Err(failure(command).into()) }
}

/// Runs a command, shows its output, and returns the lines that `keep` accepts.
pub fn execute_and_keep(
    command: &mut Command,
    keep: impl Fn(&str) -> bool,
) -> Outcome<Vec<String>> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| not_started(command, &error))?;
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
    if child.wait()?.success() { Ok(kept) } else { Err(failure(command).into()) }
}

/// Runs a command and returns its standard output.
pub fn output_of(command: &mut Command) -> Outcome<String> {
    let output =
        command.stderr(Stdio::inherit()).output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        return Err(failure(command).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program can be started.
pub fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn not_started(command: &Command, error: &std::io::Error) -> String {
    format!("{} cannot be started: {error}", command.get_program().display())
}

fn failure(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    format!("`{}` failed", words.join(" "))
}
