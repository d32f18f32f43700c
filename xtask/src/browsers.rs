//! Browser tests against the real binary. The browsers and the packages of the page have to be
//! installed before.

use crate::shell::{Outcome, build_workspace, command, root};
use crate::summary;

/// Everything but what needs a large log, in Chromium.
pub(crate) fn chromium() -> Outcome {
    test("chromium")
}

/// Uploads of a large log in Chromium.
pub(crate) fn chromium_large() -> Outcome {
    test("chromium-large")
}

/// What differs between browsers, in Firefox.
pub(crate) fn firefox() -> Outcome {
    test("firefox")
}

fn test(suite: &str) -> Outcome {
    let binary = build_workspace(&["--bin", "weir"])?.join("weir");
    let file = format!("test-browser/{suite}.test.mjs");
    let mut tests = command("node", &["--test", "--test-reporter=spec", &file]);
    tests.current_dir(root().join("web")).env("NO_COLOR", "1").env("WEIR_BINARY", binary);
    summary::run_tests(&mut tests)
}
