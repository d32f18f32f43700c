//! Builds and tests the page.

use crate::shell::{Outcome, command, execute, output_of};
use crate::summary;
use weir_tools::npm::{install, npm};

/// Checks format and lints, then builds into web/dist.
pub(crate) fn build() -> Outcome {
    install()?;
    execute(&mut npm(&["run", "--silent", "lint"]))?;
    execute(&mut npm(&["run", "--silent", "build"]))
}

/// Builds, compares web/dist with what is committed, checks types and runs the unit tests.
pub(crate) fn test() -> Outcome<Vec<String>> {
    build()?;
    let changed = output_of(&mut command("git", &["status", "--porcelain", "--", "web/dist"]))?;
    if !changed.trim().is_empty() {
        return Err(format!(
            "web/dist is not what its sources make; run `cargo xtask page` and commit it:\n{changed}"
        )
        .into());
    }
    execute(&mut npm(&["run", "--silent", "check"]))?;
    summary::run_tests(npm(&["test", "--silent"]).env("NO_COLOR", "1"))
}
