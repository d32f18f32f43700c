//! Builds what is measured.

use crate::settings::{Settings, text};
use weir_tools::shell::{Outcome, command, execute, target_folder};

/// Builds the program; for a smoke run the examples as well, with what the tests have built.
pub(crate) fn weir(settings: &Settings) -> Outcome {
    if settings.is_smoke {
        return cargo(&["build", "--workspace", "--bins", "--examples"]);
    }
    cargo(&["build", "--release", "--package", "weir"])
}

/// An example's path, once it is built.
pub(crate) fn example(settings: &Settings, package: &str, name: &str) -> Outcome<String> {
    if !settings.is_smoke {
        cargo(&["build", "--release", "--package", package, "--example", name])?;
    }
    Ok(settings.example(name))
}

/// A program of bench/contenders, a package of its own.
pub(crate) fn contender(settings: &Settings, name: &str) -> Outcome<String> {
    let manifest = "bench/contenders/Cargo.toml";
    let target = text(&target_folder().join("contenders"));
    let mut arguments = vec!["build", "--manifest-path", manifest, "--target-dir", &target];
    if !settings.is_smoke {
        arguments.push("--release");
    }
    arguments.extend(["--bin", name]);
    cargo(&arguments)?;
    let profile = if settings.is_smoke { "debug" } else { "release" };
    Ok(format!("{target}/{profile}/{name}"))
}

fn cargo(arguments: &[&str]) -> Outcome {
    execute(command("cargo", arguments).arg("--quiet"))
}
