//! Debian packages, installed on demand.

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

fn apt_get(arguments: &[&str]) -> Outcome {
    let mut apt_get = command("apt-get", arguments);
    execute(apt_get.env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}
