//! `cargo xtask abuse`: suites that try to break the server and the gateway, which take minutes.

mod bombs;
mod bystander;
mod fuzz;
mod http2;
mod idle;
mod server;
mod slow;
mod tls;
mod unread;
mod users;
mod websocket;

use std::path::PathBuf;

use weir_tools::packages;

use crate::shell::{Outcome, build_workspace, command, execute, is_installed, root, target_folder};

/// The result of a suite, as lines for a person. An error states what is above its bound.
enum Verdict {
    Passed(Vec<String>),
    /// A tool is missing.
    Skipped(String),
}

/// The settings of all suites.
struct Setting {
    /// The program under attack.
    weir: PathBuf,
    /// How long each fuzz target runs, in seconds.
    fuzz_s: u32,
}

type Suite = fn(&Setting) -> Outcome<Verdict>;

const SUITES: [(&str, Suite); 9] = [
    ("slow", slow::run),
    ("unread", unread::run),
    ("idle", idle::run),
    ("bombs", bombs::run),
    ("tls", tls::run),
    ("http2", http2::run),
    ("websocket", websocket::run),
    ("users", users::run),
    ("fuzz", fuzz::run),
];

/// Runs all suites, or those that are named.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let (mut named, mut binary, mut fuzz_s) = (Vec::new(), None, 60);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--binary" => {
                let path = arguments.next().ok_or("--binary: write the path of the program")?;
                binary = Some(PathBuf::from(path));
            }
            "--seconds" => {
                let seconds = arguments.next().and_then(|text| text.parse().ok());
                fuzz_s = seconds.ok_or("--seconds: write the seconds for each fuzz target")?;
            }
            name if SUITES.iter().any(|(suite, _)| *suite == name) => named.push(name),
            name => {
                let names = SUITES.map(|(suite, _)| suite).join(", ");
                return Err(format!("abuse: `{name}` is not a suite; choose one of {names}").into());
            }
        }
    }
    let setting = Setting { weir: program(binary)?, fuzz_s };
    let mut failures = Vec::new();
    let is_chosen = |name: &str| named.is_empty() || named.contains(&name);
    for (name, suite) in SUITES.iter().filter(|(name, _)| is_chosen(name)) {
        match suite(&setting) {
            Ok(Verdict::Passed(lines)) => {
                println!("{name}: passed");
                lines.iter().for_each(|line| println!("    {line}"));
            }
            Ok(Verdict::Skipped(why)) => println!("{name}: skipped, because {why}"),
            Err(failure) => failures.push(format!("{name}: {failure}")),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Runs h2spec against a debug build. Prints its summary, or why it was not run.
///
/// # Errors
/// If a case fails or is skipped.
pub(crate) fn check_http2() -> Outcome {
    let examples = build_workspace(&["--example", "echo"])?.join("examples");
    println!("{}", http2::conformance(&examples.join("echo"))?);
    Ok(())
}

/// The program that was given, or a new release build.
fn program(given: Option<PathBuf>) -> Outcome<PathBuf> {
    if let Some(program) = given {
        return Ok(root().join(program));
    }
    execute(&mut command("cargo", &["build", "--release", "--quiet", "--package", "weir"]))?;
    Ok(root().join(target_folder()).join("release/weir"))
}

/// Installs a program if it is missing. Returns why it cannot be used.
fn missing(program: &str, package: &str) -> Option<String> {
    if is_installed(program) {
        return None;
    }
    let error = packages::install(&[package]).err()?;
    Some(format!("{program} cannot be installed: {error}"))
}

/// Builds the servers and clients of the suites, which are examples of the crate `net`.
fn build_examples() -> Outcome {
    let arguments = ["build", "--release", "--quiet", "--package", "weir-net", "--examples"];
    execute(&mut command("cargo", &arguments))
}

/// The path of an example that is built.
fn example(name: &str) -> PathBuf {
    root().join(target_folder()).join("release/examples").join(name)
}
