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

/// Downloads a package and unpacks it into `folder`, without its dependencies and without running
/// its set-up. Fails if there is no apt-get.
pub fn unpack(package: &str, folder: &Path) -> Outcome {
    if !is_installed("apt-get") || !is_installed("dpkg") {
        return Err(format!("{package} cannot be unpacked: this machine has no apt-get").into());
    }
    println!("unpacking {package}");
    let (downloads, partial) = (folder.with_extension("download"), folder.with_extension("part"));
    for folder in [&downloads, &partial] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    apt_get(&["update", "-qq"])?;
    execute(command("apt-get", &["download", "-qq", package]).current_dir(&downloads))?;
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
