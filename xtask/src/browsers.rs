//! Browser tests against the real binary.

use std::env;
use std::path::{Path, PathBuf};

use crate::packages;
use crate::page::npm;
use crate::shell::{Outcome, command, execute, execute_and_keep, root};
use crate::summary::Summary;

/// Where Debian puts the browsers, and the packages they are in.
const BROWSERS: [(&str, &str); 2] =
    [("/usr/bin/chromium", "chromium"), ("/usr/bin/firefox-esr", "firefox-esr")];

/// Runs them. The page has to be installed before.
pub(crate) fn test() -> Outcome<Vec<String>> {
    install()?;
    execute(&mut command("cargo", &["build", "--quiet", "--package", "weir"]))?;
    let mut tests = npm(&["run", "--silent", "test:browser"]);
    tests.env("NO_COLOR", "1").env("WEIR_BINARY", binary());
    execute_and_keep(&mut tests, Summary::is_closing_line)
}

/// Where cargo has put the program.
fn binary() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join("debug").join("weir")
}

/// Installs the browsers that are missing.
pub(crate) fn install() -> Outcome {
    packages::install(&missing())
}

/// The packages of the browsers that are not there.
pub(crate) fn missing() -> Vec<&'static str> {
    let missing = BROWSERS.iter().filter(|(path, _)| !Path::new(path).exists());
    missing.map(|(_, package)| *package).collect()
}
