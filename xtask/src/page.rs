//! Builds and tests the page.

use std::process::Command;

use crate::shell::{Outcome, command, execute, execute_and_keep, is_there, output_of, root};
use crate::summary::Summary;

/// An npm command in web/.
pub(crate) fn npm(arguments: &[&str]) -> Command {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    npm
}

/// Installs the packages of package-lock.json.
pub(crate) fn install() -> Outcome {
    if !is_there("node") || !is_there("npm") {
        return Err("the page's tests need Node.js 20 or later with npm; install them first".into());
    }
    execute(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
}

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
    execute_and_keep(npm(&["test", "--silent"]).env("NO_COLOR", "1"), Summary::is_closing_line)
}
