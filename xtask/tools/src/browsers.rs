//! The browsers that test and measure the page.

use std::path::Path;

use crate::packages;
use crate::shell::Outcome;

/// Paths of the browsers on Debian, and the packages that install them.
const BROWSERS: [(&str, &str); 2] =
    [("/usr/bin/chromium", "chromium"), ("/usr/bin/firefox-esr", "firefox-esr")];

/// Installs the browsers that are missing.
pub fn install() -> Outcome {
    packages::install(&missing())
}

/// The packages of the browsers that are not installed.
pub fn missing() -> Vec<&'static str> {
    let missing = BROWSERS.iter().filter(|(path, _)| !Path::new(path).exists());
    missing.map(|(_, package)| *package).collect()
}
