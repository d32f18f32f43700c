//! The test of nginx as a sender, with nginx itself.

use std::path::Path;

use crate::packages;
use crate::shell::{Outcome, command, execute_and_keep, is_there};
use crate::summary::Summary;

/// Runs it. nginx is installed where it is missing.
pub(crate) fn test() -> Outcome<Vec<String>> {
    // Debian has it where only root looks for programs.
    if !is_there("nginx") && !Path::new("/usr/sbin/nginx").exists() {
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
