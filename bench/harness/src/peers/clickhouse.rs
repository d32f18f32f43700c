//! ClickHouse from PyPI, as the library chDB.

use super::pypi;
use crate::settings::Settings;

const PACKAGE: &str = "chdb";

/// The Python of the environment with chDB. Installs it, except in a smoke run; the error names the
/// missing program.
pub(crate) fn find(settings: &Settings) -> Result<String, String> {
    pypi::find(settings, "ClickHouse", PACKAGE)
}

/// The version of chDB in a Python; `None` if there is none.
pub(crate) fn version(python: &str) -> Option<String> {
    pypi::version(python, PACKAGE)
}
