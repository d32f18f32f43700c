//! The test of the system calls of an answer, with strace.

use crate::shell::{Outcome, ignored_tests, is_installed};
use crate::summary;
use weir_tools::packages;

/// The test that is skipped where strace is not installed and cannot be.
const SKIPPED: &str = "strace: its tests are skipped, because it cannot be installed";

/// Runs the test. Installs strace if it is missing and there is apt.
pub(crate) fn test() -> Outcome<Vec<String>> {
    if !is_installed("strace")
        && let Err(error) = packages::install(&["strace"])
    {
        println!("{error}");
        return Ok(vec![SKIPPED.to_owned()]);
    }
    summary::run_tests(&mut ignored_tests("integration", "strace::"))
}
