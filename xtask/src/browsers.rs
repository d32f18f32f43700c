//! Browser tests against the real binary.

use crate::shell::{Outcome, command, execute, execute_and_keep, root, target_folder};
use crate::summary::Summary;
use weir_tools::browsers;
use weir_tools::npm::npm;

/// Runs the tests. The packages of the page have to be installed before.
pub(crate) fn test() -> Outcome<Vec<String>> {
    browsers::install()?;
    execute(&mut command("cargo", &["build", "--quiet", "--package", "weir"]))?;
    let binary = root().join(target_folder()).join("debug/weir");
    let mut tests = npm(&["run", "--silent", "test:browser"]);
    tests.env("NO_COLOR", "1").env("WEIR_BINARY", binary);
    execute_and_keep(&mut tests, Summary::is_closing_line)
}
