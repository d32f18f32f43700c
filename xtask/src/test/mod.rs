//! The steps that a change has to pass. They run side by side, each in a process of its own, whose
//! output is kept in `target/test`. docs/testing.md describes them.

mod inputs;
mod job;
mod pool;
mod programs;
mod record;
mod steps;
mod times;

use std::fs;
use std::path::PathBuf;

pub(crate) use programs::Program;

use crate::shell::{Outcome, root, target_folder};

/// Runs all steps but those whose inputs have not changed, all steps, those that need only Rust, or
/// those that are named, with those before them.
///
/// # Errors
/// If a step fails, or there is no step of a name.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let chosen = steps::chosen(arguments)?;
    fs::create_dir_all(folder())?;
    let run = pool::run(&chosen)?;
    times::write(&run)?;
    times::print(&run);
    let failed: Vec<&str> = run.ended.iter().filter(|it| !it.passed).map(|it| &*it.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    // The last line of the output stays the one that counts.
    std::process::exit(1);
}

/// Does the work of one step, in the process that [`run`] has started for it.
///
/// # Errors
/// If the step fails.
pub(crate) fn perform(name: &str) -> Outcome {
    let outcome = match steps::named(name) {
        Some(step) => (step.work)(),
        None => programs::run(name),
    };
    println!("{}{:.2}", job::PROCESSOR_TIME, job::processor_time()?);
    outcome
}

/// The folder of what the steps print.
fn folder() -> PathBuf {
    root().join(target_folder()).join("test")
}
