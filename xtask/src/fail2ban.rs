//! The test of replayed jails, with fail2ban itself.

use std::path::Path;

use weir_tools::packages;

use crate::shell::{Outcome, ignored_tests};
use crate::summary;

/// Where Debian has the modules of fail2ban.
const MODULES: &str = "/usr/lib/python3/dist-packages/fail2ban";

/// The tests that are skipped where fail2ban is not installed and cannot be.
const SKIPPED: &str = "fail2ban: 3 tests skipped, because it cannot be installed";

/// Runs the tests. Installs fail2ban if it is missing and there is apt.
pub(crate) fn test() -> Outcome<Vec<String>> {
    if !Path::new(MODULES).exists()
        && let Err(error) = packages::install(&["fail2ban"])
    {
        println!("{error}");
        return Ok(vec![SKIPPED.to_owned()]);
    }
    summary::run_tests(&mut ignored_tests("integration", "fail2ban::itself"))
}
