//! Browser tests against the real binary.

use crate::shell::{Outcome, build_workspace};
use crate::summary;
use weir_tools::browsers;
use weir_tools::npm::npm;

/// Runs the tests. The packages of the page have to be installed before.
pub(crate) fn test() -> Outcome<Vec<String>> {
    browsers::install()?;
    let binary = build_workspace(&["--bin", "weir"])?.join("weir");
    let mut tests = npm(&["run", "--silent", "test:browser"]);
    tests.env("NO_COLOR", "1").env("WEIR_BINARY", binary);
    summary::run_tests(&mut tests)
}
