//! The test of nginx as a sender, with nginx itself.

use std::path::Path;

use crate::shell::{Outcome, command, execute_and_keep, is_installed};
use crate::summary::Summary;
use weir_tools::packages;

/// Runs the test. Installs nginx if it is missing.
pub(crate) fn test() -> Outcome<Vec<String>> {
    // Debian installs nginx outside of the search path of users.
    if !is_installed("nginx") && !Path::new("/usr/sbin/nginx").exists() {
        packages::install(&["nginx-light"])?;
    }
    let arguments = [
        "test",
        "--quiet",
        "--package",
        "weir",
        "--test",
        "integration",
        "--",
        "--ignored",
        "nginx::",
    ];
    execute_and_keep(&mut command("cargo", &arguments), Summary::is_closing_line)
}
