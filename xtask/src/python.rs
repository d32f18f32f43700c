//! Environments of Python with the modules that a test needs.

use std::path::{Path, PathBuf};

use crate::shell::{Outcome, command, execute, root, target_folder};

/// The Python of an environment of that name with these modules. Installs them if there is pip and
/// a network.
///
/// # Errors
/// If a module cannot be installed.
pub(crate) fn environment(name: &str, modules: &[&str]) -> Outcome<PathBuf> {
    environment_with(name, modules, modules)
}

/// As [`environment`], for modules whose packages have other names.
///
/// # Errors
/// If a package cannot be installed.
pub(crate) fn environment_with(
    name: &str,
    packages: &[&str],
    modules: &[&str],
) -> Outcome<PathBuf> {
    let folder = root().join(target_folder()).join(name);
    let python = folder.join("bin/python");
    if !has_modules(&python, modules) {
        execute(command("python3", &["-m", "venv"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        execute(command(&python.to_string_lossy(), &pip).args(packages))?;
    }
    Ok(python)
}

fn has_modules(python: &Path, modules: &[&str]) -> bool {
    let import = format!("import {}", modules.join(", "));
    python.exists()
        && command(&python.to_string_lossy(), &["-c", &import])
            .status()
            .is_ok_and(|status| status.success())
}
