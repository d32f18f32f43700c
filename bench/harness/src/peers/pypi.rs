//! Peers that are packages of PyPI, each in its own virtual environment.

use std::path::Path;

use crate::settings::{Settings, folder, text};
use weir_tools::shell::{Outcome, command, execute, output_of};

/// The Python of the environment with a package, whose name is also that of its module. Installs
/// it, except in a smoke run; the error names the missing program.
pub(super) fn find(settings: &Settings, name: &str, package: &str) -> Result<String, String> {
    let missing =
        |error: Box<dyn std::error::Error>| format!("missing: {name} (PyPI's {package}): {error}");
    let environment = folder().map_err(missing)?.join(package);
    let python = text(&environment.join("bin/python"));
    if version(&python, package).is_some() {
        return Ok(python);
    }
    if settings.is_smoke {
        return Err(format!("missing: {name} (PyPI's package {package})"));
    }
    install(&text(&environment), &python, package).map_err(missing)?;
    Ok(python)
}

fn install(environment: &str, python: &str, package: &str) -> Outcome {
    println!("installing {package} from PyPI");
    execute(&mut command("python3", &["-m", "venv", environment]))?;
    execute(&mut command(python, &["-m", "pip", "install", "--quiet", package]))
}

/// The version of a module in a Python; `None` if there is none.
pub(super) fn version(python: &str, module: &str) -> Option<String> {
    if !Path::new(python).exists() {
        return None;
    }
    let print = format!("import {module}; print({module}.__version__)");
    let version = output_of(&mut command(python, &["-c", &print])).ok()?;
    Some(version.trim().to_owned())
}
