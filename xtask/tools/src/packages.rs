//! Debian packages, installed or unpacked on demand.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::shell::{Outcome, command, execute, is_installed};

/// Installs packages with apt-get. Fails if there is no apt-get.
pub fn install(packages: &[&str]) -> Outcome {
    if packages.is_empty() {
        return Ok(());
    }
    let names = packages.join(" and ");
    if !is_installed("apt-get") {
        return Err(format!(
            "{names} cannot be installed: there is no apt-get on this machine; install the \
             programs of these Debian packages by hand"
        )
        .into());
    }
    println!("installing {names}");
    apt_get(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-qq", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments)
}

/// Installs the packages of programs that are missing, or only checks if `may_install` is false.
/// Returns a note about each that is still missing.
pub fn missing(programs: &[(&str, &str)], may_install: bool) -> Vec<String> {
    let absent = programs.iter().filter(|(program, _)| !is_installed(program));
    let notes = absent.filter_map(|(program, package)| {
        if !may_install {
            return Some(format!("missing: {program} (Debian's package {package})"));
        }
        install(&[package]).err().map(|error| format!("missing: {program}: {error}"))
    });
    notes.collect()
}

/// Downloads packages and unpacks them into `folder`, without their other dependencies and without
/// running their set-up. Fails if there is no apt-get.
pub fn unpack(packages: &[&str], folder: &Path) -> Outcome {
    let names = packages.join(" and ");
    if !is_installed("apt-get") || !is_installed("dpkg") {
        return Err(format!("{names} cannot be unpacked: this machine has no apt-get").into());
    }
    println!("unpacking {names}");
    let (downloads, partial) = (folder.with_extension("download"), folder.with_extension("part"));
    for folder in [&downloads, &partial] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    apt_get(&["update", "-qq"])?;
    let mut download = command("apt-get", &["download", "-qq"]);
    execute(download.args(packages).current_dir(&downloads))?;
    for entry in fs::read_dir(&downloads)? {
        execute(command("dpkg", &["-x"]).arg(entry?.path()).arg(&partial))?;
    }
    fs::remove_dir_all(&downloads)?;
    fs::rename(&partial, folder)?;
    Ok(())
}

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut apt_get = command("apt-get", arguments);
    execute(apt_get.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}
