//! Debian's packages, installed where they are missing.

use std::process::Stdio;

use crate::shell::{Outcome, command, execute, is_there};

/// Installs packages with apt-get; an error where that is not there.
pub(crate) fn install(packages: &[&str]) -> Outcome {
    if packages.is_empty() {
        return Ok(());
    }
    let names = packages.join(" and ");
    if !is_there("apt-get") {
        return Err(format!(
            "Debian's packages {names} are needed, and apt-get is not here to install them"
        )
        .into());
    }
    println!("installing {names}");
    apt_get(&["update", "-qq"])?;
    let mut arguments = vec!["install", "-qq", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(&arguments)
}

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut apt_get = command("apt-get", arguments);
    execute(apt_get.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}
