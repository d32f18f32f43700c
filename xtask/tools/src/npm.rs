//! The page's own tools, which npm installs in `web`.

use std::process::Command;

use crate::shell::{Outcome, command, execute, is_installed, root};

/// An npm command in `web`.
pub fn npm(arguments: &[&str]) -> Command {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    npm
}

/// Installs the packages of `package-lock.json`. Fails if Node.js is missing.
pub fn install() -> Outcome {
    if !is_installed("node") || !is_installed("npm") {
        return Err("the page needs Node.js 20.19 or later with npm; install them first".into());
    }
    execute(&mut npm(&["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
}
