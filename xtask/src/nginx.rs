//! The tests of nginx as a sender and of its limits, with nginx itself.

use std::path::Path;

use crate::shell::{Outcome, ignored_tests, is_installed};
use crate::summary;
use weir_tools::packages;

/// The tests that are skipped where nginx is not installed and cannot be.
const SKIPPED: &str = "nginx: its tests are skipped, because it cannot be installed";

/// Runs the tests. Installs nginx if it is missing and there is apt.
pub(crate) fn test() -> Outcome<Vec<String>> {
    // Debian installs nginx outside of the search path of users.
    if !is_installed("nginx")
        && !Path::new("/usr/sbin/nginx").exists()
        && let Err(error) = packages::install(&["nginx-light"])
    {
        println!("{error}");
        return Ok(vec![SKIPPED.to_owned()]);
    }
    summary::run_tests(&mut ignored_tests("integration", "nginx::"))
}
