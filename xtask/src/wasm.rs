//! Checks that core compiles for `wasm32-unknown-unknown`, so that a page can run it.
//!
//! The check uses the target of the installed toolchain. If there is none, it uses the compiler
//! and the sources of the standard library that Debian packages for browsers (`rustc-web`,
//! `rust-web-src`). They are unpacked below `target` and not installed, because `rustc-web`
//! conflicts with Debian's other compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_tools::shell::{Outcome, command, execute, is_installed, output_of, root, target_folder};

const TARGET: &str = "wasm32-unknown-unknown";

/// The package of the compiler. Its dependencies include the standard library and LLVM.
const COMPILER: &str = "rustc-web";

/// The sources of the standard library, and the library that build scripts are linked with.
const LIBRARIES: [&str; 2] = ["rust-web-src", "libstd-rust-web-dev"];

/// Unpacks Debian's compiler if the installed one cannot compile for WebAssembly. Prints why it
/// could not.
///
/// # Errors
/// If the installed compiler cannot be started.
pub(crate) fn fetch_compiler() -> Outcome {
    if !has_target()?
        && !compiler().exists()
        && is_installed("apt-get")
        && is_installed("dpkg")
        && let Err(error) = unpack_compiler(&debian())
    {
        println!("{COMPILER} cannot be unpacked: {error}");
    }
    Ok(())
}

/// Runs the check and prints which compiler ran, or that none did.
///
/// # Errors
/// If core does not compile.
pub(crate) fn check() -> Outcome {
    if has_target()? {
        println!("with the installed target");
        return execute(&mut cargo_check());
    }
    if !compiler().exists() {
        println!("skipped: 1 check of core, because there is no target {TARGET} and no {COMPILER}");
        return Ok(());
    }
    check_with_debian()
}

fn folder() -> PathBuf {
    root().join(target_folder()).join("wasm")
}

/// The root of the unpacked packages.
fn debian() -> PathBuf {
    folder().join("debian")
}

fn compiler() -> PathBuf {
    debian().join("usr/bin/rustc")
}

/// Whether the installed toolchain has the target.
fn has_target() -> Outcome<bool> {
    let arguments = ["--print", "target-libdir", "--target", TARGET];
    let folder = output_of(&mut command("rustc", &arguments))?;
    Ok(Path::new(folder.trim()).exists())
}

fn cargo_check() -> Command {
    let arguments = ["check", "--quiet", "--package", "weir-core", "--lib", "--target", TARGET];
    let mut check = command("cargo", &arguments);
    // Clippy belongs to the other compiler.
    check.env_remove("RUSTC_WORKSPACE_WRAPPER");
    check
}

/// Checks with Debian's compiler, which also compiles the standard library. Nothing is
/// optimised: the result is never run.
fn check_with_debian() -> Outcome {
    let compiler = compiler();
    let libraries = debian().join("usr/lib/x86_64-linux-gnu");
    let version = output_of(
        command(&compiler.to_string_lossy(), &["--version"]).env("LD_LIBRARY_PATH", &libraries),
    )?;
    println!("with Debian's {}", version.trim());
    let mut check = cargo_check();
    check
        // Cargo allows -Z options and the compiler its internal features with this.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", compiler)
        .env("LD_LIBRARY_PATH", libraries)
        .args(["-Zbuild-std=std,panic_abort", "--config", "profile.dev.opt-level=0"])
        .args(["--config", "profile.dev.package.\"*\".opt-level=0"])
        .args(["--config", "profile.dev.debug=false"])
        .arg("--target-dir")
        .arg(folder().join("build"));
    execute(&mut check)
}

/// Downloads the compiler and its libraries, and unpacks them into `folder`.
fn unpack_compiler(folder: &Path) -> Outcome {
    let downloads = folder.with_file_name("packages");
    fs::create_dir_all(&downloads)?;
    fs::create_dir_all(folder)?;
    let mut download = command("apt-get", &["download", "-qq"]);
    execute(download.args(packages()?).current_dir(&downloads))?;
    let entries = fs::read_dir(&downloads)?.map(|entry| entry.map(|entry| entry.path()));
    for package in entries.collect::<Result<Vec<PathBuf>, _>>()? {
        execute(command("dpkg", &["-x"]).arg(package).arg(folder))?;
    }
    Ok(())
}

/// The packages to unpack: the compiler, the libraries of its version, and the sources.
fn packages() -> Outcome<Vec<String>> {
    let arguments = ["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"];
    let more = ["--no-breaks", "--no-replaces", "--no-enhances", COMPILER];
    let depends = output_of(command("apt-cache", &arguments).args(more))?;
    let is_needed = |name: &&str| {
        [COMPILER, "libstd-rust-web-", "libllvm"].iter().any(|start| name.starts_with(start))
    };
    let mut packages: Vec<String> = depends.lines().filter(is_needed).map(str::to_owned).collect();
    packages.extend(LIBRARIES.map(str::to_owned));
    packages.sort_unstable();
    packages.dedup();
    Ok(packages)
}
