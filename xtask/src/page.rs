//! Builds and tests the page.

use crate::shell::{Outcome, command, execute, root, target_folder};
use crate::summary;
use weir_tools::npm::{install, npm};

/// Checks format and lints, then builds into web/dist.
pub(crate) fn build() -> Outcome {
    install()?;
    execute(&mut npm(&["run", "--silent", "lint"]))?;
    execute(&mut npm(&["run", "--silent", "build"]))
}

/// Checks format, lints and types, compares web/dist with a fresh build, and runs the unit tests.
/// The packages of the page have to be installed before.
pub(crate) fn test() -> Outcome {
    execute(&mut npm(&["run", "--silent", "lint"]))?;
    // Elsewhere, because the server contains web/dist and would be compiled again.
    let fresh = root().join(target_folder()).join("page");
    let mut build = npm(&["run", "--silent", "build", "--", "--emptyOutDir", "--outDir"]);
    execute(build.arg(&fresh))?;
    execute(command("diff", &["--recursive", "--brief", "web/dist"]).arg(&fresh))
        .map_err(|_| "web/dist is not what its sources make; run `cargo xtask page`")?;
    execute(&mut npm(&["run", "--silent", "check"]))?;
    summary::run_tests(npm(&["test", "--silent"]).env("NO_COLOR", "1"))
}
