//! Builds the programs that are measured.
//!
//! `--workspace` gives all crates one set of features, so that no dependency is built twice.

use crate::settings::{Settings, text};
use weir_tools::shell::{Outcome, build_workspace, command, execute, target_folder};

/// Builds the program `weir`. A smoke run also builds the examples.
pub(crate) fn weir(settings: &Settings) -> Outcome {
    if settings.is_smoke {
        return build_workspace(&["--bins", "--examples"]).map(|_| ());
    }
    cargo(&["build", "--release", "--workspace", "--bin", "weir"])
}

/// Builds an example of one of the crates and returns its path. A smoke run builds it by name
/// too, so that a removed example fails even if an old program of it is still there.
pub(crate) fn example(settings: &Settings, name: &str) -> Outcome<String> {
    if settings.is_smoke {
        build_workspace(&["--example", name])?;
    } else {
        cargo(&["build", "--release", "--workspace", "--example", name])?;
    }
    Ok(settings.example(name))
}

/// Builds a program of `bench/contenders`, which is not part of the workspace.
pub(crate) fn contender(settings: &Settings, name: &str) -> Outcome<String> {
    let manifest = "bench/contenders/Cargo.toml";
    let target = text(&target_folder().join("contenders"));
    let mut arguments = vec!["build", "--manifest-path", manifest, "--target-dir", &target];
    if !settings.is_smoke {
        arguments.push("--release");
    }
    arguments.extend(["--bin", name, "--quiet"]);
    // The test command compiles the workspace with lints, which are not for other packages.
    execute(command("cargo", &arguments).env_remove("RUSTC_WORKSPACE_WRAPPER"))?;
    let profile = if settings.is_smoke { "debug" } else { "release" };
    Ok(format!("{target}/{profile}/{name}"))
}

fn cargo(arguments: &[&str]) -> Outcome {
    execute(command("cargo", arguments).arg("--quiet"))
}
