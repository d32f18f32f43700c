//! Browser tests against the real binary. The browsers and the packages of the page have to be
//! installed before.

use crate::shell::{Outcome, build_workspace, command, root};
use crate::summary;

/// Runs a part of the suite, each of which has a browser of its own
/// (`web/test-browser/support/suite.mjs`).
pub(crate) fn test(part: &str) -> Outcome {
    let binary = build_workspace(&["--bin", "weir"])?.join("weir");
    let file = format!("test-browser/{part}.test.mjs");
    let mut tests = command("node", &["--test", "--test-reporter=spec", &file]);
    tests.current_dir(root().join("web")).env("NO_COLOR", "1").env("WEIR_BINARY", binary);
    summary::run_tests(&mut tests)
}
